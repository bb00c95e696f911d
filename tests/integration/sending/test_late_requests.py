"""A request that waited for its connection while its process stood still must not leave after its timeout."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

TIMEOUT, PATIENCE = 3.0, 90.0
CONNECTIONS = Path("/proc/net/tcp")
SYN_SENT = "02"
REQUEST = """
import asyncio, sys
from waypost.adapters.reqwest.transport import ReqwestTransport
call = ReqwestTransport("test").request("POST", sys.argv[1], headers={}, body=b"late", timeout=float(sys.argv[2]))
asyncio.run(call)
"""


@pytest.mark.skipif(not CONNECTIONS.exists(), reason="the state of another process's connection is read from /proc")
def test_a_request_that_waits_for_its_connection_does_not_leave_after_its_timeout() -> None:
    """`build_world` relies on it: a send's timeout is shorter than the stale limit, after which another may send it."""
    with full_backlog() as (provider, others):
        url = f"http://127.0.0.1:{provider.getsockname()[1]}"
        with subprocess.Popen([sys.executable, "-c", REQUEST, url, str(TIMEOUT)], stderr=subprocess.DEVNULL) as client:
            try:
                wait_until_it_connects(provider, others)
                client.send_signal(signal.SIGSTOP)
                time.sleep(TIMEOUT)
                with its_connection(provider, others) as connection:
                    client.send_signal(signal.SIGCONT)
                    assert connection.recv(100) == b""
            finally:
                client.kill()


@contextmanager
def full_backlog() -> Iterator[tuple[socket.socket, set[int]]]:
    """A port at which new connections wait until others are accepted, and the ports of the others."""
    with ExitStack() as stack:
        provider = stack.enter_context(socket.socket())
        provider.settimeout(PATIENCE)
        provider.bind(("127.0.0.1", 0))
        provider.listen(0)
        others = [stack.enter_context(socket.socket()) for _ in range(4)]
        for one in others:
            one.setblocking(False)
            one.connect_ex(provider.getsockname())
        yield provider, {one.getsockname()[1] for one in others}


def wait_until_it_connects(provider: socket.socket, others: set[int]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not connecting(provider.getsockname()[1]) - others:
        assert time.monotonic() < deadline, "the client does not connect"
        time.sleep(0.01)


def connecting(port: int) -> set[int]:
    """Local ports whose connection to this one was asked for and not made."""
    rows = [line.split()[1:4] for line in CONNECTIONS.read_text().splitlines()[1:]]
    ends = [(int(local[-4:], 16), int(remote[-4:], 16), state) for local, remote, state in rows]
    return {local for local, remote, state in ends if remote == port and state == SYN_SENT}


def its_connection(provider: socket.socket, others: set[int]) -> socket.socket:
    while True:
        connection, (_, port) = provider.accept()
        if port not in others:
            connection.settimeout(PATIENCE)
            return connection
        connection.close()
