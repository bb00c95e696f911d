"""The connection to Redis: messages queue in a bounded buffer, and no caller ever waits for it.

While the connection is down, hints are dropped at once and the last write of each key is kept; it reconnects with
growing pauses and then continues by itself.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

import structlog
from redis.asyncio.client import PubSub

from waypost.adapters.redis.address import RedisAddress
from waypost.adapters.redis.client import PATIENCE, TROUBLE, Command, RedisClient, RedisConnectionLost, opened

log = structlog.get_logger("redis")

TOPICS_AT_MOST = 10_000
WRITES_AT_MOST = 20_000
WRITES_AT_ONCE = 2_000
PAUSE_FIRST, PAUSE_MOST = 0.1, 3.0
"""Seconds between two attempts, plus up to as much again at random, so that processes do not reconnect in step."""
BREATH = 0.002
"""Seconds between two publications of a process: under load each carries more topics."""
SILENT_FOR = 1.0
"""Seconds without a message after which the connection is pinged."""
LAST_WORDS = 0.5


class RedisWatcher(Protocol):
    def redis_is(self, kind: str, *, up: bool) -> None:
        """Redis has become reachable or unreachable."""

    def redis_dropped(self, count: int) -> None:
        """`count` hints and writes were lost."""

    def redis_came_back(self) -> None:
        """Redis was lost and is reachable again."""


class RedisConnection:
    """`sender` names this process, or its machine if its processes reach each other without Redis: messages of the
    same sender are ignored."""

    def __init__(self, address: RedisAddress, channel: str, deliver: Callable[[list[str]], None], sender: str) -> None:
        self._address = address
        self._channel = channel
        self._deliver = deliver
        self._sender = sender
        self._topics: dict[str, None] = {}
        self._writes: dict[str, Sequence[Command]] = {}
        self._waiting = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._changed = asyncio.Condition()
        self._at_start: list[Callable[[RedisClient], Awaitable[None]]] = []
        self._watchers: list[RedisWatcher] = []
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self.up = False
        self._tried = False
        self.dropped = 0
        self.reconnects = 0

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._keep())

    def watch(self, watcher: RedisWatcher) -> None:
        self._watchers.append(watcher)
        watcher.redis_is(self._address.kind.value, up=self.up)

    def whenever_up(self, do: Callable[[RedisClient], Awaitable[None]]) -> None:
        """Run `do` concurrently each time the connection is up."""
        self._at_start.append(do)

    async def until(self, *, up: bool) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.up is up)

    def post(self, topics: Iterable[str]) -> None:
        """Collect topics and send them together; while Redis is down they are dropped."""
        for topic in topics:
            if (self._tried and not self.up) or len(self._topics) >= TOPICS_AT_MOST:
                self._drop(1)
            else:
                self._topics[topic] = None
        self._wake()

    def write(self, about: str, commands: Sequence[Command]) -> None:
        """Queue the commands; they replace earlier ones with the same key and go to the end."""
        self._writes.pop(about, None)
        if len(self._writes) >= WRITES_AT_MOST:
            self._drop(1)
        else:
            self._writes[about] = commands
        self._wake()

    async def flushed(self) -> None:
        """Wait until nothing is queued: everything was sent or dropped."""
        await self._idle.wait()

    def _wake(self) -> None:
        self._waiting.set()
        self._idle.clear()

    def close(self) -> None:
        """Queued messages are still sent, if that takes only a moment."""
        self._closing = True
        self._waiting.set()
        if self._task is not None and not self.up:
            self._task.cancel()

    async def _keep(self) -> None:
        pause = PAUSE_FIRST
        while not self._closing:
            try:
                async with opened(self._address) as client, client.listening(self._channel) as pubsub:
                    await self._set(up=True)
                    pause = PAUSE_FIRST
                    await self._serve(client, pubsub)
            except* TROUBLE as trouble:
                await self._lost(trouble)
            except* Exception as bug:  # noqa: BLE001  # any bug is reported, and the connection is retried
                context = {"message": "the connection to Redis failed", "exception": bug}
                asyncio.get_running_loop().call_exception_handler(context)
                await self._lost(bug)
            if not self._closing:
                await asyncio.sleep(pause * (1 + random.random()))  # noqa: S311  # no secret
                pause = min(PAUSE_MOST, pause * 2)

    async def _serve(self, client: RedisClient, pubsub: PubSub) -> None:
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self._listen(pubsub))
            chores = [group.create_task(_done(do, client)) for do in self._at_start]
            await self._send(client)
            for task in (listening, *chores):
                task.cancel()

    async def _send(self, client: RedisClient) -> None:
        while not self._closing:
            await self._waiting.wait()
            self._waiting.clear()
            await self._send_what_waits(client)
            if not self._waiting.is_set():
                self._idle.set()
            await asyncio.sleep(BREATH)
        async with asyncio.timeout(LAST_WORDS):
            await self._send_what_waits(client)

    async def _send_what_waits(self, client: RedisClient) -> None:
        topics, self._topics = self._topics, {}
        writes = {about: self._writes[about] for about in list(self._writes)[:WRITES_AT_ONCE]}
        for about in writes:
            del self._writes[about]
        if self._writes:
            self._waiting.set()
        commands = [command for each in writes.values() for command in each]
        if topics:
            commands.insert(0, ("SPUBLISH", self._channel, "\n".join([self._sender, *topics]).encode()))
        if not commands:
            return
        try:
            async with asyncio.timeout(PATIENCE):
                answers = await client.run(commands)
        except TROUBLE:
            self._drop(len(topics))
            kept = {about: each for about, each in writes.items() if about not in self._writes}
            self._writes = {**kept, **self._writes}
            raise
        self._look_at(answers)

    def _look_at(self, answers: Sequence[object]) -> None:
        refused = [answer for answer in answers if isinstance(answer, Exception)]
        if refused:
            self._drop(len(refused))
            log.warning("redis_refused", count=len(refused), error=str(refused[0]))

    async def _listen(self, pubsub: PubSub) -> None:
        asked = False
        while True:
            message = await pubsub.get_message(timeout=SILENT_FOR)
            if message is None:
                if asked:
                    raise RedisConnectionLost("it does not answer")
                await pubsub.ping()
                asked = True
                continue
            asked = False
            if message["type"] == "smessage":
                self._take(message["data"])
            elif message["type"] == "sunsubscribe":
                raise RedisConnectionLost("the hints have moved to another node")

    def _take(self, message: bytes) -> None:
        sender, *topics = message.decode(errors="replace").split("\n")
        if sender != self._sender:
            self._deliver(topics)

    async def _lost(self, trouble: BaseExceptionGroup[BaseException]) -> None:
        if self.up or not self._tried:
            first = _first(trouble)
            log.warning("redis_lost", where=self._address.shown, error=str(first) or type(first).__name__)
        self._drop(len(self._topics))
        self._topics.clear()
        if not self._writes:
            self._idle.set()
        await self._set(up=False)

    async def _set(self, *, up: bool) -> None:
        if up and self._tried:
            self.reconnects += 1
            log.info("redis_is_back", where=self._address.shown)
            for watcher in self._watchers:
                watcher.redis_came_back()
        self.up, self._tried = up, True
        for watcher in self._watchers:
            watcher.redis_is(self._address.kind.value, up=up)
        async with self._changed:
            self._changed.notify_all()

    def _drop(self, count: int) -> None:
        if count:
            self.dropped += count
            for watcher in self._watchers:
                watcher.redis_dropped(count)


async def _done(do: Callable[[RedisClient], Awaitable[None]], client: RedisClient) -> None:
    """Calls `do` inside its task, so that a task cancelled before it runs leaves no unawaited coroutine."""
    try:
        await do(client)
    except TROUBLE:
        raise
    except Exception as bug:  # noqa: BLE001  # any bug is reported, and the connection goes on
        asyncio.get_running_loop().call_exception_handler({"message": "a Redis task failed", "exception": bug})


def _first(trouble: BaseExceptionGroup[BaseException]) -> BaseException:
    inner = trouble.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
