"""A stand-in between the page and its server that adds messages at an exact rate: the page alone is what is measured.

Everything is the real server's, passed on. What the stand-in adds are items of the team's feed on the WebSocket, in the
server's own words, and the same messages in the answers to whoever reads a conversation or its history.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import time
from datetime import UTC, datetime
from typing import Any

import uvloop
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, web

_API = "/api/v1"
_ANSWERED_HERE = ("ack", "read")
"""What a device says of items that the server does not know."""
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "date", "server"}


class Added:
    """The messages that only the stand-in knows, by conversation, after the last one that the server knows."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = {row["conversation_id"]: row for row in rows}
        self.said: dict[str, list[dict[str, Any]]] = {each: [] for each in self.rows}
        self.read = {each: row["last_message"]["position"] for each, row in self.rows.items()}

    def say(self, number: int) -> dict[str, Any]:
        where = list(self.rows)[number % len(self.rows)]
        last = self.said[where][-1] if self.said[where] else self.rows[where]["last_message"]
        said = {
            **last,
            "position": last["position"] + 1,
            "message_id": f"{where}-{last['position'] + 1}",
            "timestamp": _now(),
            "content": {"type": "text", "text": f"Line {last['position'] + 1} of {where}, added"},
        }
        self.said[where].append(said)
        return said

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        """As the list and the conversation's own page show it."""
        said = self.said.get(row["conversation_id"])
        if not said:
            return row
        unread = sum(message["position"] > self.read[row["conversation_id"]] for message in said)
        return {**row, "last_message": said[-1], "unread": unread, "active_at": said[-1]["timestamp"]}


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


class StandIn:
    def __init__(self, server: str) -> None:
        self._server = server
        self._session = ClientSession(auto_decompress=False)
        self._page: web.WebSocketResponse | None = None
        self._heads: dict[str, int] = {}
        self._added = Added([])

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get(f"{_API}/ws", self._follow)
        app.router.add_get(f"{_API}/conversations", self._listed)
        app.router.add_get(_API + "/conversations/{id}", self._one)
        app.router.add_get(_API + "/conversations/{id}/messages", self._history)
        app.router.add_post("/flood", self._flood)
        app.router.add_route("*", "/{path:.*}", self._passed_on)
        return app

    async def _ask(self, request: web.Request) -> tuple[int, dict[str, str], bytes]:
        plain = {"accept-encoding": request.headers.get("accept-encoding", "") if "/assets/" in request.path else ""}
        headers = {**request.headers, **plain}
        body = await request.read()
        asked = self._session.request(request.method, self._server + request.path_qs, headers=headers, data=body)
        async with asked as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP}
            return answer.status, kept, await answer.read()

    async def _passed_on(self, request: web.Request) -> web.Response:
        status, headers, body = await self._ask(request)
        return web.Response(status=status, headers=headers, body=body)

    async def _read(self, request: web.Request) -> Any:
        status, _, body = await self._ask(request)
        if status != 200:
            raise web.HTTPNotFound
        return json.loads(body)

    async def _listed(self, request: web.Request) -> web.Response:
        if not self._added.rows:
            return await self._passed_on(request)
        page = await self._read(request)
        return web.json_response({**page, "conversations": [self._added.row(row) for row in page["conversations"]]})

    async def _one(self, request: web.Request) -> web.Response:
        return web.json_response(self._added.row(await self._read(request)))

    async def _history(self, request: web.Request) -> web.Response:
        """What was added comes with the newest page, which is longer for it."""
        page = await self._read(request)
        said = [] if "cursor" in request.query else self._added.said.get(request.match_info["id"], [])
        return web.json_response({**page, "messages": [*reversed(said), *page["messages"]]})

    async def _follow(self, request: web.Request) -> web.WebSocketResponse:
        page = web.WebSocketResponse()
        await page.prepare(request)
        headers = {name: request.headers[name] for name in ("cookie", "origin", "host") if name in request.headers}
        async with self._session.ws_connect(f"{self._server}{_API}/ws", headers=headers) as server:
            self._page = page
            hearing = asyncio.ensure_future(self._hear(server, page))
            async for message in page:
                if message.type is WSMsgType.TEXT:
                    await self._heed(message.data, server)
            hearing.cancel()
        return page

    async def _hear(self, server: ClientWebSocketResponse, page: web.WebSocketResponse) -> None:
        async for message in server:
            frame = json.loads(message.data)
            if frame["type"] in ("welcome", "live"):
                self._heads = dict(frame["heads"])
            await page.send_str(message.data)

    async def _heed(self, said: str, server: ClientWebSocketResponse) -> None:
        frame = json.loads(said)
        if frame["type"] not in _ANSWERED_HERE:
            await server.send_str(said)
        elif frame["type"] == "read" and frame["message_id"].startswith(f"{frame['conversation_id']}-"):
            where, position = frame["conversation_id"], int(frame["message_id"].rpartition("-")[2])
            self._added.read[where] = position
            await self._tell("user:", {"kind": "read", "conversation_id": where, "position": position})

    async def _tell(self, kind: str, about: dict[str, Any]) -> None:
        assert self._page is not None
        feed = next(name for name in self._heads if name.startswith(kind))
        self._heads[feed] += 1
        place = {"feed": feed, "seq": self._heads[feed], "prev": self._heads[feed] - 1}
        await self._page.send_str(json.dumps({"type": "item", **place, "at": _now(), **about}))

    async def _flood(self, request: web.Request) -> web.Response:
        """`count` messages of the conversations that are `rows`, `rate` a second; answered when all were sent."""
        asked = await request.json()
        self._added = Added(asked["rows"])
        count, rate = asked["count"], asked["rate"]
        started, late = time.perf_counter(), 0.0
        for number in range(count):
            due = started + number / rate
            ahead = due - time.perf_counter()
            if ahead > 0:
                await asyncio.sleep(ahead)
            late = max(late, -ahead)
            said = self._added.say(number)
            await self._tell("team:", {"kind": "message", "conversation_id": said["conversation_id"], "message": said})
        return web.json_response({"seconds": time.perf_counter() - started, "late": late})


async def serve(server: str) -> None:
    """On a free port that it prints, until terminated."""
    listening = socket.create_server(("127.0.0.1", 0))
    runner = web.AppRunner(StandIn(server).app(), access_log=None)
    await runner.setup()
    await web.SockSite(runner, listening).start()
    print(listening.getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", required=True, help="serve, on a free port that is printed")
    parser.add_argument("server", help="the real one, http://127.0.0.1:PORT")
    uvloop.run(serve(parser.parse_args().server))
