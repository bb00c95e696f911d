"""The sandbox under a real server: what a client sees on the wire."""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest
import uvicorn
from aiohttp import web

from tests.integration.sandbox.conftest import NUMBER, PHONE, LoadedDice
from waypost.model.time import Instant, Span, as_seconds
from waypost.ports.platform.http_transport import ConnectFailed, ConnectionCut, HttpReply
from waypost.sandbox import Fault, Sandbox, SandboxNumber, SandboxTiming
from waypost.sandbox.webhooks.sender import signature

pytestmark = pytest.mark.anyio

AUTH = {"authorization": f"Bearer {NUMBER.token}"}
TEXT = {"messaging_product": "whatsapp", "to": f"+{PHONE}", "type": "text", "text": {"body": "hi"}}


class RealClock:
    def now(self) -> Instant:
        return Instant(time.time_ns() // 1000)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, span: Span) -> None:
        await asyncio.sleep(as_seconds(span))


class RealIds:
    def token(self, size: int = 24) -> str:
        return secrets.token_urlsafe(size)


class RealWire:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float,
        limit: int | None = None,
    ) -> HttpReply:
        within = aiohttp.ClientTimeout(total=timeout)
        try:
            async with self._session.request(method, url, headers=headers, data=body, timeout=within) as reply:
                return HttpReply(reply.status, {}, await reply.read())
        except aiohttp.ClientConnectorError as error:
            raise ConnectFailed from error
        except aiohttp.ClientError as error:
            raise ConnectionCut from error


class Hook:
    """A webhook receiver on a real port."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[int] = []
        self.posts: asyncio.Queue[tuple[Mapping[str, str], bytes]] = asyncio.Queue()

    async def receive(self, request: web.Request) -> web.Response:
        await self.posts.put((request.headers, await request.read()))
        return web.Response(status=self.answers.pop(0) if self.answers else 200)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    made = Hook()
    app = web.Application()
    app.router.add_post("/hook", made.receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield made
    await runner.cleanup()


class Served:
    def __init__(self, sandbox: Sandbox, url: str) -> None:
        self.sandbox = sandbox
        self.url = url
        self.messages = f"{url}/v25.0/{NUMBER.phone_number_id}/messages"


@pytest.fixture(params=["httptools", "h11"])
async def served(request: pytest.FixtureRequest, session: aiohttp.ClientSession, hook: Hook) -> AsyncIterator[Served]:
    number = SandboxNumber(NUMBER.phone_number_id, NUMBER.waba_id, NUMBER.token, NUMBER.app_secret, "v", hook.url)
    quick = SandboxTiming(retry_first=Span(1000), retry_most=Span(1000))
    sandbox = Sandbox(RealClock(), LoadedDice(), RealIds(), RealWire(session), [number], timing=quick)
    listening = socket.create_server(("127.0.0.1", 0))
    started = asyncio.Event()
    server = uvicorn.Server(uvicorn.Config(sandbox, http=request.param, log_config=None, lifespan="on"))
    startup = server.startup

    async def announced(sockets: Any = None) -> None:
        await startup(sockets)
        started.set()

    server.startup = announced  # type: ignore[method-assign] # uvicorn has no signal for "listening"
    running = asyncio.create_task(server.serve(sockets=[listening]))
    await started.wait()
    yield Served(sandbox, f"http://127.0.0.1:{listening.getsockname()[1]}")
    server.should_exit = True
    await running


async def test_a_message_goes_out_and_its_signed_statuses_come_back(
    served: Served, session: aiohttp.ClientSession, hook: Hook
) -> None:
    hook.answers = [503]
    async with session.post(served.messages, json=TEXT, headers=AUTH) as reply:
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/json; charset=UTF-8"
        wamid = (await reply.json())["messages"][0]["id"]
    posts = [await hook.posts.get() for _ in range(3)]
    for headers, body in posts:
        assert headers["x-hub-signature-256"] == signature(NUMBER.app_secret, body)
        assert wamid.replace("/", "\\/").encode() in body
    assert [b'"delivered"' in body for _, body in posts] == [False, False, True]


async def test_a_dropped_response_is_a_broken_connection(
    served: Served, session: aiohttp.ClientSession, hook: Hook
) -> None:
    served.sandbox.faults.add(Fault(drop_response=True, times=1))
    with pytest.raises(aiohttp.ClientError):
        async with session.post(served.messages, json=TEXT, headers=AUTH) as reply:
            await reply.read()
    await hook.posts.get()
    assert [call.http_status for call in served.sandbox.calls.listed()] == [200]
    async with session.post(served.messages, json=TEXT, headers=AUTH) as reply:
        assert reply.status == 200


async def test_media_goes_up_with_a_clients_own_form_and_comes_down_by_its_link(
    served: Served, session: aiohttp.ClientSession
) -> None:
    form = aiohttp.FormData({"messaging_product": "whatsapp", "type": "image/png"})
    form.add_field("file", b"\x89PNG\r\n\x00" * 50_000, filename="ä.png", content_type="image/png")
    async with session.post(f"{served.url}/v25.0/{NUMBER.phone_number_id}/media", data=form, headers=AUTH) as reply:
        assert reply.status == 200, await reply.text()
        media_id = (await reply.json())["id"]
    async with session.get(f"{served.url}/v25.0/{media_id}", headers=AUTH) as reply:
        url = (await reply.json())["url"]
    async with session.get(url, headers=AUTH) as reply:
        assert await reply.read() == b"\x89PNG\r\n\x00" * 50_000
