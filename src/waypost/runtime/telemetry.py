"""Figures and logs: counted once, around the ports, from what the ports answer."""

from __future__ import annotations

import logging
import os
import sys
from collections import deque
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.process_collector import ProcessCollector

from waypost.model.message import Channel, Delivery, Status
from waypost.model.report import Post
from waypost.model.time import Instant, as_seconds
from waypost.ports.journal import Journal, Orphans, Taken
from waypost.ports.outbox import Outbox, Patience, Settled, Settlement, Swept
from waypost.rules.delivery import GiveUp, TryAgain

_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
_WAITS_KEPT = 2_000


class Telemetry:
    """One server's figures, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        if not _shared():
            ProcessCollector(registry=registry)
        channel = ("channel",)
        self.success = Counter(
            "outbound_message_send_success", "Messages the provider took", channel, registry=registry
        )
        self.failure = Counter(
            "outbound_message_send_failure", "Tries that failed", ("channel", "error_code"), registry=registry
        )
        self.retry = Counter(
            "outbound_message_retry", "Tries that will be followed by another", channel, registry=registry
        )
        self.dead_letter = Counter(
            "outbound_message_dead_letter", "Messages that ended FAILED", channel, registry=registry
        )
        self.latency = Histogram(
            "outbound_message_delivery_latency_seconds",
            "From submitted to taken by the provider",
            channel,
            buckets=_LATENCIES,
            registry=registry,
        )
        self.wait = Histogram(
            "status_sync_wait_seconds", "How long callers waited for a status", buckets=_LATENCIES, registry=registry
        )
        self.timeout = Counter("status_sync_timeout", "Callers who waited in vain", registry=registry)
        self.arrival = Counter(
            "status_arrival", "Statuses by whether they came before our own settle", ("order",), registry=registry
        )
        self.unmatched = Counter("status_unmatched", "Statuses of messages not heard of yet", registry=registry)
        self.without_message = Gauge(
            "status_without_message",
            "Statuses that have waited for their message longer than the sync time",
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        self.orphaned = Counter("status_orphaned", "Statuses whose message never appeared", registry=registry)
        self.violations = Counter(
            "invariant_violation", "What must never be, and was found all the same", ("invariant",), registry=registry
        )
        self.unsure = Counter("outbound_message_unsure", "Tries nobody settled in time", ("action",), registry=registry)
        self.of_whatsapp = _Labelled(self, Channel.WHATSAPP.value.lower())
        self._waits: deque[float] = deque(maxlen=_WAITS_KEPT)

    def text(self) -> bytes:
        if not _shared():
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library has no types here
        return generate_latest(registry)

    def waited(self, seconds: float) -> None:
        self.wait.observe(seconds)
        self._waits.append(seconds)

    def wait_timed_out(self, seconds: float, longest: float) -> None:
        self.wait.observe(seconds)
        self._waits.append(longest)
        self.timeout.inc()

    def violated(self, invariant: str, subject: str) -> None:
        self.violations.labels(invariant).inc()
        structlog.get_logger("detector").warning("invariant_violation", invariant=invariant, subject=subject)

    def recent_waits(self) -> list[float]:
        return list(self._waits)

    def moved(self, before: Delivery, after: Delivery) -> None:
        if before.status in (Status.QUEUED, Status.SENDING) and after.status in (Status.SENT, Status.DELIVERED):
            self.of_whatsapp.success.inc()
        if before.status is not Status.FAILED and after.status is Status.FAILED:
            self.of_whatsapp.dead_letter.inc()


def _shared() -> bool:
    """Several processes behind one port keep their figures in one folder."""
    return "PROMETHEUS_MULTIPROC_DIR" in os.environ


class _Labelled:
    """One channel's figures, looked up once: the lookup costs more than the count."""

    def __init__(self, telemetry: Telemetry, channel: str) -> None:
        self.success = telemetry.success.labels(channel)
        self.retry = telemetry.retry.labels(channel)
        self.dead_letter = telemetry.dead_letter.labels(channel)
        self.latency = telemetry.latency.labels(channel)
        self.before = telemetry.arrival.labels("before")
        self.after = telemetry.arrival.labels("after")


def _add(counter: Counter, count: int) -> None:
    """Counting nothing costs as much as counting something."""
    if count:
        counter.inc(count)


class MeteredOutbox:
    """The outbox with its settles and sweeps counted; everything else passes through."""

    def __init__(self, outbox: Outbox, telemetry: Telemetry) -> None:
        self._outbox = outbox
        self._telemetry = telemetry
        self.submit = outbox.submit
        self.claim = outbox.claim
        self.hand_back = outbox.hand_back
        self.cancel = outbox.cancel
        self.retry = outbox.retry
        self.expire = outbox.expire
        self.replay = outbox.replay

    async def settle(self, settlement: Settlement, now: Instant) -> Settled:
        settled = await self._outbox.settle(settlement, now)
        telemetry, channel = self._telemetry, Channel.WHATSAPP.value.lower()
        telemetry.moved(settled.before, settled.delivery)
        if settled.early:
            telemetry.of_whatsapp.before.inc(settled.early)
        if not settled.held:
            return settled
        match settlement.verdict:
            case TryAgain(counts=True, code=code):
                telemetry.failure.labels(channel, code).inc()
                telemetry.of_whatsapp.retry.inc()
            case GiveUp(code=code):
                telemetry.failure.labels(channel, code).inc()
            case _:
                pass
        if settled.delivery.sent_at is not None:
            created = settlement.message.created_at
            telemetry.of_whatsapp.latency.observe(max(0.0, as_seconds(settled.delivery.sent_at - created)))
        return settled

    async def sweep(self, patience: Patience, limit: int, now: Instant) -> Swept:
        swept = await self._outbox.sweep(patience, limit, now)
        self._telemetry.unsure.labels("requeued").inc(len(swept.requeued))
        self._telemetry.unsure.labels("parked").inc(len(swept.parked))
        self._telemetry.of_whatsapp.retry.inc(len(swept.requeued))
        return swept


class MeteredJournal:
    """The journal with what webhooks changed counted."""

    def __init__(self, journal: Journal, telemetry: Telemetry) -> None:
        self._journal = journal
        self._telemetry = telemetry
        self.items = journal.items

    async def take(self, post: Post, now: Instant) -> Taken:
        taken = await self._journal.take(post, now)
        telemetry = self._telemetry
        for move in taken.moved:
            telemetry.moved(move.before, move.after)
            if move.after.status is Status.FAILED:
                code = move.after.error_code or "UNKNOWN"
                telemetry.failure.labels(Channel.WHATSAPP.value.lower(), code).inc()
        _add(telemetry.of_whatsapp.before, taken.early)
        _add(telemetry.of_whatsapp.after, taken.late)
        _add(telemetry.unmatched, taken.unmatched)
        return taken

    async def tidy(self, waiting_since: Instant, forget_before: Instant) -> Orphans:
        orphans = await self._journal.tidy(waiting_since, forget_before)
        self._telemetry.orphaned.inc(orphans.forgotten)
        self._telemetry.without_message.set(orphans.waiting)
        return orphans


def configure_logs(level: str, form: str) -> None:
    """One line per event on standard error; no secrets, because nothing that holds one is ever logged."""
    plain = structlog.dev.plain_traceback  # the other one would show the variables, and secrets among them
    text = structlog.dev.ConsoleRenderer(exception_formatter=plain)
    renderer = structlog.processors.JSONRenderer() if form == "json" else text
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_OurWay()], level=logging.WARNING, force=True)


class _OurWay(logging.Handler):
    """What libraries log, as one line of ours; how they came to an error is told only where it is not routine."""

    def emit(self, record: logging.LogRecord) -> None:
        about: dict[str, Any] = {"library": record.name}
        if record.exc_info and record.levelno >= logging.ERROR:
            about["exc_info"] = record.exc_info
        elif record.exc_info:
            about["error"] = repr(record.exc_info[1])
        structlog.get_logger().log(record.levelno, record.getMessage().strip(), **about)
