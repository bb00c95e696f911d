"""The least a fan-out can be under uvicorn: an ASGI application that sends every text it gets to everybody."""

from __future__ import annotations

import argparse
import socket

import uvicorn

from bench.peers.serving import Application, Scope

NAME = "bare uvicorn"


class Everybody:
    def __init__(self) -> None:
        self._sends: set[Application] = set()

    async def __call__(self, scope: Scope, receive: Application, send: Application) -> None:
        assert scope["type"] == "websocket"
        await receive()
        await send({"type": "websocket.accept"})
        self._sends.add(send)
        while (event := await receive())["type"] == "websocket.receive":
            message = {"type": "websocket.send", "text": event["text"]}
            for each in self._sends:
                await each(message)
        self._sends.discard(send)


def serve() -> None:
    """On a free port that it prints, until terminated."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(
        Everybody(),
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        ws_ping_interval=None,
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", required=True, help="serve, on a free port that is printed")
    parser.parse_args()
    serve()
