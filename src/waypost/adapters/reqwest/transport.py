"""One pooled HTTP client for all outgoing requests (docs/decisions/0003 explains the choice)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import NetworkError, RequestError
from pyreqwest.request import ConsumedRequest, RequestBuilder, StreamRequest

from waypost.ports.platform.http_transport import ConnectFailed, ConnectionCut, HttpReply, ReplyTimedOut, ReplyTooLarge

_NO_CONNECTION = "client error (Connect)"
"""The client's message for DNS, TCP and TLS failures, which happen before a request is sent."""


class ReqwestTransport:
    def __init__(self, user_agent: str) -> None:
        self._client: Client = ClientBuilder().http1_only().follow_redirects(False).user_agent(user_agent).build()

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
        within = timedelta(seconds=timeout)
        try:
            call = self._client.request(method, url).headers(headers).body_bytes(body).timeout(within)
            answering = _whole(call.build()) if limit is None else _limited(_streamed(call), limit)
        except ValueError:
            # Without the cause: its text repeats the header, and so the token.
            raise ConnectFailed("the address or the token is not valid in an HTTP request") from None
        cancelled = _cancelled()
        try:
            reply = await answering
        except TimeoutError as error:
            raise ReplyTimedOut(f"no answer within {timeout:g} s") from error
        except RequestError as error:
            raise _translated(error) from error
        if _cancelled() > cancelled:
            raise asyncio.CancelledError  # the client loses a cancellation that coincides with the answer
        return reply

    async def close(self) -> None:
        await self._client.close()


async def _whole(call: ConsumedRequest) -> HttpReply:
    reply = await call.send()
    return HttpReply(reply.status, dict(reply.headers), (await reply.bytes()).to_bytes())


def _streamed(call: RequestBuilder) -> StreamRequest:
    return call.streamed_read_buffer_limit(0).build_streamed()  # read the head before any of the body


async def _limited(call: StreamRequest, limit: int) -> HttpReply:
    """Read in chunks; leaving early also closes the connection."""
    async with call as reply:
        length = reply.get_header("content-length")
        if length is not None and length.isdecimal() and int(length[:20]) > limit:
            raise ReplyTooLarge(f"the answer has {length} bytes, at most {limit} are taken")
        pieces, size = [], 0
        while (piece := await reply.body_reader.read_chunk()) is not None:
            pieces.append(piece.to_bytes())
            size += len(pieces[-1])
            if size > limit:
                raise ReplyTooLarge(f"the answer has more than {limit} bytes")
        return HttpReply(reply.status, dict(reply.headers), b"".join(pieces))


def _cancelled() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _translated(error: RequestError) -> ConnectFailed | ConnectionCut:
    """Unknown errors become ConnectionCut, which is safe: the outcome is unsure, and nothing is sent twice."""
    causes = error.details["causes"] or []
    if isinstance(error, NetworkError) and any(cause["message"] == _NO_CONNECTION for cause in causes):
        return ConnectFailed("no connection could be made")
    return ConnectionCut("the connection broke before a whole answer came")
