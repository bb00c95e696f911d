"""A cluster of three nodes, and a server watched by a sentinel: real processes, for tests."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from waypost_testing.services.processes import (
    Redis,
    ServiceFailed,
    ServiceMissing,
    ServiceProcess,
    find_program,
    free_port,
)


class Sentinel(Redis):
    """Watches one server under the name `main`."""

    def __init__(self, watched: Redis) -> None:
        super().__init__()
        self._watched = watched

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.port}/main/0"

    def _spawn(self) -> ServiceProcess:
        rules = self.folder / "sentinel.conf"
        if not rules.exists():
            rules.write_text(
                f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n"
                f"sentinel monitor main 127.0.0.1 {self._watched.port} 1\n"
                "sentinel down-after-milliseconds main 500\n"
                "sentinel failover-timeout main 2000\n"
            )
        return ServiceProcess([str(self._program), str(rules), "--sentinel"], self.folder)


@contextmanager
def watched() -> Iterator[tuple[Sentinel, Redis, Redis]]:
    """A sentinel, the server that is the master, and its replica."""
    with (
        Redis() as master,
        Redis("--replicaof", "127.0.0.1", str(master.port)) as replica,
        Sentinel(master) as sentinel,
    ):
        yield sentinel, master, replica


@contextmanager
def cluster() -> Iterator[tuple[str, list[Redis]]]:
    """Its address, and its three nodes."""
    tool = find_program("redis-cli")
    if tool is None:
        raise ServiceMissing("Redis: redis-cli is not on PATH")
    with ExitStack() as stack:
        nodes = [stack.enter_context(_node()) for _ in range(3)]
        places = [f"127.0.0.1:{node.port}" for node in nodes]
        command = [str(tool), "--cluster", "create", *places, "--cluster-yes"]
        made = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if made.returncode:
            raise ServiceFailed(f"the cluster was not made:\n{made.stdout}{made.stderr}")
        for node in nodes:
            _wait_until_it_serves(tool, node)
        yield f"redis+cluster://{places[0]},{places[1]}", nodes


def _wait_until_it_serves(tool: Path, node: Redis) -> None:
    """Creating a cluster waits until its nodes have met, not until each knows that all slots are served."""
    deadline = time.monotonic() + 30
    while True:
        told = subprocess.run([tool, "-p", str(node.port), "cluster", "info"], capture_output=True, check=False)
        if b"cluster_state:ok" in told.stdout:
            return
        if time.monotonic() > deadline:
            raise ServiceFailed(f"the cluster does not serve:\n{told.stdout.decode()}")
        time.sleep(0.05)


def _node() -> Redis:
    bus = str(free_port())
    return Redis("--cluster-enabled", "yes", "--cluster-node-timeout", "10000", "--cluster-port", bus)


def write_certificate(own: Path, key: Path) -> None:
    """For 127.0.0.1, signed by itself."""
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, secret.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(secret, hashes.SHA256())
    )
    own.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    key.write_bytes(secret.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
