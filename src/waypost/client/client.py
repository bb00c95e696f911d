"""The client: `async with Client(url, token, device_id) as client`, then read `items()` and `send()`."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from functools import partial
from random import random
from types import TracebackType
from typing import Any, Self

import msgspec

from waypost.client.connection_state import ConnectionState, now_ms
from waypost.client.delivery import ItemDelivery
from waypost.client.follow import ConnectionLoop, ConnectionTarget
from waypost.client.post import MessageSender
from waypost.client.reconnect import NOT_AUTHENTICATED, backoff
from waypost.client.rest import NoResponse, RestClient, RestResponse
from waypost.client.sending import seconds_of
from waypost.client.store import MemoryStore, Outgoing, Store
from waypost.client.stream import Stream
from waypost.client.timing import Timing
from waypost.client.types import Conversation, EventHandler, Json, Message, RequestRefused, SendStored, State, Stopped
from waypost.client.unread import Unread

TYPING_EVERY = 2_000.0
"""Milliseconds between two typing frames; the server drops more frequent ones."""
_INVALID_CURSOR = frozenset({"invalid_cursor", "cursor_expired"})


class Client:
    """Implements docs/reference/client-behaviour.md. One task reads `items()`; any number of tasks may send."""

    def __init__(
        self,
        url: str,
        token: str,
        device_id: str,
        *,
        store: Store | None = None,
        timing: Timing | None = None,
        watch: EventHandler | None = None,
        random: Callable[[], float] = random,
    ) -> None:
        self._address, self._token = ConnectionTarget(url, token, device_id), token
        self._store, self._timing, self._random = store or MemoryStore(), timing or Timing(), random
        self._connection = ConnectionState(watch)
        self._typing_sent_at: dict[str, float] = {}

    async def __aenter__(self) -> Self:
        kept = await self._store.open()
        self._rest = RestClient(self._address.url, self._token, self._timing.open_timeout / 1000)
        self._stream = stream = Stream(kept, self._timing.hold)
        self._delivery = ItemDelivery(kept, self._store, self._connection, self._timing)
        self._sender = MessageSender(kept, self._store, self._rest, self._connection, self._timing, self._random)
        self._unread = Unread(stream)
        loop = ConnectionLoop(
            self._address,
            self._rest,
            stream,
            self._delivery,
            self._sender,
            self._connection,
            self._timing,
            self._random,
        )
        loop.on_applied = self._unread.applied
        self._tasks = [self._start(work) for work in (loop.run(), loop.fill_gaps(), self._sender.run())]
        self._keeping = self._start(self._delivery.keep())
        self._watching = self._start(self._until_stopped())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await _cancel(self._watching, self._keeping)
        socket = self._connection.socket
        self._connection.become(State.STOPPED)
        await self._delivery.flush()
        if socket is not None:
            await socket.close()
        await self._end_work()
        await self._rest.__aexit__(kind, error, trace)
        await self._store.close()

    # Public API

    @property
    def state(self) -> State:
        return self._connection.state

    @property
    def user_id(self) -> str | None:
        """The user that the token belongs to; None until the server has sent it."""
        return self._stream.me or None

    async def reaches(self, state: State) -> None:
        """Returns when the client is in this state; raises Stopped if it stops first."""
        await self._connection.wait_for(state)
        if state is not State.STOPPED:
            self._raise_if_stopped()

    def items(self) -> ItemDelivery:
        """Items and Resets, in order. Requesting the next one acknowledges the last one."""
        return self._delivery

    async def send(
        self, conversation_id: str, content: str | Mapping[str, Any], *, client_message_id: str | None = None
    ) -> SendStored:
        """Stores the message, then sends it. Returns when the server has it, raises SendRefused if it is refused.

        A message whose `send` is cancelled, or interrupted by a stop, stays stored and is sent later.
        """
        body = {"type": "text", "text": content} if isinstance(content, str) else dict(content)
        return await self._sender.send(Outgoing(client_message_id or str(uuid.uuid4()), conversation_id, body))

    async def read(self, conversation_id: str, message_id: str) -> None:
        """Marks this message and all before it as read."""
        socket = self._connection.socket
        if socket is not None:
            await socket.send({"type": "read", "conversation_id": conversation_id, "message_id": message_id})
        else:
            await self._answered(lambda: self._rest.read(conversation_id, message_id))

    async def typing(self, conversation_id: str) -> None:
        """Shows the others a typing indicator, if the socket is live. May be called on every key press."""
        now, socket = now_ms(), self._connection.socket
        is_due = now - self._typing_sent_at.get(conversation_id, -TYPING_EVERY) >= TYPING_EVERY
        if socket is None or self.state is not State.LIVE or not is_due:
            return
        self._typing_sent_at[conversation_id] = now
        await socket.send({"type": "typing", "conversation_id": conversation_id})

    async def unread(self, conversation_id: str) -> int:
        known = self._unread.count(conversation_id)
        if known is not None:
            return known
        answer = await self._answered(lambda: self._rest.conversation(conversation_id))
        return self._unread.set_count(msgspec.convert(answer.fields, Conversation, strict=False))

    async def conversations(self) -> list[Conversation]:
        """All conversations of the user, latest activity first."""
        found: list[Conversation] = []
        cursor: str | None = None
        while True:
            page = (await self._answered(partial(self._rest.conversations, cursor))).fields
            found += msgspec.convert(page.get("conversations", []), list[Conversation], strict=False)
            cursor = page.get("next_cursor")
            if not page.get("has_more") or cursor is None:
                return found

    async def history(self, conversation_id: str, limit: int = 50) -> AsyncIterator[Message]:
        """Newest first, each message once; reads pages of `limit` as needed."""
        seen: set[str] = set()
        cursor: str | None = None
        while True:
            page = await self._page(conversation_id, limit, cursor)
            for message in msgspec.convert(page.get("messages", []), list[Message], strict=False):
                if message.message_id not in seen:
                    seen.add(message.message_id)
                    yield message
            cursor = page.get("next_cursor")
            if not page.get("has_more") or cursor is None:
                return

    # Internals

    async def _page(self, conversation_id: str, limit: int, cursor: str | None) -> Json:
        """If the server no longer accepts the cursor, reading starts over."""
        try:
            return (await self._answered(lambda: self._rest.messages(conversation_id, limit, cursor))).fields
        except RequestRefused as refused:
            if cursor is None or refused.code not in _INVALID_CURSOR:
                raise
        return (await self._answered(lambda: self._rest.messages(conversation_id, limit, None))).fields

    async def _answered(self, request: Callable[[], Awaitable[RestResponse]]) -> RestResponse:
        """Retries until there is an answer; for idempotent requests only."""
        failures = 0
        while True:
            self._raise_if_stopped()
            pause = 0.0
            try:
                answer = await request()
            except NoResponse:
                pass
            else:
                if answer.status < 300:
                    return answer
                self._refused(answer)
                pause = seconds_of(answer.retry_after) * 1000
            wait = backoff(failures, self._random(), self._timing.backoff_base, self._timing.backoff_cap)
            await asyncio.sleep(max(wait, pause) / 1000)
            failures += 1

    def _refused(self, answer: RestResponse) -> None:
        """Raises unless a retry may succeed."""
        if answer.status == 401:
            self._connection.become(State.STOPPED, NOT_AUTHENTICATED)
            raise Stopped(NOT_AUTHENTICATED)
        if 400 <= answer.status < 500 and answer.status not in {408, 425, 429}:
            raise RequestRefused(
                answer.status, str(answer.fields.get("code", "")), str(answer.fields.get("detail", ""))
            )

    def _raise_if_stopped(self) -> None:
        if self._connection.failure is not None:
            raise self._connection.failure
        if self.state is State.STOPPED:
            raise Stopped(self._connection.code)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._note_failure)
        return task

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        """A bug in a background task stops the client, so that it does not go unnoticed."""
        if not task.cancelled() and task.exception() is not None:
            self._connection.failure = task.exception()
            self._connection.become(State.STOPPED)

    async def _until_stopped(self) -> None:
        """When the server has stopped the client, ends the background work; applied items can still be read."""
        await self._connection.wait_for(State.STOPPED)
        await self._end_work()

    async def _end_work(self) -> None:
        await _cancel(*self._tasks)
        await self._sender.stop()


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
