"""Errors of the Ledger and of history; callers need to handle no others."""

from __future__ import annotations


class LedgerError(Exception):
    """The operation was not carried out, or its outcome is unknown."""


class Busy(LedgerError):
    """Too many writes are waiting. Nothing was done; retry shortly."""


class Unavailable(LedgerError):
    """The Ledger cannot be reached. A pending operation may or may not have been committed."""


class Full(Unavailable):
    """The disk is full. Nothing was done; reads may still work."""


class Rejected(LedgerError):
    """This operation cannot be written; others in the same batch were."""


class HistoryUnavailable(LedgerError):
    """The data is only in history, which does not answer; the Ledger does."""


class HistoryNotConfigured(HistoryUnavailable):
    """The data is only in a history store that the settings do not name: set WAYPOST_HISTORY_URL."""


class ForeignHistory(LedgerError):
    """The configured history store belongs to another Ledger: it is neither read nor written."""
