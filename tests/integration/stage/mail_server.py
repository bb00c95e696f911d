"""A real mail server in the test's own loop, with scripted replies at each point."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from importlib.resources import files
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from waypost.model.email import Mailbox, Security
from waypost.rules.limits.error_catalogue import parse

CODES = parse("smtp", files("waypost.rules.limits").joinpath("data", "smtp_error_codes.csv").read_text())
HANG_UP = "hang up"
SAY_NOTHING = "say nothing"
USER, PASSWORD = "shop", "s3cret/pa$$"


class MailServer:
    def __init__(self) -> None:
        self.port = 0
        self.answers: dict[str, str] = {}
        """By point: CONNECT, MAIL, RCPT, DATA (the command), END (of the email): a reply, HANG_UP or SAY_NOTHING."""
        self.taken: list[Envelope] = []
        """Whole emails that arrived and were not refused."""
        self.secured: list[bool] = []
        self.logged_in: list[bool] = []
        self.said: list[str] = []
        """The commands of all connections."""
        self.sessions: list[_Session] = []
        self.reached = asyncio.Event()
        """A client waits for an answer that will not come, or that waits for `go_on`."""
        self.go_on = asyncio.Event()
        self.go_on.set()
        self._listener: asyncio.Server | None = None

    @property
    def mails(self) -> list[EmailMessage]:
        return [message_from_bytes(taken.original_content or b"", policy=policy.default) for taken in self.taken]

    async def listen(self, tls: ssl.SSLContext | None, **options: Any) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: _Session(self, options), "127.0.0.1", self.port, ssl=tls)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def leave(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for session in self.sessions:
            await session.end()

    # Called by the library

    async def handle_MAIL(  # noqa: N802 - the library's name and order
        self, server: _Session, _session: Any, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        refusal = await server.answer("MAIL")
        if refusal is None:
            envelope.mail_from = address
        return refusal or "250 2.1.0 fine"

    async def handle_RCPT(  # noqa: N802 - the library's name and order
        self, server: _Session, _session: Any, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        refusal = await server.answer("RCPT")
        if refusal is None:
            envelope.rcpt_tos.append(address)
        return refusal or "250 2.1.5 fine"

    async def handle_DATA(self, server: _Session, session: Any, envelope: Envelope) -> str:  # noqa: N802 - the library's
        if self.answers.get("END", HANG_UP) in (HANG_UP, SAY_NOTHING):
            self.taken.append(envelope)
            self.secured.append(server.is_private())
            self.logged_in.append(bool(session.authenticated))
        return await server.answer("END") or f"250 2.0.0 kept as {len(self.taken)}"


class _Session(SMTP):
    def __init__(self, server: MailServer, options: dict[str, Any]) -> None:
        super().__init__(server, hostname="mail.test", loop=asyncio.get_running_loop(), **options)
        self._server = server
        self._greeted = False
        self.gone = asyncio.Event()
        server.sessions.append(self)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self.gone.set()

    def hang_up(self) -> None:
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

    async def end(self) -> None:
        """Also for a connection whose handshake failed, whose end the library does not report."""
        self.hang_up()
        if isinstance(self._original_transport, asyncio.WriteTransport):
            self._original_transport.abort()
        if self._timeout_handle is not None:
            self._timeout_handle.cancel()
        if self._handler_coroutine is not None:
            self._handler_coroutine.cancel()
            await asyncio.gather(self._handler_coroutine, return_exceptions=True)

    def is_private(self) -> bool:
        return self.transport is not None and self.transport.get_extra_info("sslcontext") is not None

    async def answer(self, point: str) -> str | None:
        told = self._server.answers.get(point)
        if told == HANG_UP:
            self.hang_up()
        if told in (HANG_UP, SAY_NOTHING):
            self._server.reached.set()
            await asyncio.Event().wait()  # until the connection is gone, which ends this
        return told

    async def push(self, status: Any) -> None:
        greeting, self._greeted = not self._greeted, True
        told = await self.answer("CONNECT") if greeting else None
        await super().push(told or status)

    async def _call_handler_hook(self, command: str, *args: Any) -> Any:
        self._server.said.append(command)
        return await super()._call_handler_hook(command, *args)

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802 - the library's
        self._server.reached.set()
        await self._server.go_on.wait()
        told = await self.answer("DATA")
        if told is None:
            await super().smtp_DATA(arg)
        else:
            await self.push(told)


def _right(_server: Any, _session: Any, _envelope: Any, _mechanism: str, given: LoginPassword) -> AuthResult:
    good = (given.login.decode(), given.password.decode()) == (USER, PASSWORD)
    return AuthResult(success=good, handled=False)


@asynccontextmanager
async def mail_server(
    security: Security = Security.NONE, certificate: ssl.SSLContext | None = None, **options: Any
) -> AsyncIterator[MailServer]:
    server = MailServer()
    upgrade = {"tls_context": certificate} if security is Security.STARTTLS else {}
    login = {"authenticator": _right, "auth_require_tls": security is Security.STARTTLS}
    await server.listen(certificate if security is Security.TLS else None, **upgrade, **login, **options)
    try:
        yield server
    finally:
        await server.leave()


def mailbox_at(server: MailServer, security: Security = Security.NONE, **change: Any) -> Mailbox:
    fields: dict[str, Any] = {
        "address": "shop@example.com",
        "domain": "mail.example.com",
        "host": "127.0.0.1",
        "port": server.port,
    }
    return Mailbox(**fields | {"security": security} | change)


def make_certificate(folder: Path, address: str = "127.0.0.1") -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A self-signed certificate for this address: the server's context, and one that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail.test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{address}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file)
    return serving, ssl.create_default_context(cafile=str(file))
