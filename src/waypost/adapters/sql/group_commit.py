"""One writer per process: everything that queued while the last commit ran goes into the next transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from waypost.ports.failure import Busy, LedgerError, Rejected, Unavailable

Intent = TypeVar("Intent")


class Conflict(Exception):
    """The transaction met another one (deadlock, lock timeout, busy file) and changed nothing; it may run again."""


class GroupCommit(Generic[Intent]):
    """Collects intents, runs them in batches, answers each caller after COMMIT. No timer: the commit is the clock."""

    def __init__(
        self,
        run: Callable[[Sequence[Intent]], Awaitable[Sequence[Any]]],
        *,
        weight: Callable[[Intent], int] = lambda _: 1,
        most_waiting: int = 20_000,
        most_together: int = 1_000,
        hands_on: bool = False,
    ) -> None:
        """`weight` is about how many rows an intent writes; both limits count it.

        `hands_on`: a batch that cannot be run is not halved. All of it is answered None, and goes another way in its
        order: what comes later in it must not be stored before what comes earlier.
        """
        self._run = run
        self._weight = weight
        self._weight_waiting = 0
        self._most_waiting = most_waiting
        self._most_together = most_together
        self._hands_on = hands_on
        self._waiting: deque[tuple[Intent, asyncio.Future[Any]]] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._closed = False

    async def do(self, intent: Intent) -> Any:
        """The intent's answer, after COMMIT; Busy at once when too much waits already."""
        return await self.hand_in(intent)

    def hand_in(self, intent: Intent) -> asyncio.Future[Any]:
        """As `do`, for who must know when it is over even if its caller goes away."""
        if self._closed:
            raise Unavailable("the ledger is closed")
        if self._weight_waiting >= self._most_waiting:
            raise Busy(f"{self._weight_waiting} writes are waiting")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((intent, answer))
        self._weight_waiting += self._weight(intent)
        if self._writer is None:
            self._writer = asyncio.ensure_future(self._drain())
        return answer

    async def close(self) -> None:
        """Refuse what is new, finish what waits."""
        self._closed = True
        if self._writer is not None:
            await self._writer

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(0)  # whoever is on the way in this turn of the loop comes along
                await self._carry_out(self._next_batch())
        finally:
            self._writer = None

    def _next_batch(self) -> list[tuple[Intent, asyncio.Future[Any]]]:
        """At least one, and as many as are not too heavy together."""
        batch: list[tuple[Intent, asyncio.Future[Any]]] = []
        heavy = 0
        while self._waiting and (not batch or heavy + self._weight(self._waiting[0][0]) <= self._most_together):
            batch.append(self._waiting.popleft())
            heavy += self._weight(batch[-1][0])
        self._weight_waiting -= heavy
        return batch

    async def _carry_out(self, batch: Sequence[tuple[Intent, asyncio.Future[Any]]]) -> None:
        outcomes = await self._outcomes([intent for intent, _ in batch])
        for (_, answer), outcome in zip(batch, outcomes, strict=True):
            if answer.done():  # its caller went away; what it asked for stands
                continue
            if isinstance(outcome, BaseException):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    async def _outcomes(self, batch: Sequence[Intent], reruns: int = 1) -> list[Any]:
        """One outcome per intent. A conflict reruns the batch, then halves it; halving finds a poisoned intent."""
        try:
            return list(await self._run(batch))
        except Conflict as conflict:
            if reruns:
                return await self._outcomes(batch, reruns - 1)
            trouble: Exception = conflict
        except LedgerError as failure:
            return [type(failure)(*failure.args) for _ in batch]
        except Exception as poison:  # noqa: BLE001  # whatever it is, it fails alone
            trouble = poison
        if self._hands_on:
            return [None for _ in batch]
        if len(batch) == 1:
            return [alone(trouble)]
        middle = len(batch) // 2
        return [*await self._outcomes(batch[:middle]), *await self._outcomes(batch[middle:])]


def alone(error: Exception) -> LedgerError:
    """What a caller is told whose intent failed with no other beside it."""
    failure = error if isinstance(error, LedgerError) else _named(error)
    if failure is not error:
        failure.__cause__ = error
    return failure


def _named(error: Exception) -> LedgerError:
    if isinstance(error, Conflict):
        return Busy(f"kept meeting other transactions: {error}")
    return Rejected(f"{type(error).__name__}: {error}")
