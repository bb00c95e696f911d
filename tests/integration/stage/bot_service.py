"""A user's own bot: a real HTTP service that checks signatures and does what a test scripts."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

SECRET = "s3cret/of-the-shop"


class BotService:
    def __init__(self) -> None:
        self.url = ""
        self.asked = asyncio.Event()
        self.requests: list[web.BaseRequest] = []
        self.turns: list[dict[str, Any]] = []
        self.answer: tuple[int, bytes, dict[str, str]] | None = None
        """Status, body and headers; None: the lines of the burst."""
        self.hangs = False

    def say(self, status: int, told: object, **headers: str) -> None:
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        self.answer = (status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        wanted = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(request.headers.get("X-Waypost-Signature-256", ""), wanted):
            return web.Response(status=401, text="wrong signature")
        self.requests.append(request)
        turn = json.loads(body)
        self.turns.append(turn)
        self.asked.set()
        if self.hangs:
            await asyncio.Event().wait()
        if self.answer is None:
            lines = [line["text"] or f"[{line['type']}]" for line in turn["messages"]]
            return web.json_response({"replies": ["\n".join(lines)]})
        status, told, headers = self.answer
        return web.Response(status=status, body=told, headers=headers)


@asynccontextmanager
async def bot_service() -> AsyncIterator[BotService]:
    service = BotService()
    runner = web.ServerRunner(web.Server(service.handle), handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    service.url = f"http://{host}:{port}/answer"
    try:
        yield service
    finally:
        await runner.cleanup()
