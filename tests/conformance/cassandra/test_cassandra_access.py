"""A node that requires a password and TLS: it is killed, comes back, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from waypost.adapters.cassandra import address, keyspace
from waypost.adapters.cassandra.history import CassandraHistory
from waypost.adapters.cassandra.keyspace import Keyspace
from waypost.ports.platform.failure import Unavailable
from waypost_testing.contracts.history.history import END, an_entry, lines, positions
from waypost_testing.services.cassandra import Cassandra
from waypost_testing.services.processes import ServiceMissing

NAME = "behind_a_door"
PERSON = "cassandra:cassandra@"
"""The first user of a new cluster."""


def write_certificate(folder: Path, name: str, host: str) -> Path:
    """A self-signed certificate with its key in the same file, as Cassandra expects."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    shape = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = made.public_bytes(serialization.Encoding.PEM)
    (folder / f"{name}.pem").write_bytes(public)
    whole = folder / f"{name}-with-key.pem"
    whole.write_bytes(key.private_bytes(*shape) + public)
    return whole


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for name, host in (("node", "127.0.0.1"), ("stranger", "127.0.0.1")):
        write_certificate(folder, name, host)
    return folder


@pytest.fixture(scope="module")
def guarded(certificates: Path) -> Iterator[Cassandra]:
    encryption = {
        "enabled": True,
        "optional": False,
        "keystore": f"{certificates}/node-with-key.pem",
        "ssl_context_factory": {"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"},
    }
    settings = {"authenticator": "PasswordAuthenticator", "client_encryption_options": encryption}
    try:
        with Cassandra(settings) as server:
            yield server
            folder = server.folder
        assert not folder.exists()
    except ServiceMissing as missing:
        pytest.skip(str(missing))


def url(server: Cassandra, person: str, **options: str) -> str:
    asked = {name: quote(value) for name, value in options.items()}
    return server.history_url(NAME, **asked).replace("cassandra://", f"cassandra://{person}")


@asynccontextmanager
async def entered(where: str) -> AsyncIterator[CassandraHistory]:
    log = CassandraHistory(Keyspace(address.parse(where), "of these tests"))
    try:
        yield log
    finally:
        await log.close()


async def test_only_who_knows_the_password_and_trusts_the_certificate_is_let_in(
    guarded: Cassandra, certificates: Path
) -> None:
    trusted, stranger = str(certificates / "node.pem"), str(certificates / "stranger.pem")
    known = url(guarded, PERSON, tls="identity", ca=trusted)
    await until_it_lets_in(known)
    for refused in (
        url(guarded, PERSON),
        url(guarded, PERSON, tls="cert", ca=stranger),
        url(guarded, PERSON, tls="cert"),
        url(guarded, "cassandra:wrong@", tls="cert", ca=trusted),
        url(guarded, "", tls="cert", ca=trusted),
        url(guarded, PERSON, tls="cert", ca=str(certificates / "none.pem")),
    ):
        with pytest.raises(Unavailable) as told:
            await keyspace.migrate(address.parse(refused))
        assert "wrong" not in str(told.value), "no password in what is told"
    async with entered(known) as log:
        await log.append(lines(an_entry(1)))
        assert await positions(log) == [1]


async def until_it_lets_in(where: str) -> None:
    """A new cluster creates its first user a moment after it listens."""
    async with asyncio.timeout(60):
        while True:
            try:
                await keyspace.migrate(address.parse(where))
            except Unavailable as refused:
                if "credentials" not in str(refused):
                    raise
            else:
                return


async def test_what_was_appended_outlives_a_killed_node_and_the_log_comes_back_by_itself(
    guarded: Cassandra, certificates: Path
) -> None:
    async with entered(url(guarded, PERSON, tls="cert", ca=str(certificates / "node.pem"))) as log:
        await log.append(lines(*(an_entry(n) for n in range(1, 101))))
        await asyncio.to_thread(guarded.kill)
        with pytest.raises(Unavailable):
            await log.page(END, 9)
        await asyncio.to_thread(guarded.start)
        async with asyncio.timeout(30):
            while True:
                try:
                    assert len(await positions(log)) == 100
                    break
                except Unavailable:
                    await asyncio.sleep(0)
