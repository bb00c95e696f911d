"""What a caller and a look-on see: the API, the sandbox's record and its phones. Nothing here reads our tables."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.acceptance.stage.harness import Site, until

OUTAGE = (aiohttp.ClientError, ConnectionError, asyncio.TimeoutError)
"""What a caller meets while the server is away."""
UNREACHED = aiohttp.ClientConnectorError
"""Nothing was sent."""
ON_THE_WAY = ("QUEUED", "SENT", "SENDING")
"""Where no message stays."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any


IDLE = 2.0
"""Seconds that a connection is kept: a server closes it after five, and may do so as the next request leaves."""


@dataclass(frozen=True)
class Http:
    session: aiohttp.ClientSession
    url: str
    headers: dict[str, str]

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        sent = self.headers | headers
        async with self.session.request(method, self.url + path, json=body, headers=sent) as reply:
            kind = reply.content_type
            return Answer(reply.status, await reply.json() if kind.endswith("json") else await reply.text())

    async def get(self, path: str) -> Any:
        answer = await self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.body

    async def answers(self, path: str = "/readyz", status: int = 200) -> bool:
        try:
            return (await self.ask("GET", path)).status == status
        except OUTAGE:
            return False

    async def ready(self) -> None:
        await until(self.answers, f"{self.url} is ready")


class Api(Http):
    async def post(self, message: dict[str, Any], query: str = "") -> Answer:
        return await self.ask("POST", f"/api/v1/outbound/messages{query}", {"channel": "WHATSAPP", **message})

    async def message(self, message_id: int) -> dict[str, Any]:
        found: dict[str, Any] = await self.get(f"/api/v1/outbound/messages/{message_id}")
        return found

    async def with_status(self, status: str) -> list[dict[str, Any]]:
        """The newest thousand that stand there."""
        found: list[dict[str, Any]] = await self.get(f"/api/v1/outbound/messages?status={status}&limit=1000")
        return found

    async def on_the_way(self, but: Container[int] = ()) -> list[dict[str, Any]]:
        """Some of what has not come to its end; that there is nothing is certain.

        Asked for by status, one after the other, a message that goes back from SENDING to QUEUED meanwhile is found
        nowhere: only when each message was looked at once, there is none.
        """
        for status in ON_THE_WAY:
            found = [message for message in await self.with_status(status) if message["id"] not in but]
            if found:
                return found
        return [m for m in await self.everything() if m["status"] in ON_THE_WAY and m["id"] not in but]

    async def everything(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            page = len(found) // 1000
            answer = await self.get(f"/api/v1/outbound/messages/paginated?direction=ASC&size=1000&page={page}")
            found += answer["content"]
            if len(found) >= answer["totalElements"]:
                return found

    async def timeline(self, message_id: int) -> list[str]:
        events = (await self.get(f"/api/v1/outbound/messages/{message_id}/timeline"))["events"]
        return [event["kind"] for event in events]

    async def settled(self, message_id: int, status: str = "DELIVERED") -> dict[str, Any]:
        async def stands_there() -> dict[str, Any] | None:
            found = await self.message(message_id)
            return found if found["status"] == status else None

        message: dict[str, Any] = await until(stands_there, f"message {message_id} is {status}")
        return message

    async def figure(self, name: str) -> float:
        """A metric, summed over its labels."""
        text = await self.get("/metrics")
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))


class Sandbox(Http):
    async def fault(self, **fault: Any) -> None:
        answer = await self.ask("POST", "/_sandbox/faults", fault)
        assert answer.status == 201, answer

    async def clear_faults(self) -> None:
        await self.ask("DELETE", "/_sandbox/faults")

    async def calls(self) -> list[dict[str, Any]]:
        listed = await self.get("/_sandbox/calls")
        assert listed["forgotten"] == 0, "the sandbox no longer has every call"
        calls: list[dict[str, Any]] = listed["calls"]
        return calls

    async def screen(self, phone: str) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = (await self.get(f"/_sandbox/phones/{phone}/screen"))["messages"]
        return shown

    async def arrived(self, phone: str) -> None:
        """Everything is on the phone: its own screen learns so a moment after the server was told."""

        async def looked() -> bool:
            return all(line["status"] in ("delivered", "read", "failed") for line in await self.screen(phone))

        await until(looked, f"everything has arrived on {phone}")

    async def read(self, phone: str) -> None:
        """What is on its screen."""
        await self.arrived(phone)
        await self.ask("POST", f"/_sandbox/phones/{phone}/read")


@asynccontextmanager
async def clients(site: Site, *, reuse: bool = True, api_key: str = "") -> AsyncIterator[tuple[Api, Sandbox]]:
    """Without reuse every request comes by a connection of its own, to whichever process takes it."""
    idle = {"keepalive_timeout": IDLE} if reuse else {"force_close": True}
    connector = aiohttp.TCPConnector(limit=0, **idle)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(60)) as session:
        sandbox = Sandbox(session, site.sandbox_url, {})
        await until(lambda: sandbox.answers("/_sandbox/health"), "the sandbox is up")
        yield Api(session, site.url, {"authorization": f"Bearer {api_key or site.api_key}"}), sandbox
