"""The client: `async with Client(url, token, device_id) as client`, then items come and messages go."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

import msgspec

from waypost.client.follow import Address, Following
from waypost.client.nouns import AskRefused, Conversation, Json, Message, Sent, State, Stopped, Watch
from waypost.client.post import Posting
from waypost.client.rest import Answer, NoAnswer, Rest
from waypost.client.returning import NOT_AUTHENTICATED, backoff
from waypost.client.sending import seconds_of
from waypost.client.situation import Situation, now_ms
from waypost.client.store import MemoryStore, Outgoing, Store
from waypost.client.stream import Stream
from waypost.client.take import Taking
from waypost.client.timing import Timing
from waypost.client.unread import Unread

TYPING_EVERY = 2_000.0
"""Milliseconds: the server passes on no more."""
_DROP_THE_CURSOR = frozenset({"invalid_cursor", "cursor_expired"})


class Client:
    """Everything that docs/reference/client-behaviour.md promises. One task reads `items()`; any number send."""

    def __init__(
        self,
        url: str,
        token: str,
        device_id: str,
        *,
        store: Store | None = None,
        timing: Timing | None = None,
        watch: Watch | None = None,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self._address, self._token = Address(url, token, device_id), token
        self._store, self._timing, self._dice = store or MemoryStore(), timing or Timing(), dice
        self._situation = Situation(watch)
        self._typed: dict[str, float] = {}

    async def __aenter__(self) -> Self:
        kept = await self._store.open()
        self._rest = Rest(self._address.url, self._token, self._timing.open_timeout / 1000)
        self._stream = stream = Stream(kept, self._timing.hold)
        self._taking = Taking(kept, self._store, self._situation, self._timing)
        self._posting = Posting(kept, self._store, self._rest, self._situation, self._timing, self._dice)
        self._unread = Unread(stream)
        following = Following(
            self._address,
            self._rest,
            stream,
            self._taking,
            self._posting,
            self._situation,
            self._timing,
            self._dice,
        )
        following.on_applied = self._unread.applied
        self._tasks = [self._started(work) for work in (following.run(), following.fill_gaps(), self._posting.run())]
        self._keeping = self._started(self._taking.keep())
        self._watching = self._started(self._until_stopped())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await _ended(self._watching, self._keeping)
        line = self._situation.line
        self._situation.become(State.STOPPED)
        await self._taking.flush()
        if line is not None:
            await line.close()
        await self._end_work()
        await self._rest.__aexit__(kind, error, trace)
        await self._store.close()

    # What an application does

    @property
    def state(self) -> State:
        return self._situation.state

    @property
    def user_id(self) -> str | None:
        """Whose token it is; None until the server has said so."""
        return self._stream.me or None

    async def reaches(self, state: State) -> None:
        """Returns when the client is in this state; raises Stopped when it never will be."""
        await self._situation.comes_to(state)
        if state is not State.STOPPED:
            self._raise_if_stopped()

    def items(self) -> Taking:
        """What happens, in order: Item and Reset. Asking for the next one says that the last one is dealt with."""
        return self._taking

    async def send(
        self, conversation_id: str, content: str | Mapping[str, Any], *, client_message_id: str | None = None
    ) -> Sent:
        """Kept before it leaves; returns when the server has it, raises SendRefused when it never will.

        Cancelled or stopped while waiting, it stays kept and goes out by itself.
        """
        body = {"type": "text", "text": content} if isinstance(content, str) else dict(content)
        return await self._posting.send(Outgoing(client_message_id or str(uuid.uuid4()), conversation_id, body))

    async def read(self, conversation_id: str, message_id: str) -> None:
        """This message and all before it were seen."""
        line = self._situation.line
        if line is not None:
            await line.send({"type": "read", "conversation_id": conversation_id, "message_id": message_id})
        else:
            await self._answered(lambda: self._rest.read(conversation_id, message_id))

    async def typing(self, conversation_id: str) -> None:
        """Shown to the others for a moment; without a live socket, to nobody. May be called with every key pressed."""
        now, line = now_ms(), self._situation.line
        is_news = now - self._typed.get(conversation_id, -TYPING_EVERY) >= TYPING_EVERY
        if line is None or self.state is not State.LIVE or not is_news:
            return
        self._typed[conversation_id] = now
        await line.send({"type": "typing", "conversation_id": conversation_id})

    async def unread(self, conversation_id: str) -> int:
        known = self._unread.count(conversation_id)
        if known is not None:
            return known
        answer = await self._answered(lambda: self._rest.conversation(conversation_id))
        return self._unread.told(msgspec.convert(answer.fields, Conversation, strict=False))

    async def conversations(self) -> list[Conversation]:
        """All of the user's, latest activity first."""
        found: list[Conversation] = []
        cursor: str | None = None
        while True:
            page = (await self._answered(partial(self._rest.conversations, cursor))).fields
            found += msgspec.convert(page.get("conversations", []), list[Conversation], strict=False)
            cursor = page.get("next_cursor")
            if not page.get("has_more") or cursor is None:
                return found

    async def history(self, conversation_id: str, limit: int = 50) -> AsyncIterator[Message]:
        """Newest first, each message once; pages of `limit` are read as they are needed."""
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

    # How

    async def _page(self, conversation_id: str, limit: int, cursor: str | None) -> Json:
        """A cursor is a convenience: without it the reading starts over."""
        try:
            return (await self._answered(lambda: self._rest.messages(conversation_id, limit, cursor))).fields
        except AskRefused as refused:
            if cursor is None or refused.code not in _DROP_THE_CURSOR:
                raise
        return (await self._answered(lambda: self._rest.messages(conversation_id, limit, None))).fields

    async def _answered(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Asked until there is an answer; only what changes nothing when asked twice."""
        failures = 0
        while True:
            self._raise_if_stopped()
            pause = 0.0
            try:
                answer = await ask()
            except NoAnswer:
                pass
            else:
                if answer.status < 300:
                    return answer
                self._refused(answer)
                pause = seconds_of(answer.retry_after) * 1000
            wait = backoff(failures, self._dice(), self._timing.backoff_base, self._timing.backoff_cap)
            await asyncio.sleep(max(wait, pause) / 1000)
            failures += 1

    def _refused(self, answer: Answer) -> None:
        """Raises unless asking again may help."""
        if answer.status == 401:
            self._situation.become(State.STOPPED, NOT_AUTHENTICATED)
            raise Stopped(NOT_AUTHENTICATED)
        if 400 <= answer.status < 500 and answer.status not in {408, 425, 429}:
            raise AskRefused(answer.status, str(answer.fields.get("code", "")), str(answer.fields.get("detail", "")))

    def _raise_if_stopped(self) -> None:
        if self._situation.failure is not None:
            raise self._situation.failure
        if self.state is State.STOPPED:
            raise Stopped(self._situation.code)

    def _started(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._note_failure)
        return task

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        """A mistake of ours must not look like silence."""
        if not task.cancelled() and task.exception() is not None:
            self._situation.failure = task.exception()
            self._situation.become(State.STOPPED)

    async def _until_stopped(self) -> None:
        """An answer said not to come back: nothing goes out any more, what was applied can still be taken."""
        await self._situation.comes_to(State.STOPPED)
        await self._end_work()

    async def _end_work(self) -> None:
        await _ended(*self._tasks)
        await self._posting.stop()


async def _ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
