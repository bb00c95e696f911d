"""Group commit: all intents that queued during the last commit share the next transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from waypost.ports.platform.failure import Busy, LedgerError, Rejected, Unavailable

Intent = TypeVar("Intent")


class TransactionConflict(Exception):
    """The transaction conflicted with another (deadlock, lock timeout, busy file) and changed nothing; it may rerun."""


class GroupCommit(Generic[Intent]):
    """Collects intents, runs them in batches and answers callers after COMMIT. No timer: the commit sets the pace."""

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

        `hands_on`: a batch that cannot run is not halved. All its intents are answered None and take another path in
        order, since a later intent must not be stored before an earlier one.
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
        """Return the intent's answer after COMMIT; raise Busy at once if too many intents are queued."""
        return await self.enqueue(intent)

    def enqueue(self, intent: Intent) -> asyncio.Future[Any]:
        """Like `do`, for callers that must know when it is done even if they are cancelled."""
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
        """Refuse new intents, finish the queued ones."""
        self._closed = True
        if self._writer is not None:
            await self._writer

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(0)  # lets every task that is ready in this loop iteration join the batch
                await self._carry_out(self._next_batch())
        finally:
            self._writer = None

    def _next_batch(self) -> list[tuple[Intent, asyncio.Future[Any]]]:
        """At least one intent, and as many as fit the weight limit."""
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
            if answer.done():  # its caller was cancelled; the change is committed
                continue
            if isinstance(outcome, BaseException):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    async def _outcomes(self, batch: Sequence[Intent], reruns: int = 1) -> list[Any]:
        """One outcome per intent. A conflict reruns the batch, then halves it; halving finds a poisoned intent."""
        try:
            return list(await self._run(batch))
        except TransactionConflict as conflict:
            if reruns:
                return await self._outcomes(batch, reruns - 1)
            trouble: Exception = conflict
        except LedgerError as failure:
            return [type(failure)(*failure.args) for _ in batch]
        except Exception as poison:  # noqa: BLE001  # any error: halving makes it fail alone
            trouble = poison
        if self._hands_on:
            return [None for _ in batch]
        if len(batch) == 1:
            return [single_intent_error(trouble)]
        middle = len(batch) // 2
        return [*await self._outcomes(batch[:middle]), *await self._outcomes(batch[middle:])]


def single_intent_error(error: Exception) -> LedgerError:
    """The error for a caller whose intent failed as a batch of one."""
    failure = error if isinstance(error, LedgerError) else _named(error)
    if failure is not error:
        failure.__cause__ = error
    return failure


def _named(error: Exception) -> LedgerError:
    if isinstance(error, TransactionConflict):
        return Busy(f"kept conflicting with other transactions: {error}")
    return Rejected(f"{type(error).__name__}: {error}")
