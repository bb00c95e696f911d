"""Sending: kept first, then tried until it is answered, each message once (B18 to B23)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from waypost.client.nouns import Queued, QueueFull, Refusal, SendRefused, Sent, State, Stopped, Tried
from waypost.client.outgoing import MOST_QUEUED, OutgoingQueue, Send
from waypost.client.rest import NoAnswer, Rest
from waypost.client.returning import Stop
from waypost.client.sending import ByRest, BySocket, Later, Wait, told_by_frame, told_by_rest
from waypost.client.situation import Situation, heard, now_ms
from waypost.client.store import Kept, Outgoing, Store
from waypost.client.timing import Timing


class Posting:
    def __init__(
        self, kept: Kept, store: Store, rest: Rest, situation: Situation, timing: Timing, dice: Callable[[], float]
    ) -> None:
        self._store, self._rest, self._situation, self._dice = store, rest, situation, dice
        self._queue = OutgoingQueue(timing)
        self._answers: dict[str, asyncio.Future[Sent]] = {}
        self._settled: deque[str] = deque(maxlen=MOST_QUEUED)
        self._posts: set[asyncio.Task[None]] = set()
        self._bell = situation.bell()
        for outgoing in kept.outgoing:
            self._queue.add(outgoing, now_ms())

    async def send(self, outgoing: Outgoing) -> Sent:
        """Returns when the server has it. Who is cancelled while waiting has not taken it back: it is kept."""
        self._refuse_early(outgoing.client_message_id)
        answer: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        self._answers[outgoing.client_message_id] = answer
        await asyncio.shield(self._keep(outgoing))
        return await answer

    async def _keep(self, outgoing: Outgoing) -> None:
        try:
            await self._store.add(outgoing)
        except BaseException:
            self._answers.pop(outgoing.client_message_id, None)
            raise
        self._situation.tell(Queued(outgoing.client_message_id))
        self._queue.add(outgoing, now_ms())
        self._bell.set()

    def _refuse_early(self, name: str) -> None:
        if self._situation.state is State.STOPPED:
            raise Stopped(self._situation.code)
        if name in self._queue or name in self._answers:
            raise SendRefused("client_message_id_in_use")
        if len(self._queue) >= MOST_QUEUED:
            raise QueueFull

    async def run(self) -> None:
        """Runs as long as the client."""
        while True:
            await heard(self._bell, await self._round())

    async def _round(self) -> float | None:
        """Everything that is to be done now; how long there is nothing more to do."""
        waits: list[float] = []
        line, polling = self._situation.line, self._situation.state is State.POLLING
        for send, move in list(self._queue.moves(now_ms(), socket=line is not None, polling=polling)):
            match move:
                case Wait(ms):
                    waits.append(ms)
                case BySocket():
                    await self._by_socket(send)
                    waits.append(0)
                case ByRest(drop_socket):
                    self._by_rest(send)
                    if drop_socket and line is not None:
                        line.drop()
        return min(waits, default=None)

    async def _by_socket(self, send: Send) -> None:
        line = self._situation.line
        if line is None:
            return
        send.tries += 1
        send.since = now_ms()
        self._situation.tell(Tried(send.name, "socket"))
        out = send.outgoing
        await line.send(
            {
                "type": "send",
                "client_message_id": out.client_message_id,
                "conversation_id": out.conversation_id,
                "content": out.content,
            }
        )

    def _by_rest(self, send: Send) -> None:
        send.by_rest = True
        self._situation.tell(Tried(send.name, "rest"))
        self._posts.add(task := asyncio.create_task(self._post(send)))
        task.add_done_callback(self._posts.discard)

    async def _post(self, send: Send) -> None:
        try:
            answer = await self._rest.post_message(send.outgoing)
        except NoAnswer:
            await self._told(send.name, Later(0))
        else:
            await self._told(send.name, told_by_rest(send.name, answer.status, answer.retry_after, answer.body))

    async def told(self, frame: Mapping[str, Any]) -> None:
        """An `ack` or `error` came by the socket."""
        verdict = told_by_frame(frame)
        if verdict is not None:
            await self._told(frame["client_message_id"], verdict)

    async def shown(self, name: str, message_id: str, position: int) -> None:
        """The own message came as an item: as good as an ack.

        Of an id that was used before it may be the first message, so that only the server's answer counts.
        """
        if name not in self._settled:
            await self._told(name, Sent(name, message_id, position))

    async def _told(self, name: str, verdict: Sent | Refusal | Later | Stop) -> None:
        match verdict:
            case Sent() | Refusal():
                if self._queue.settle(name, now_ms()):
                    self._settled.append(name)
                    self._bell.set()
                    self._answer(name, verdict)  # first: a crash between the two tells it again, never not at all
                    await self._store.remove(name)
            case Later():
                self._queue.later(name, verdict, self._dice(), now_ms())
                self._bell.set()
            case Stop(code):
                self._situation.become(State.STOPPED, code)

    def _answer(self, name: str, verdict: Sent | Refusal) -> None:
        self._situation.tell(verdict)
        waiting = self._answers.pop(name, None)
        if waiting is None or waiting.done():
            return
        if isinstance(verdict, Sent):
            waiting.set_result(verdict)
        else:
            waiting.set_exception(SendRefused(verdict.code, verdict.detail))

    def socket_broke(self) -> None:
        self._queue.socket_broke()
        self._bell.set()

    async def stop(self) -> None:
        """Who still waits is told; the messages stay kept."""
        for task in list(self._posts):
            task.cancel()
        await asyncio.gather(*self._posts, return_exceptions=True)
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(Stopped(self._situation.code))
        self._answers.clear()
