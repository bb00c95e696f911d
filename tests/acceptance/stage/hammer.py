"""One of several processes that hammer the same hot rows until SIGTERM; test_hot_rows.py starts, pauses and kills them.

    python hammer.py LEDGER NAME FOLDER

It writes a dot to FOLDER/NAME.progress for each intent that the Ledger has acknowledged, and a line to
FOLDER/NAME.calls for each message that it hands to the provider, which is only that file.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from waypost.adapters.local.clock import SystemClock
from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.postgres.fast_paths import FAST_PATHS
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.model.ids import Wamid, WorkerId
from waypost.model.message import ClaimedMessage
from waypost.model.webhook import WebhookBatch
from waypost.ports.platform.failure import Busy, LedgerError
from waypost.ports.sending.outbox import Demand, Settlement
from waypost.rules.sending.delivery import Accept
from waypost_testing.contracts.examples import a_draft, a_report

HANDS = 3
RECIPIENTS = [f"+491510000000{n}" for n in range(3)]
PAUSE = 0.02

T = TypeVar("T")


async def open_ledger(ledger: str) -> SqlLedger:
    if ledger.startswith("postgresql:"):
        return SqlLedger(await PostgresEngine.open(ledger), FAST_PATHS)
    return SqlLedger(ThreadedEngine(Path(ledger), SystemClock().now))


class Hammer:
    def __init__(self, ledger: SqlLedger, name: str, folder: Path) -> None:
        self._ledger = ledger
        self._name = name
        self._now = SystemClock().now
        self._keys = itertools.count()
        self._progress = os.open(folder / f"{name}.progress", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._calls = os.open(folder / f"{name}.calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.stopping = asyncio.Event()

    async def work(self, hand: int) -> None:
        owner = WorkerId(f"{self._name}-{hand}")
        while not self.stopping.is_set():
            await self._submit(next(self._keys))
            for claimed in await self._claim(owner):
                await self._deliver(claimed)

    async def _submit(self, n: int) -> None:
        """Every process submits the same keys, half of them into the same three queues."""
        ordered = n % 2 == 0
        draft = a_draft(key=f"key-{n}", content=str(n), recipient=RECIPIENTS[n % 3], ordered=ordered)
        await self._insist(lambda: self._ledger.outbox.submit(draft, self._now()))

    async def _claim(self, owner: WorkerId) -> list[ClaimedMessage]:
        try:
            batch = await self._ledger.outbox.claim(Demand(owner=owner, slots=2), self._now())
        except Busy:
            return []
        except LedgerError:  # it may have committed without our hearing of it
            await self._insist(lambda: self._ledger.outbox.hand_back(owner, [], self._now()))
            return []
        os.write(self._progress, b".")
        return list(batch.claimed)

    async def _deliver(self, message: ClaimedMessage) -> None:
        wamid = Wamid(f"wamid-{message.id}-{message.fence}")
        call = {"id": message.id, "queue": message.queue_id, "start": time.monotonic_ns()}
        await asyncio.sleep(0)  # the provider's answer
        os.write(self._calls, json.dumps({**call, "end": time.monotonic_ns()}).encode() + b"\n")
        settlement = Settlement(message=message, verdict=Accept(wamid, "{}"))
        echo = message if message.id % 2 else None
        sent, delivered, read = (
            a_report(kind, wamid, echo=echo, at=self._now(), recipient=message.recipient)
            for kind in ("sent", "delivered", "read")
        )
        await asyncio.gather(
            self._insist(lambda: self._ledger.outbox.settle(settlement, self._now())),
            self._insist(lambda: self._ledger.journal.apply_webhook(WebhookBatch([read, sent], []), self._now())),
            self._insist(lambda: self._ledger.journal.apply_webhook(WebhookBatch([sent, delivered], []), self._now())),
        )

    async def _insist(self, action: Callable[[], Awaitable[T]]) -> T:
        """Until the Ledger has it."""
        while True:
            try:
                answer = await action()
            except LedgerError:
                await asyncio.sleep(PAUSE)
            else:
                os.write(self._progress, b".")
                return answer


async def main(address: str, name: str, folder: Path) -> None:
    ledger = await open_ledger(address)
    hammer = Hammer(ledger, name, folder)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, hammer.stopping.set)
    await asyncio.gather(*(hammer.work(hand) for hand in range(HANDS)))
    await ledger.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
