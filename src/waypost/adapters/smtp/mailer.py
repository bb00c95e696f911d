"""Sends an email by SMTP and interprets the server's answer or silence."""

from __future__ import annotations

import asyncio
import ssl

from aiosmtplib import SMTPException, SMTPResponse, SMTPResponseException

from waypost.adapters.smtp.connection import SmtpConnection, SmtpTransaction, is_refusal
from waypost.adapters.smtp.pool import SmtpPool, SmtpPoolLimits
from waypost.model.email import Email, Mailbox
from waypost.model.outcome import Accepted, Outcome, ProviderRejected, Unreached, Unsure
from waypost.rules.content.email import address, check_mailbox, reply_code
from waypost.rules.limits.error_catalogue import ErrorCatalogue

BAD_MAILBOX = "BAD_MAILBOX"
BAD_SENDER = "5.1.7"
BAD_RECIPIENT = "5.1.3"

_KEPT = 4_000
"""Characters of an answer that are stored with the attempt."""


class SmtpMailer:
    """`timeout` is in seconds and covers the whole call including the wait for a connection, since the claim ages."""

    def __init__(
        self,
        codes: ErrorCatalogue,
        *,
        timeout: float,
        tls: ssl.SSLContext | None = None,
        limits: SmtpPoolLimits | None = None,
    ) -> None:
        self._codes = codes
        self._timeout = timeout
        self._tls = tls
        self._limits = limits or SmtpPoolLimits()
        self._pools: dict[Mailbox, SmtpPool] = {}

    async def send(self, mailbox: Mailbox, email: Email) -> Outcome:
        unusable = _unusable(mailbox, email)
        if unusable is not None:
            return unusable
        transaction = SmtpTransaction(email)
        try:
            async with asyncio.timeout(self._timeout), self._pool(mailbox).lend() as connection:
                reply = await connection.send(transaction)
        except SMTPResponseException as error:
            return self._answered(error, transaction, mailbox)
        except TimeoutError:
            return _lost(f"no answer within {self._timeout:g} s", transaction)
        except (SMTPException, OSError, ValueError) as error:  # ValueError: an unreadable host name or challenge
            return _lost(_cleaned(_reason(error), mailbox), transaction)
        return Accepted(email.id, _cleaned(f"{reply.code} {reply.message}", mailbox))

    def _pool(self, mailbox: Mailbox) -> SmtpPool:
        """Keyed by all mailbox settings: a new password never uses a connection of the old one."""
        found = self._pools.get(mailbox)
        if found is None:
            found = SmtpPool(lambda: self._connect(mailbox), self._limits, lambda: self._remove_pool(mailbox))
            self._pools[mailbox] = found
        return found

    async def _connect(self, mailbox: Mailbox) -> SmtpConnection:
        if self._tls is None:  # reads the system's certificates, so only when needed
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return await SmtpConnection.open(mailbox, self._tls)

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

    def _remove_pool(self, mailbox: Mailbox) -> None:
        self._pools.pop(mailbox, None)

    def _answered(self, error: SMTPResponseException, transaction: SmtpTransaction, mailbox: Mailbox) -> Outcome:
        reply = SMTPResponse(error.code, _cleaned(error.message, mailbox))
        response = f"{reply.code} {reply.message}"
        if not is_refusal(reply.code):
            return _lost(f"the server's answer makes no sense: {response}", transaction)
        return ProviderRejected(
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


def _unusable(mailbox: Mailbox, email: Email) -> ProviderRejected | None:
    wrong = check_mailbox(mailbox)
    if wrong is not None:
        return _refused(BAD_MAILBOX, f"the mailbox's {wrong.field} {wrong.reason}")
    if address(email.sender) is None:
        return _refused(BAD_SENDER, "the sender is not an email address")
    if address(email.recipient) is None:
        return _refused(BAD_RECIPIENT, "the recipient is not an email address")
    return None


def _refused(code: str, message: str) -> ProviderRejected:
    """Refused by Waypost, without asking a server."""
    return ProviderRejected(code=code, message=message, details=None, trace=None, retry_after=None, response=message)


def _lost(reason: str, transaction: SmtpTransaction) -> Unreached | Unsure:
    return Unsure(reason) if transaction.in_doubt else Unreached(reason)


def _reason(error: Exception) -> str:
    """The library wraps the system's error; the innermost is the most specific."""
    cause = error
    while cause.__cause__ is not None and isinstance(cause.__cause__, Exception):
        cause = cause.__cause__
    return str(cause) or type(cause).__name__


def _cleaned(text: str, mailbox: Mailbox) -> str:
    """Text that may be stored and shown: no password, limited length, storable characters."""
    readable = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")
    if mailbox.password:
        readable = readable.replace(mailbox.password, "[password]")
    return readable[:_KEPT]
