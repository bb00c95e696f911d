"""The client's HTTP requests, for reads and for when there is no socket."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

import msgspec
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import RequestError

from waypost.client.store import Outgoing
from waypost.client.types import Json

API = "/api/v1"


class NoResponse(Exception):
    """Refused, cut or timed out: the server may or may not have handled the request."""


class RestResponse(msgspec.Struct, frozen=True):
    status: int
    retry_after: str | None
    body: Any
    """None if it is not JSON."""

    @property
    def fields(self) -> Json:
        return self.body if isinstance(self.body, dict) else {}


class RestClient:
    def __init__(self, url: str, token: str, patience: float) -> None:
        """`patience` is how many seconds an answer may take."""
        self._patience = patience
        self._base = url.rstrip("/") + API
        self._headers = {"authorization": f"Bearer {token}"}
        self._client: Client = ClientBuilder().follow_redirects(False).user_agent("waypost-client").build()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def post_message(self, outgoing: Outgoing) -> RestResponse:
        return await self._ask("POST", "/messages", msgspec.to_builtins(outgoing))

    async def sync(self, device_id: str, resume_point: Json, wait: float) -> RestResponse:
        """`wait` is the duration of the long poll in seconds."""
        query: dict[str, str] = {"device_id": device_id, "wait": f"{wait:g}"}
        if "cursors" in resume_point:
            query["cursors"] = msgspec.json.encode(resume_point["cursors"]).decode()
        if "epoch" in resume_point:
            query["epoch"] = str(resume_point["epoch"])
        return await self._ask("GET", f"/sync?{urlencode(query)}", wait=wait)

    async def conversations(self, cursor: str | None) -> RestResponse:
        return await self._ask(
            "GET", "/conversations" + ("" if cursor is None else f"?{urlencode({'cursor': cursor})}")
        )

    async def conversation(self, conversation_id: str) -> RestResponse:
        return await self._ask("GET", f"/conversations/{quote(conversation_id, safe='')}")

    async def messages(self, conversation_id: str, limit: int, cursor: str | None) -> RestResponse:
        query = {"limit": str(limit)} | ({} if cursor is None else {"cursor": cursor})
        return await self._ask("GET", f"/conversations/{quote(conversation_id, safe='')}/messages?{urlencode(query)}")

    async def read(self, conversation_id: str, message_id: str) -> RestResponse:
        path = f"/conversations/{quote(conversation_id, safe='')}/read"
        return await self._ask("POST", path, {"message_id": message_id})

    async def _ask(self, method: str, path: str, body: object = None, wait: float = 0) -> RestResponse:
        within = timedelta(seconds=wait + self._patience)
        call = self._client.request(method, self._base + path).headers(self._headers).timeout(within)
        if body is not None:
            call = call.header("content-type", "application/json").body_bytes(msgspec.json.encode(body))
        before = _cancelled()
        try:
            reply = await call.build().send()
            content = (await reply.bytes()).to_bytes()
        except (TimeoutError, RequestError) as error:
            raise NoResponse(f"{method} {path.partition('?')[0]}") from error
        if _cancelled() > before:
            raise asyncio.CancelledError  # the library loses a cancellation that coincides with the answer
        return RestResponse(reply.status, reply.get_header("retry-after"), _decoded(content))


def _decoded(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return None


def _cancelled() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0
