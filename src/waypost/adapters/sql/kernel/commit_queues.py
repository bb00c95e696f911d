"""All writes of one process, in four commit queues: the full path through the kernel, and the fast paths."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from waypost.adapters.sql.engine.engine import CommitQueue
from waypost.adapters.sql.engine.group_commit import GroupCommit
from waypost.adapters.sql.engine.plan import Plan
from waypost.adapters.sql.kernel import fast_settle, fast_statuses
from waypost.adapters.sql.kernel.apply_webhook import ApplyWebhook
from waypost.adapters.sql.kernel.intent import Intent
from waypost.adapters.sql.kernel.kernel import Decided, decide_together
from waypost.adapters.sql.kernel.outbox_intents import Settle
from waypost.model.ids import OrgId
from waypost.ports.receiving.journal import AppliedWebhook
from waypost.ports.sending.outbox import Settled

T = TypeVar("T")


InboundAddressKey: TypeAlias = tuple[OrgId, str]
Heads: TypeAlias = Callable[[Mapping[str, int]], None]
"""Called after every commit that added feed items, with the new head of each feed."""


class Run(Protocol):
    def __call__(self, queue: CommitQueue, plan: Plan[T], /) -> Awaitable[T]:
        """Run a plan on the engine; raises TransactionConflict, a LedgerError, or an intent's own error."""


@dataclass(frozen=True, slots=True)
class FastPaths:
    """Each returns one answer per intent, or None if it needs the full path; an engine may bring faster ones."""

    accept: Callable[[Sequence[Settle]], Plan[list[Settled | None]]] = fast_settle.settle_fast
    statuses: Callable[[Sequence[ApplyWebhook]], Plan[list[AppliedWebhook | None]]] = fast_statuses.apply_statuses_fast
    arrive: Callable[[Sequence[ApplyWebhook], Container[InboundAddressKey]], Plan[Decided]] | None = None
    """Inbound messages in order, and the addresses that already have a message on the full path."""


class Writer:
    def __init__(self, run: Run, fast_paths: FastPaths | None = None) -> None:
        fast = fast_paths or FastPaths()
        self.heads: Heads = lambda _: None
        self._full: GroupCommit[Intent] = GroupCommit(
            lambda i: self._publish_heads(run(CommitQueue.FULL, decide_together(i))), weight=_weight
        )
        self._accepts: GroupCommit[Settle] = GroupCommit(lambda i: run(CommitQueue.ACCEPT, fast.accept(i)))
        self._statuses: GroupCommit[ApplyWebhook] = GroupCommit(
            lambda i: run(CommitQueue.REPORT, fast.statuses(i)), weight=_weight
        )
        self._inbound: GroupCommit[ApplyWebhook] | None = None
        if arrive := fast.arrive:
            self._inbound = GroupCommit(
                lambda i: self._publish_heads(run(CommitQueue.ARRIVE, arrive(i, self._detours))),
                weight=_weight,
                hands_on=True,
            )
        self._detours: Counter[InboundAddressKey] = Counter()
        """Addresses with a message on the full path: their next messages must not overtake it."""

    async def _publish_heads(self, running: Awaitable[Decided]) -> list[Any]:
        decided = await running
        if decided.heads:
            self.heads(decided.heads)
        return decided.answers

    async def decide(self, intent: Intent) -> Any:
        """Return the intent's answer after its batch has committed."""
        return await self._full.do(intent)

    async def settle(self, intent: Settle) -> Settled:
        """Take the fast path if it applies, else the full path."""
        settled: Settled | None = await self._accepts.do(intent) if fast_settle.is_fast_settle(intent) else None
        if settled is None:
            settled = await self._full.do(intent)
        return settled

    async def apply_webhook(self, intent: ApplyWebhook) -> AppliedWebhook:
        """Take the fast path if it applies, else the full path."""
        if self._inbound is not None and intent.post.inbound:
            return await self._inbound.do(intent) or await self._detour(intent)
        applied: AppliedWebhook | None = (
            await self._statuses.do(intent) if fast_statuses.is_fast_status(intent) else None
        )
        if applied is None:
            applied = await self._full.do(intent)
        return applied

    async def _detour(self, intent: ApplyWebhook) -> AppliedWebhook:
        """Take the full path; the address stays marked until the message is stored, even if the caller is cancelled."""
        storing = self._full.enqueue(intent)
        addresses = {(inbound.org_id, address) for inbound in intent.post.inbound for address in inbound.addresses}
        self._detours.update(addresses)
        storing.add_done_callback(lambda _: self._arrived(addresses))
        applied: AppliedWebhook = await asyncio.shield(storing)
        return applied

    def _arrived(self, addresses: Set[InboundAddressKey]) -> None:
        self._detours.subtract(addresses)
        for name in addresses:
            if not self._detours[name]:
                del self._detours[name]

    async def close(self) -> None:
        """Finish the queued intents; a fast path may still pass some on to the full path, so that closes last."""
        await self._accepts.close()
        await self._statuses.close()
        if self._inbound is not None:
            await self._inbound.close()
        await self._full.close()


def _weight(intent: Intent) -> int:
    """A POST may carry a thousand items; every other intent counts as one."""
    if not isinstance(intent, ApplyWebhook):
        return 1
    return 1 + len(intent.post.statuses) + len(intent.post.items) + len(intent.post.inbound)
