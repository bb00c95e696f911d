"""Answers that end a connection, over real sockets: 503 and 413; and clients that end it themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage
from tests.integration.stage.webhooks import a_text, change, envelope
from waypost.flow.operations import maintenance
from waypost.http.edge.webhook_endpoint import PATH as DOOR
from waypost.ports.platform.failure import Rejected, Unavailable
from waypost.runtime.process.uvicorn_runner import address, listen, web_server

PATIENCE = 60.0
TEN_MB = 10_000_001


@asynccontextmanager
async def served(stage: Stage) -> AsyncIterator[tuple[str, int]]:
    sock = listen("127.0.0.1", 0)
    server = web_server(stage.server.app)
    serving = asyncio.ensure_future(server.serve(sockets=[sock]))
    try:
        host, port = address(sock).removeprefix("http://").split(":")
        yield host, int(port)
    finally:
        server.should_exit = True
        await serving
        sock.close()


def head(stage: Stage, method: str, path: str, **headers: object) -> bytes:
    named = {"host": "x", "authorization": f"Bearer {stage.acme.key}", "content-type": "application/json", **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode()


async def answered(where: tuple[str, int], *chunks: bytes) -> bytes:
    """Everything until the server closes the connection; the client reads only after it has written everything."""
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(*where)
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
        answer = await reader.read()
        writer.close()
    return answer


@ON_SQLITE
@pytest.mark.parametrize("path", [f"{MESSAGES}/1", "/readyz"])
async def test_a_503_ends_the_connection_so_that_the_client_moves_to_another_process(stage: Stage, path: str) -> None:
    await stage.world.ledger.close()
    async with served(stage) as where:
        answer = await answered(where, head(stage, "GET", path))
    assert answer.startswith(b"HTTP/1.1 503")
    assert answer.count(b"connection: close\r\n") == 1


@ON_SQLITE
@pytest.mark.parametrize("path", [MESSAGES, DOOR])
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_large_is_answered_before_the_connection_ends(
    stage: Stage, path: str, chunked: bool
) -> None:
    body = b" " * TEN_MB
    framing: dict[str, Any] = {"transfer_encoding": "chunked"} if chunked else {"content_length": TEN_MB}
    sent = [b"%x\r\n" % TEN_MB, body, b"\r\n0\r\n\r\n"] if chunked else [body]
    async with served(stage) as where:
        answer = await answered(where, head(stage, "POST", path, **framing), *sent)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"connection: close\r\n" in answer
    assert b'"code":"too_large"' in answer


@ON_SQLITE
async def test_a_client_that_waits_before_it_sends_its_body_is_not_asked_for_it(stage: Stage) -> None:
    async with served(stage) as where:
        answer = await answered(where, head(stage, "POST", DOOR, content_length=TEN_MB, expect="100-continue"))
    assert answer.startswith(b"HTTP/1.1 413")


@ON_SQLITE
@pytest.mark.parametrize("path", [MESSAGES, DOOR])
async def test_a_client_that_hangs_up_is_no_bug(stage: Stage, path: str) -> None:
    async with served(stage) as where:
        for _ in range(10):
            _, writer = await asyncio.open_connection(*where)
            writer.write(head(stage, "POST", path, content_length=1000) + b'{"to":')
            await writer.drain()
            writer.transport.abort()
        assert (await answered(where, head(stage, "GET", "/healthz", connection="close"))).startswith(b"HTTP/1.1 200")
    assert stage.bugs == []
    assert (await stage.call("POST", MESSAGES, HELLO)).status == 201


@ON_SQLITE
async def test_a_webhook_that_is_refused_is_reported_with_the_next_tick(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise Unavailable("no connection")

    post = envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.in")])]))
    with monkeypatch.context() as patched:
        patched.setattr(stage.world.ledger.journal, "apply_webhook", away)
        patched.setattr(stage.world.ledger.webhook_uptime, "tick", away)
        assert (await stage.post(post)).status == 503
        with pytest.raises(Unavailable):
            await maintenance.tick_webhook_uptime(stage.world)
    assert (stage.world.refusals.count, stage.world.refusals.reported) == (1, 0)
    await maintenance.tick_webhook_uptime(stage.world)
    assert stage.world.refusals.reported == 1
    assert (await stage.post(post)).status == 200


@ON_SQLITE
@pytest.mark.parametrize(("error", "status"), [(Rejected("a value"), 422), (ValueError("a bug"), 500)])
async def test_a_webhook_that_fails_each_time_does_not_hold_up_stale_messages(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    """The provider repeats it for days, and the limit of every org would start anew each time."""

    async def fail(*_: object) -> None:
        raise error

    post = envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.in")])]))
    monkeypatch.setattr(stage.world.ledger.journal, "apply_webhook", fail)
    assert (await stage.post(post)).status == status
    assert stage.world.refusals.count == 0
