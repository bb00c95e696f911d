"""Waypost's WebSocket door with the least behind it: what came in one turn of the loop goes out in one bundle."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

import uvloop

from waypost.http.live.websocket import WebSocketServer
from waypost.ports.live.live_connection import Bundle, Frame, LiveConnection
from waypost.runtime.process import freeze_gc
from waypost.runtime.process.uvicorn_runner import listen, serve_until, stop_signal, web_server

NAME = "Waypost's door"


class Everybody:
    def __init__(self) -> None:
        self._links: set[LiveConnection] = set()
        self._gathered: list[Frame] = []

    def welcome(self, link: LiveConnection) -> Guest:
        self._links.add(link)
        return Guest(link, self)

    def leave(self, link: LiveConnection) -> None:
        self._links.discard(link)

    def post(self, text: bytes) -> None:
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self._hand_out)
        self._gathered.append(Frame(text))

    def _hand_out(self) -> None:
        bundle, self._gathered = Bundle(self._gathered), []
        for link in self._links:
            link.send(bundle)


class Guest:
    __slots__ = ("_everybody", "_link")

    def __init__(self, link: LiveConnection, everybody: Everybody) -> None:
        self._link = link
        self._everybody = everybody

    def received(self, text: bytes) -> None:
        self._everybody.post(text)

    def gone(self) -> None:
        self._everybody.leave(self._link)


async def _nothing(*_: Any) -> None:
    return


async def serve() -> None:
    """On a free port that it prints, until terminated."""
    told = stop_signal()
    sock = listen("127.0.0.1", 0)
    freeze_gc.freeze_gc()
    print(sock.getsockname()[1], flush=True)
    await serve_until(told, [(web_server(_nothing, WebSocketServer(Everybody().welcome)), sock)], _nothing)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", required=True, help="serve, on a free port that is printed")
    parser.parse_args()
    uvloop.run(serve())
