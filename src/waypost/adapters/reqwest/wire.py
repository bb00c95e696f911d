"""One pooled HTTP client for everything that goes out (docs/decisions/0003 says why this one)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import NetworkError, RequestError
from pyreqwest.request import ConsumedRequest, RequestBuilder, StreamRequest

from waypost.ports.wire import Cut, Refused, Reply, TimedOut, TooLarge

_NO_CONNECTION = "client error (Connect)"
"""The client's own word for DNS, TCP and TLS set-up; once a request may have left it says something else."""


class ReqwestWire:
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
    ) -> Reply:
        within = timedelta(seconds=timeout)
        try:
            call = self._client.request(method, url).headers(headers).body_bytes(body).timeout(within)
            answering = _whole(call.build()) if limit is None else _limited(_streamed(call), limit)
        except ValueError:
            # Without the cause: its words repeat the header, and with it the token.
            raise Refused("no request can be made of this address and token") from None
        cancelled = _cancelled()
        try:
            reply = await answering
        except TimeoutError as error:
            raise TimedOut(f"no answer within {timeout:g} s") from error
        except RequestError as error:
            raise _translated(error) from error
        if _cancelled() > cancelled:
            raise asyncio.CancelledError  # the client drops it when the answer comes at the same moment
        return reply

    async def close(self) -> None:
        await self._client.close()


async def _whole(call: ConsumedRequest) -> Reply:
    reply = await call.send()
    return Reply(reply.status, dict(reply.headers), (await reply.bytes()).to_bytes())


def _streamed(call: RequestBuilder) -> StreamRequest:
    return call.streamed_read_buffer_limit(0).build_streamed()  # nothing of the body before we have looked at the head


async def _limited(call: StreamRequest, limit: int) -> Reply:
    """Piece by piece; who leaves in the middle leaves the connection with it."""
    async with call as reply:
        length = reply.get_header("content-length")
        if length is not None and length.isdecimal() and int(length[:20]) > limit:
            raise TooLarge(f"the answer has {length} bytes, at most {limit} are taken")
        pieces, size = [], 0
        while (piece := await reply.body_reader.read_chunk()) is not None:
            pieces.append(piece.to_bytes())
            size += len(pieces[-1])
            if size > limit:
                raise TooLarge(f"the answer has more than {limit} bytes")
        return Reply(reply.status, dict(reply.headers), b"".join(pieces))


def _cancelled() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _translated(error: RequestError) -> Refused | Cut:
    """An unknown wording becomes Cut, which is the safe side: unsure, never a second send."""
    causes = error.details["causes"] or []
    if isinstance(error, NetworkError) and any(cause["message"] == _NO_CONNECTION for cause in causes):
        return Refused("no connection could be made")
    return Cut("the connection broke before a whole answer came")
