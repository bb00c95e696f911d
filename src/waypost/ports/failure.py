"""What a Ledger or a Log may fail with; every caller up to the edge knows these and no others."""

from __future__ import annotations


class LedgerError(Exception):
    """The intent was not carried out, or its outcome is not known."""


class Busy(LedgerError):
    """Too much is waiting to be written. Nothing was done; come back in a moment."""


class Unavailable(LedgerError):
    """The Ledger cannot be reached. What was under way may or may not have been committed."""


class Full(Unavailable):
    """There is no room left to write. Nothing was done; reading may well go on."""


class Rejected(LedgerError):
    """This one intent cannot be written at all; its neighbours were."""


class LogAway(LedgerError):
    """What was asked for is only in the Log, which does not answer; the Ledger does."""


class NoLog(LogAway):
    """What was asked for is only in a Log that the settings do not name: it does not come by itself."""


class ForeignLog(LedgerError):
    """The Log that the settings name is another Ledger's: nothing is read from it, and nothing written to it."""
