"""What the rules before a send cost: sending with all on against all off, and a batch against single creates."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

import uvloop

from bench.peers import database, provider
from bench.peers.provider import Provider
from bench.table import Line
from bench.waypost_send import NUMBERS, ORG, draft, opened, store
from waypost.flow.sending import submit
from waypost.flow.sending.deliver import DeliveryWorker
from waypost.flow.world import World
from waypost.model.gate import GateClosing, GateKind
from waypost.model.time import Instant, minutes, seconds
from waypost.model.webhook import WebhookBatch
from waypost.rules.limits.gates import of_template
from waypost_testing.contracts.examples import an_inbound

MANY = 1_000_000
SINGLES, BATCH = 300, 1000


async def _open_windows(world: World, count: int) -> None:
    """Every customer has written; and a gate or two stand beside the way."""
    at = Instant(world.clock.now() - minutes(5))
    drafts = [draft(number) for number in range(count)]
    for start in range(0, count, 500):
        wrote = [an_inbound(d.recipient, at, d.sender, org_id=d.org_id) for d in drafts[start : start + 500]]
        await world.ledger.journal.apply_webhook(WebhookBatch([], [], wrote), world.clock.now())
    for template in ("paused", "flagged"):
        name = of_template("w", template)
        closing = GateClosing(org_id=ORG, name=name, kind=GateKind.HOLD, code="132015", reason="paused")
        await world.ledger.gates.close(closing, world.clock.now())


async def _sent(url: str, to: Provider, count: int, *, on: bool) -> float:
    """Messages a second, through claim, call and settle."""
    rules = {"quota": MANY, "window": "enforce"} if on else {}
    async with opened(url, to, 256, 256, **rules) as world:  # type: ignore[arg-type]  # each to its own
        if on:
            await _open_windows(world, count)
        await store(world, 0, count)
        to.reset()
        courier, started = DeliveryWorker(world), time.monotonic()
        running = asyncio.create_task(courier.run())
        seen = await asyncio.to_thread(to.wait, count, 120.0)
        await courier.stop(seconds(10))
        await running
        return count / (seen.last - started)


async def _fresh(url: str | None, to: Provider, count: int, *, on: bool) -> float:
    if url is not None:
        async with database.fresh(url, "bench_rules") as own:
            return await _sent(own, to, count, on=on)
    with tempfile.TemporaryDirectory() as folder:
        return await _sent(f"sqlite:///{Path(folder) / 'bench.db'}", to, count, on=on)


def _request(name: str, number: int) -> submit.SubmitRequest:
    return submit.SubmitRequest(
        channel="WHATSAPP",
        to=f"+4915{number:08d}",
        sender=NUMBERS[0],
        template=None,
        subject=None,
        payload={"text": f"Your order {number} is on its way, it arrives tomorrow."},
        dossier_id=None,
        idempotency_key=f"{name}-{number}",
        priority=5,
        scheduled_at=None,
        expires_at=None,
        ordered=False,
        max_attempts=5,
    )


async def _creates(url: str | None, to: Provider) -> tuple[float, float]:
    """One after the other, and a thousand at once: messages stored a second."""
    with tempfile.TemporaryDirectory() as folder:
        async with opened(url or f"sqlite:///{Path(folder) / 'bench.db'}", to, 256, 256) as world:
            started = time.perf_counter()
            for number in range(SINGLES):
                await submit.submit(_request("single", number), ORG, world)
            singles = SINGLES / (time.perf_counter() - started)
            rates = []
            for batch in range(3):
                started = time.perf_counter()
                wishes = [_request(f"batch-{batch}", number) for number in range(BATCH)]
                await asyncio.gather(*(submit.submit(wish, ORG, world) for wish in wishes))
                rates.append(BATCH / (time.perf_counter() - started))
            return singles, median(rates)


async def _creates_on_postgres(url: str, to: Provider) -> tuple[float, float]:
    async with database.fresh(url, "bench_creates") as own:
        return await _creates(own, to)


def measure(url: str, rounds: int, count: int) -> list[Line]:
    lines = []
    with provider.running() as to:
        for name, place in (("PostgreSQL", url), ("SQLite", None)):
            rates: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(rounds):
                for on, found in rates.items():
                    found.append(uvloop.run(_fresh(place, to, count, on=on)))
            off, on_ = median(rates[False]), median(rates[True])
            lines.append(Line("rules", f"all rules off, {name}", off, "messages/s", 1.0, f"rules off, {name}"))
            lines.append(
                Line("rules", f"all rules on, {name}", on_, "messages/s", on_ / off, f"rules off, {name}", 0.8)
            )
            work = _creates_on_postgres(url, to) if place else _creates(None, to)
            single, batch = uvloop.run(work)
            lines.append(Line("rules", f"creates, one by one, {name}", single, "messages/s", 1.0, f"single, {name}"))
            told = f"creates, {BATCH:,} at once, {name}"
            lines.append(Line("rules", told, batch, "messages/s", batch / single, f"single, {name}", 10.0))
    return lines
