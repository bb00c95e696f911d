"""One conversation with a mail server, which knows at every moment whether the server may have taken a letter."""

from __future__ import annotations

import contextlib
import re
import ssl

from aiosmtplib import SMTP, SMTPException, SMTPHeloError, SMTPResponse, SMTPResponseException, SMTPServerDisconnected

from waypost.model.email import Letter, Mailbox, Security

PROBE = 5.0
"""Seconds that a connection which was left idle has to show that it is still there."""

_GO_AHEAD = 354
_END_OF_LINE = re.compile(rb"\r\n|\r|\n")
_LEADING_DOT = re.compile(rb"^\.", re.MULTILINE)


class Handover:
    """One letter's way across."""

    def __init__(self, letter: Letter) -> None:
        self.letter = letter
        self.in_doubt = False
        """The letter's end may have left, and no reply has come: the server may have taken it."""


class Connection:
    def __init__(self, client: SMTP) -> None:
        self._client = client
        self._between_letters = True
        self.letters = 0

    @classmethod
    async def open(cls, mailbox: Mailbox, tls: ssl.SSLContext) -> Connection:
        client = SMTP(
            hostname=mailbox.host,
            port=mailbox.port,
            username=mailbox.username,
            password=None if mailbox.username is None else mailbox.password or "",
            local_hostname=mailbox.domain,
            timeout=None,  # the mailer's limit covers the whole call
            use_tls=mailbox.security is Security.TLS,
            start_tls=mailbox.security is Security.STARTTLS,  # never "if offered": that is left to whoever listens in
            tls_context=tls,
        )
        await client.connect()
        return cls(client)

    @property
    def reusable(self) -> bool:
        return self._between_letters and self._client.is_connected

    async def hand_over(self, handover: Handover) -> SMTPResponse:
        """The reply to the whole letter; raises SMTPResponseException for a refusal at any point."""
        self.letters += 1
        self._between_letters = False
        try:
            reply = await self._transaction(handover)
        except SMTPResponseException as refused:
            self._between_letters = is_refusal(refused.code)
            raise
        self._between_letters = True
        return reply

    async def _transaction(self, handover: Handover) -> SMTPResponse:
        letter = handover.letter
        content = as_data(letter.content)
        await self._introduce()
        size = [f"SIZE={len(content)}"] if self._client.supports_extension("size") else []
        await self._client.mail(letter.sender, options=size)
        await self._client.rcpt(letter.recipient)
        ready = await self._client.execute_command(b"DATA")
        if ready.code != _GO_AHEAD:
            raise SMTPResponseException(ready.code, ready.message)
        reply = await self._give(content, handover)
        if not is_success(reply.code):
            raise SMTPResponseException(reply.code, reply.message)
        return reply

    async def _introduce(self) -> None:
        """The client would do it by itself, but too late to know what the server can."""
        if not self._client.is_ehlo_or_helo_needed:
            return
        try:
            await self._client.ehlo()
        except SMTPHeloError:
            if not self._client.is_connected:
                raise
            await self._client.helo()

    async def _give(self, content: bytes, handover: Handover) -> SMTPResponse:
        """Not by the client's own `data`, which does not tell a loss before the letter left from one after."""
        protocol = self._client.protocol
        if protocol is None:
            raise SMTPServerDisconnected("Connection lost")
        protocol.write(content)
        handover.in_doubt = True
        reply = await protocol.read_response()
        handover.in_doubt = not (is_success(reply.code) or is_refusal(reply.code))
        return reply

    async def answers(self) -> bool:
        """Whether a connection that was left idle is still good; clears what an earlier refusal left behind."""
        good = False
        try:
            with contextlib.suppress(SMTPException):
                await self._client.rset(timeout=PROBE)
                good = True
        finally:
            if not good:
                self.drop()
        return good

    def say_goodbye(self) -> None:
        """QUIT, without waiting for what the server says to it."""
        with contextlib.suppress(SMTPException):
            if self._client.protocol is not None:
                self._client.protocol.write(b"QUIT\r\n")
        self._client.close()

    def drop(self) -> None:
        """At once: what is still to be written must not arrive after the letter was given up."""
        transport = self._client.transport
        abort = getattr(transport, "abort", None)  # the library types it as a transport that cannot write
        if abort is not None:
            abort()
        self._client.close()


def as_data(content: bytes) -> bytes:
    """With every line ended alike, leading dots doubled and the final dot, so that no letter can hold a second one."""
    lines = _LEADING_DOT.sub(b"..", _END_OF_LINE.sub(b"\r\n", content))
    return lines + (b".\r\n" if lines.endswith(b"\r\n") else b"\r\n.\r\n")


def is_success(code: int) -> bool:
    return 200 <= code < 300


def is_refusal(code: int) -> bool:
    return 400 <= code < 600
