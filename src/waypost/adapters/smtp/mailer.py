"""Sending by SMTP: one letter handed over, and what the server's answer or silence means."""

from __future__ import annotations

import asyncio
import ssl

from aiosmtplib import SMTPException, SMTPResponse, SMTPResponseException

from waypost.adapters.smtp.connection import Connection, Handover, is_refusal
from waypost.adapters.smtp.pool import Pool, PoolLimits
from waypost.model.email import Letter, Mailbox
from waypost.model.outcome import Accepted, Outcome, Rejected, Unreached, Unsure
from waypost.rules.catalogue import Catalogue
from waypost.rules.email import address, check_mailbox, reply_code

BAD_MAILBOX = "BAD_MAILBOX"
BAD_SENDER = "5.1.7"
BAD_RECIPIENT = "5.1.3"

_KEPT = 4_000
"""Characters of an answer that are kept with the attempt."""


class SmtpMailer:
    """`timeout` is in seconds and covers the whole call, the wait for a free connection too: a claim ages meanwhile."""

    def __init__(
        self, codes: Catalogue, *, timeout: float, tls: ssl.SSLContext | None = None, limits: PoolLimits | None = None
    ) -> None:
        self._codes = codes
        self._timeout = timeout
        self._tls = tls
        self._limits = limits or PoolLimits()
        self._pools: dict[Mailbox, Pool] = {}

    async def send(self, mailbox: Mailbox, letter: Letter) -> Outcome:
        unusable = _unusable(mailbox, letter)
        if unusable is not None:
            return unusable
        handover = Handover(letter)
        try:
            async with asyncio.timeout(self._timeout), self._pool(mailbox).lend() as connection:
                reply = await connection.hand_over(handover)
        except SMTPResponseException as error:
            return self._answered(error, handover, mailbox)
        except TimeoutError:
            return _lost(f"no answer within {self._timeout:g} s", handover)
        except (SMTPException, OSError, ValueError) as error:  # the last: a name or a challenge that cannot be read
            return _lost(_cleaned(_reason(error), mailbox), handover)
        return Accepted(letter.id, _cleaned(f"{reply.code} {reply.message}", mailbox))

    def _pool(self, mailbox: Mailbox) -> Pool:
        """By everything that makes the mailbox: a new password never meets a connection of the old one."""
        found = self._pools.get(mailbox)
        if found is None:
            found = Pool(lambda: self._connect(mailbox), self._limits, lambda: self._forget(mailbox))
            self._pools[mailbox] = found
        return found

    async def _connect(self, mailbox: Mailbox) -> Connection:
        if self._tls is None:  # reads the system's certificates: not before there is an email to send
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return await Connection.open(mailbox, self._tls)

    async def greet(self, mailbox: Mailbox) -> str | None:
        if wrong := check_mailbox(mailbox):
            return f"its {wrong.field} {wrong.reason}"
        try:
            async with asyncio.timeout(self._timeout), self._pool(mailbox).lend():
                return None
        except SMTPResponseException as error:
            return _cleaned(f"{error.code} {error.message}", mailbox)
        except TimeoutError:
            return f"no answer within {self._timeout:g} s"
        except (SMTPException, OSError, ValueError) as error:
            return _cleaned(_reason(error), mailbox)

    def _forget(self, mailbox: Mailbox) -> None:
        self._pools.pop(mailbox, None)

    def _answered(self, error: SMTPResponseException, handover: Handover, mailbox: Mailbox) -> Outcome:
        reply = SMTPResponse(error.code, _cleaned(error.message, mailbox))
        response = f"{reply.code} {reply.message}"
        if not is_refusal(reply.code):
            return _lost(f"the server's answer makes no sense: {response}", handover)
        return Rejected(
            code=reply_code(reply.code, reply.message, self._codes),
            message=reply.message or f"error {reply.code}",
            subcode=reply.code,
            details=None,
            trace=None,
            retry_after=None,
            response=response,
        )

    async def close(self) -> None:
        for pool in list(self._pools.values()):
            pool.close()


def _unusable(mailbox: Mailbox, letter: Letter) -> Rejected | None:
    wrong = check_mailbox(mailbox)
    if wrong is not None:
        return _refused(BAD_MAILBOX, f"the mailbox's {wrong.field} {wrong.reason}")
    if address(letter.sender) is None:
        return _refused(BAD_SENDER, "the sender is no email address")
    if address(letter.recipient) is None:
        return _refused(BAD_RECIPIENT, "the recipient is no email address")
    return None


def _refused(code: str, message: str) -> Rejected:
    """By us: no server was asked."""
    return Rejected(code=code, message=message, details=None, trace=None, retry_after=None, response=message)


def _lost(reason: str, handover: Handover) -> Unreached | Unsure:
    return Unsure(reason) if handover.in_doubt else Unreached(reason)


def _reason(error: Exception) -> str:
    """The library wraps what the system says; the innermost says most."""
    cause = error
    while cause.__cause__ is not None and isinstance(cause.__cause__, Exception):
        cause = cause.__cause__
    return str(cause) or type(cause).__name__


def _cleaned(text: str, mailbox: Mailbox) -> str:
    """What may be stored and shown: never the password, never endless, nothing that a database cannot hold."""
    readable = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")
    if mailbox.password:
        readable = readable.replace(mailbox.password, "[password]")
    return readable[:_KEPT]
