"""Sends messages: stores each first, then retries until it is answered (B18 to B23)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from waypost.client.connection_state import ConnectionState, now_ms, wait_for_signal
from waypost.client.outgoing import MOST_QUEUED, OutgoingQueue, PendingSend
from waypost.client.reconnect import StopReconnecting
from waypost.client.rest import NoResponse, RestClient
from waypost.client.sending import ByRest, BySocket, KeepWaiting, RetryLater, result_from_frame, result_from_response
from waypost.client.store import Outgoing, Store, StoredState
from waypost.client.timing import Timing
from waypost.client.types import (
    QueueFull,
    SendAttempted,
    SendQueued,
    SendRefused,
    SendRejected,
    SendStored,
    State,
    Stopped,
)


class MessageSender:
    def __init__(
        self,
        kept: StoredState,
        store: Store,
        rest: RestClient,
        connection: ConnectionState,
        timing: Timing,
        random: Callable[[], float],
    ) -> None:
        self._store, self._rest, self._connection, self._random = store, rest, connection, random
        self._queue = OutgoingQueue(timing)
        self._answers: dict[str, asyncio.Future[SendStored]] = {}
        self._settled: deque[str] = deque(maxlen=MOST_QUEUED)
        self._posts: set[asyncio.Task[None]] = set()
        self._signal = connection.signal()
        for outgoing in kept.outgoing:
            self._queue.add(outgoing, now_ms())

    async def send(self, outgoing: Outgoing) -> SendStored:
        """Returns when the server has it. Cancelling does not withdraw the message: it stays stored."""
        self._refuse_early(outgoing.client_message_id)
        answer: asyncio.Future[SendStored] = asyncio.get_running_loop().create_future()
        self._answers[outgoing.client_message_id] = answer
        await asyncio.shield(self._store_and_queue(outgoing))
        return await answer

    async def _store_and_queue(self, outgoing: Outgoing) -> None:
        try:
            await self._store.add(outgoing)
        except BaseException:
            self._answers.pop(outgoing.client_message_id, None)
            raise
        self._connection.emit(SendQueued(outgoing.client_message_id))
        self._queue.add(outgoing, now_ms())
        self._signal.set()

    def _refuse_early(self, name: str) -> None:
        if self._connection.state is State.STOPPED:
            raise Stopped(self._connection.code)
        if name in self._queue or name in self._answers:
            raise SendRefused("client_message_id_in_use")
        if len(self._queue) >= MOST_QUEUED:
            raise QueueFull

    async def run(self) -> None:
        """Runs as long as the client."""
        while True:
            await wait_for_signal(self._signal, await self._round())

    async def _round(self) -> float | None:
        """Does everything that is due; returns the milliseconds until the next action, or None."""
        waits: list[float] = []
        socket, polling = self._connection.socket, self._connection.state is State.POLLING
        for send, move in list(self._queue.moves(now_ms(), socket=socket is not None, polling=polling)):
            match move:
                case KeepWaiting(ms):
                    waits.append(ms)
                case BySocket():
                    await self._by_socket(send)
                    waits.append(0)
                case ByRest(drop_socket):
                    self._by_rest(send)
                    if drop_socket and socket is not None:
                        socket.drop()
        return min(waits, default=None)

    async def _by_socket(self, send: PendingSend) -> None:
        socket = self._connection.socket
        if socket is None:
            return
        send.attempts += 1
        send.since = now_ms()
        self._connection.emit(SendAttempted(send.name, "socket"))
        out = send.outgoing
        await socket.send(
            {
                "type": "send",
                "client_message_id": out.client_message_id,
                "conversation_id": out.conversation_id,
                "content": out.content,
            }
        )

    def _by_rest(self, send: PendingSend) -> None:
        send.by_rest = True
        self._connection.emit(SendAttempted(send.name, "rest"))
        self._posts.add(task := asyncio.create_task(self._post(send)))
        task.add_done_callback(self._posts.discard)

    async def _post(self, send: PendingSend) -> None:
        try:
            answer = await self._rest.post_message(send.outgoing)
        except NoResponse:
            await self._settle(send.name, RetryLater(0))
        else:
            await self._settle(
                send.name, result_from_response(send.name, answer.status, answer.retry_after, answer.body)
            )

    async def on_frame(self, frame: Mapping[str, Any]) -> None:
        """Handles an `ack` or `error` frame."""
        verdict = result_from_frame(frame)
        if verdict is not None:
            await self._settle(frame["client_message_id"], verdict)

    async def on_item(self, name: str, message_id: str, position: int) -> None:
        """Handles an item with the user's own message, which counts as an ack.

        If the id was used before, the item may be the first message, so only the server's answer counts.
        """
        if name not in self._settled:
            await self._settle(name, SendStored(name, message_id, position))

    async def _settle(self, name: str, verdict: SendStored | SendRejected | RetryLater | StopReconnecting) -> None:
        match verdict:
            case SendStored() | SendRejected():
                if self._queue.settle(name, now_ms()):
                    self._settled.append(name)
                    self._signal.set()
                    self._answer(name, verdict)  # first: a crash in between repeats the answer instead of losing it
                    await self._store.remove(name)
            case RetryLater():
                self._queue.later(name, verdict, self._random(), now_ms())
                self._signal.set()
            case StopReconnecting(code):
                self._connection.become(State.STOPPED, code)

    def _answer(self, name: str, verdict: SendStored | SendRejected) -> None:
        self._connection.emit(verdict)
        waiting = self._answers.pop(name, None)
        if waiting is None or waiting.done():
            return
        if isinstance(verdict, SendStored):
            waiting.set_result(verdict)
        else:
            waiting.set_exception(SendRefused(verdict.code, verdict.detail))

    def socket_broke(self) -> None:
        self._queue.socket_broke()
        self._signal.set()

    async def stop(self) -> None:
        """Ends pending `send` calls with Stopped; their messages stay stored."""
        for task in list(self._posts):
            task.cancel()
        await asyncio.gather(*self._posts, return_exceptions=True)
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(Stopped(self._connection.code))
        self._answers.clear()
