"""A small server with OpenAI's chat API: it answers by rule, or as a test scripts it.

`python -m waypost_testing.openai_server --port 9000` runs it by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import sys
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import msgspec

LARGEST_REQUEST = 64 * 1024 * 1024
_WORDS = re.compile(r"\s*\S+\s*")
_CREATED = 1_760_000_000
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class ScriptedReply(msgspec.Struct, frozen=True, kw_only=True):
    """What the server does with one request."""

    text: str | None = None
    """None: "You wrote: …", with the lines of the user's last message."""
    refusal: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Functions to be called: names, and arguments as JSON."""
    finish: str = ""
    """The finish_reason; empty: the one that fits."""
    delay: float = 0.0
    """Seconds before the answer begins."""
    hang: bool = False
    """Take the request and never answer."""
    cut: bool = False
    """Hang up in the middle of the answer."""
    status: int = 200
    message: str = "told to fail"
    code: str | None = None
    retry_after: str = ""


class OpenAiRequest(msgspec.Struct, frozen=True):
    path: str
    key: str
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body.get("messages", [])
        return found


class OpenAiServer:
    """`async with OpenAiServer() as server:`, then `server.url` is a base URL; `key` is the one that it wants."""

    def __init__(self, *, key: str | None = None, port: int = 0, otherwise: ScriptedReply | None = None) -> None:
        self.requests: list[OpenAiRequest] = []
        """Every request, in order."""
        self.asked = asyncio.Event()
        """Set with each request; a test that waits for the next one clears it."""
        self.otherwise = otherwise or ScriptedReply()
        """What happens when no scripted step is left."""
        self._key = key
        self._port = port
        self._steps: deque[ScriptedReply] = deque()
        self._connections: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def then(self, *steps: ScriptedReply) -> None:
        """Script the next requests, in order."""
        self._steps.extend(steps)

    async def __aenter__(self) -> OpenAiServer:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Stop listening and drop every connection."""
        if self._listener is not None:
            self._listener.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the caller hung up
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False when the connection is to be closed."""
        request = await _read(reader)
        refusal = self._refusal(request)
        if refusal is not None:
            writer.write(_whole(refusal.status, _error(refusal)))
            await writer.drain()
            return True
        self.requests.append(request)
        step = self._steps.popleft() if self._steps else self.otherwise
        self.asked.set()
        if step.hang:
            await reader.read()  # until the caller gives up
            return False
        if step.delay:
            await asyncio.sleep(step.delay)
        for piece in _answer(request, step):
            writer.write(piece)
            await writer.drain()
        return not step.cut

    def _refusal(self, request: OpenAiRequest) -> ScriptedReply | None:
        if not request.path.endswith("/chat/completions"):
            return ScriptedReply(status=404, message="there is nothing here but chat completions")
        if self._key is not None and request.key != self._key:
            return ScriptedReply(
                status=401, message=f"Incorrect API key provided: {request.key}", code="invalid_api_key"
            )
        if not request.messages:
            return ScriptedReply(status=400, message="messages are missing")
        return None


async def _read(reader: asyncio.StreamReader) -> OpenAiRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    length = min(int(headers.get("content-length", "0")), LARGEST_REQUEST)
    raw = await reader.readexactly(length)
    path = head[0].split(" ")[1]
    try:
        body = msgspec.json.decode(raw, type=dict[str, Any])
    except msgspec.MsgspecError:
        body = {}
    return OpenAiRequest(path, headers.get("authorization", "").removeprefix("Bearer "), body)


def _answer(request: OpenAiRequest, step: ScriptedReply) -> Iterator[bytes]:
    if step.status != 200:
        yield _whole(step.status, _error(step), *([f"retry-after: {step.retry_after}"] if step.retry_after else []))
    elif request.body.get("stream"):
        yield from _streamed(request, step)
    else:
        message = {"role": "assistant", "content": _text(request, step) or None, "tool_calls": _calls(step) or None}
        choice = {"index": 0, "message": message | {"refusal": step.refusal or None}, "finish_reason": _finish(step)}
        yield _whole(200, _head(request, "chat.completion") | {"choices": [choice]})


def _streamed(request: OpenAiRequest, step: ScriptedReply) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in _WORDS.findall(_text(request, step))]
    deltas += [{"refusal": word} for word in _WORDS.findall(step.refusal)]
    for index, call in enumerate(_calls(step)):
        deltas += [{"tool_calls": [piece]} for piece in _pieces(index, call)]
    if step.cut:
        deltas = deltas[: len(deltas) // 2 + 1]
    for delta in deltas:
        yield _event(request, delta, None)
    if not step.cut:
        yield _event(request, {}, _finish(step))
        yield _chunk(b"data: [DONE]\n\n")
        yield _chunk(b"")


def _pieces(index: int, call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The name first, then the arguments in two halves, as the real one does."""
    arguments = call["function"]["arguments"]
    half = len(arguments) // 2
    yield {"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
    for part in (arguments[:half], arguments[half:]):
        yield {"index": index, "function": {"arguments": part}}


def _text(request: OpenAiRequest, step: ScriptedReply) -> str:
    if step.text is not None or step.refusal or step.calls:
        return step.text or ""
    return "You wrote: " + " / ".join(_last_words(request.messages))


def _last_words(messages: list[dict[str, Any]]) -> list[str]:
    """Lines of the user's last message after its last empty line: the burst to answer."""
    content = next((each["content"] for each in reversed(messages) if each.get("role") == "user"), "")
    if isinstance(content, list):
        content = "\n".join(part.get("text", "[image]") for part in content)
    return str(content).strip().rpartition("\n\n")[2].split("\n")


def _calls(step: ScriptedReply) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(step.calls)
    ]


def _finish(step: ScriptedReply) -> str:
    return step.finish or ("tool_calls" if step.calls else "stop")


def _head(request: OpenAiRequest, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": _CREATED, "model": request.body.get("model", "")}


def _event(request: OpenAiRequest, delta: dict[str, Any], finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    event = _head(request, "chat.completion.chunk") | {"choices": [choice]}
    return _chunk(b"data: " + msgspec.json.encode(event) + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _error(step: ScriptedReply) -> dict[str, Any]:
    return {"error": {"message": step.message, "type": "error", "param": None, "code": step.code}}


def _whole(status: int, value: object, *headers: str) -> bytes:
    body = msgspec.json.encode(value)
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}", "content-type: application/json", *headers]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body


async def _run(port: int, delay: float) -> None:
    async with OpenAiServer(port=port, otherwise=ScriptedReply(delay=delay)) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    options = argparse.ArgumentParser(description="A server with OpenAI's chat API that answers by rule.")
    options.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    given = options.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(given.port, given.delay))


if __name__ == "__main__":
    main()
