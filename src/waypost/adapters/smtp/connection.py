"""One SMTP connection, which always knows whether the server may have accepted an email."""

from __future__ import annotations

import contextlib
import re
import ssl

from aiosmtplib import SMTP, SMTPException, SMTPHeloError, SMTPResponse, SMTPResponseException, SMTPServerDisconnected

from waypost.model.email import Email, Mailbox, Security

PROBE = 5.0
"""Seconds for an idle connection to answer."""

_GO_AHEAD = 354
_END_OF_LINE = re.compile(rb"\r\n|\r|\n")
_LEADING_DOT = re.compile(rb"^\.", re.MULTILINE)


class SmtpTransaction:
    """The transfer of one email."""

    def __init__(self, email: Email) -> None:
        self.email = email
        self.in_doubt = False
        """The end of the email may have been sent, and no reply has come: the server may have accepted it."""


class SmtpConnection:
    def __init__(self, client: SMTP) -> None:
        self._client = client
        self._between_emails = True
        self.emails = 0

    @classmethod
    async def open(cls, mailbox: Mailbox, tls: ssl.SSLContext) -> SmtpConnection:
        client = SMTP(
            hostname=mailbox.host,
            port=mailbox.port,
            username=mailbox.username,
            password=None if mailbox.username is None else mailbox.password or "",
            local_hostname=mailbox.domain,
            timeout=None,  # the mailer's limit covers the whole call
            use_tls=mailbox.security is Security.TLS,
            start_tls=mailbox.security is Security.STARTTLS,  # never "if offered": an attacker could strip the offer
            tls_context=tls,
        )
        await client.connect()
        return cls(client)

    @property
    def reusable(self) -> bool:
        return self._between_emails and self._client.is_connected

    async def send(self, transaction: SmtpTransaction) -> SMTPResponse:
        """Send the email and return the reply; raises SMTPResponseException for a refusal at any point."""
        self.emails += 1
        self._between_emails = False
        try:
            reply = await self._transaction(transaction)
        except SMTPResponseException as refused:
            self._between_emails = is_refusal(refused.code)
            raise
        self._between_emails = True
        return reply

    async def _transaction(self, transaction: SmtpTransaction) -> SMTPResponse:
        email = transaction.email
        content = as_data(email.content)
        await self._introduce()
        size = [f"SIZE={len(content)}"] if self._client.supports_extension("size") else []
        await self._client.mail(email.sender, options=size)
        await self._client.rcpt(email.recipient)
        ready = await self._client.execute_command(b"DATA")
        if ready.code != _GO_AHEAD:
            raise SMTPResponseException(ready.code, ready.message)
        reply = await self._give(content, transaction)
        if not is_success(reply.code):
            raise SMTPResponseException(reply.code, reply.message)
        return reply

    async def _introduce(self) -> None:
        """The client would send EHLO itself, but too late to know the server's extensions."""
        if not self._client.is_ehlo_or_helo_needed:
            return
        try:
            await self._client.ehlo()
        except SMTPHeloError:
            if not self._client.is_connected:
                raise
            await self._client.helo()

    async def _give(self, content: bytes, transaction: SmtpTransaction) -> SMTPResponse:
        """Not the client's own `data`, which cannot distinguish a loss before the email was sent from one after."""
        protocol = self._client.protocol
        if protocol is None:
            raise SMTPServerDisconnected("Connection lost")
        protocol.write(content)
        transaction.in_doubt = True
        reply = await protocol.read_response()
        transaction.in_doubt = not (is_success(reply.code) or is_refusal(reply.code))
        return reply

    async def answers(self) -> bool:
        """Whether an idle connection still works; also resets the state after a refusal."""
        good = False
        try:
            with contextlib.suppress(SMTPException):
                await self._client.rset(timeout=PROBE)
                good = True
        finally:
            if not good:
                self.drop()
        return good

    def quit(self) -> None:
        """Send QUIT without waiting for the reply."""
        with contextlib.suppress(SMTPException):
            if self._client.protocol is not None:
                self._client.protocol.write(b"QUIT\r\n")
        self._client.close()

    def drop(self) -> None:
        """Close at once: buffered data must not arrive after the email was given up."""
        transport = self._client.transport
        abort = getattr(transport, "abort", None)  # the library types it as a transport that cannot write
        if abort is not None:
            abort()
        self._client.close()


def as_data(content: bytes) -> bytes:
    """With CRLF line ends, doubled leading dots and the final dot, so that no email can contain a second one."""
    lines = _LEADING_DOT.sub(b"..", _END_OF_LINE.sub(b"\r\n", content))
    return lines + (b".\r\n" if lines.endswith(b"\r\n") else b"\r\n.\r\n")


def is_success(code: int) -> bool:
    return 200 <= code < 300


def is_refusal(code: int) -> bool:
    return 400 <= code < 600
