"""One pooled HTTP client for everything that goes out (docs/decisions/0003 says why this one)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import NetworkError, RequestError

from waypost.ports.wire import Cut, Refused, Reply, TimedOut

_NO_CONNECTION = "client error (Connect)"
"""The client's own word for DNS, TCP and TLS set-up; once a request may have left it says something else."""


class ReqwestWire:
    def __init__(self, user_agent: str) -> None:
        self._client: Client = ClientBuilder().http1_only().follow_redirects(False).user_agent(user_agent).build()

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b"", timeout: float
    ) -> Reply:
        limit = timedelta(seconds=timeout)
        try:
            call = self._client.request(method, url).headers(headers).body_bytes(body).timeout(limit).build()
        except ValueError:
            # Without the cause: its words repeat the header, and with it the token.
            raise Refused("no request can be made of this address and token") from None
        cancelled = _cancelled()
        try:
            reply = await call.send()
            content = (await reply.bytes()).to_bytes()
        except TimeoutError as error:
            raise TimedOut(f"no answer within {timeout:g} s") from error
        except RequestError as error:
            raise _translated(error) from error
        if _cancelled() > cancelled:
            raise asyncio.CancelledError  # the client drops it when the answer comes at the same moment
        return Reply(reply.status, dict(reply.headers), content)

    async def close(self) -> None:
        await self._client.close()


def _cancelled() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _translated(error: RequestError) -> Refused | Cut:
    """An unknown wording becomes Cut, which is the safe side: unsure, never a second send."""
    causes = error.details["causes"] or []
    if isinstance(error, NetworkError) and any(cause["message"] == _NO_CONNECTION for cause in causes):
        return Refused("no connection could be made")
    return Cut("the connection broke before a whole answer came")
