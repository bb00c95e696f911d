"""Metrics and logs, recorded around the ports from their results."""

from __future__ import annotations

import os
import time
from collections import deque

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.process_collector import ProcessCollector

from waypost.model.message import Channel, Delivery, Status
from waypost.model.queue_stats import QueueSurvey
from waypost.model.time import Instant, Span, as_seconds, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.platform.failure import HistoryUnavailable, LedgerError, Rejected
from waypost.ports.receiving.journal import AppliedWebhook, Journal, UnmatchedStatuses
from waypost.ports.sending.outbox import Outbox, Settled, Settlement, StaleLimits, SweptAttempts
from waypost.rules.operations.clock_offset import is_off
from waypost.rules.sending.delivery import GiveUp, TryAgain
from waypost.runtime.telemetry.gauge_snapshot import GaugeSnapshot
from waypost.runtime.telemetry.metrics import METRICS

_WAITS_KEPT = 2_000
_CODES_KEPT = 100
"""Most error codes with a label of their own: a misbehaving provider must not flood the metrics."""
_WARN_EVERY: Span = seconds(60)
_BACK_AFTER = 5.0
"""Seconds without a failure."""
VIOLATIONS = METRICS["violations"].name

log = structlog.get_logger("telemetry")


class Telemetry:
    """One server's metrics, in a registry of its own."""

    success: Counter
    failure: Counter
    retry: Counter
    dead_letter: Counter
    latency: Histogram
    unsure: Counter
    unknown_codes: Counter
    unreachable: Counter
    wait: Histogram
    timeout: Counter
    wamid_known: Counter
    unmatched: Counter
    without_message: Gauge
    orphaned: Counter
    violations: Counter
    ledger_failures: Counter
    clock_offset: Gauge
    alerts: Counter
    queued: Gauge
    age: Gauge
    oldest: Gauge
    later: Gauge
    quota_used: Gauge
    quota_limit: Gauge
    gates: Gauge
    inbound: Counter
    buffered: Counter
    active: Gauge
    turns: Counter
    bot_failures: Counter
    takeovers: Counter
    stale: Counter
    turn_wait: Histogram
    thinking: Histogram
    backlog: Gauge
    longest_held: Gauge
    oldest_due: Gauge
    devices: Gauge
    sent: Counter
    fetches: Counter
    files: Gauge
    oldest_file: Gauge
    redis_up: Gauge
    redis_lost: Counter
    redis_back: Counter
    history_waiting: Gauge
    history_oldest: Gauge
    history_archived_count: Counter
    history_kept_back: Counter
    history_failures: Counter
    history_forgotten: Counter
    history_pruned: Counter

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        if not _shared():
            ProcessCollector(registry=registry)
        for attribute, metric in METRICS.items():
            setattr(self, attribute, metric.made(registry))
        self.of_whatsapp = _Labelled(self, Channel.WHATSAPP.value.lower())
        self._of: dict[Channel, _Labelled] = {Channel.WHATSAPP: self.of_whatsapp}
        self.board = GaugeSnapshot(self)
        self.clock_ahead = Span(0)
        """How far this machine's clock is ahead of the Ledger's."""
        self.redis: tuple[str, bool] | None = None
        """Its kind and whether it is reachable; None without Redis."""
        self._waits: deque[float] = deque(maxlen=_WAITS_KEPT)
        self._unknown: set[str] = set()
        self._warned_at: Instant | None = None
        self._unwarned = 0
        self._history_lost = self._history_fails = self._ledger_lost = False
        self._ledger_failed_at = 0.0
        self._history_error = ""

    def text(self) -> bytes:
        return generate_latest(self._of_all())

    def _of_all(self) -> CollectorRegistry:
        """Metrics of this process, or of all processes that share a folder."""
        if not _shared():
            return self.registry
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library has no types here
        return registry

    def violations_found(self) -> dict[str, int]:
        """By invariant; reads files if processes share their metrics."""
        found = [one for metric in self._of_all().collect() if metric.name == VIOLATIONS for one in metric.samples]
        return {one.labels["invariant"]: int(one.value) for one in found if one.name.endswith("_total")}

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

    def unknown_code(self, code: str) -> None:
        if code not in self._unknown and len(self._unknown) < _CODES_KEPT:
            self._unknown.add(code)
            log.warning(
                "unknown_error_code", error_code=code, what="it is retried; the error catalogue does not list it"
            )
        self.unknown_codes.labels(code if code in self._unknown else "other").inc()

    def provider_unreachable(self, reason: str, now: Instant) -> None:
        self.unreachable.inc()
        self._unwarned += 1
        if self._warned_at is None or not 0 <= now - self._warned_at < _WARN_EVERY:
            log.warning("provider_unreachable", reason=reason, tries=self._unwarned)
            self._warned_at, self._unwarned = now, 0

    def bot_failed(self, reason: str, org: str, turn: str) -> None:
        self.bot_failures.inc()
        log.warning("bot_failed", reason=reason, org=org, turn=turn)

    def webhook_alert(self, field: str, org: str, number: str, what: str) -> None:
        self.alerts.labels(field).inc()
        log.warning("webhook_alert", field=field, org=org, number=number, what=what)

    def stale_at_start(self, turns: int) -> None:
        self.stale.inc(turns)
        if turns:
            log.warning(
                "stale_turns_at_start", turns=turns, what="the leases of their workers ended; they are taken over now"
            )

    def ledger_failed(self, failure: LedgerError) -> None:
        """A failure of the history store is not counted as one of the Ledger. The first of a streak is logged."""
        if isinstance(failure, HistoryUnavailable):
            self.history_failures.inc()
            return
        self.ledger_failures.labels(_kind(failure)).inc()
        if isinstance(failure, Rejected):  # it concerns one operation
            return
        self._ledger_failed_at = time.monotonic()
        if not self._ledger_lost:
            self._ledger_lost = True
            log.warning("ledger_lost", error=str(failure), what="requests get 503, and work waits until it is back")

    def ledger_answered(self) -> None:
        if self._ledger_lost and time.monotonic() - self._ledger_failed_at >= _BACK_AFTER:
            self._ledger_lost = False
            log.info("ledger_is_back")

    def clock_is_off(self, ahead: Span) -> None:
        was_off = is_off(self.clock_ahead)
        self.clock_ahead = ahead
        self.clock_offset.set(as_seconds(ahead))
        if is_off(ahead) and not was_off:
            log.warning("clock_is_off", seconds=as_seconds(ahead), what="nothing is decided by it; run an NTP client")

    def connected(self, devices: int) -> None:
        self.devices.set(devices)

    def sent_away(self, code: int) -> None:
        self.sent.labels(str(code)).inc()

    def redis_is(self, kind: str, *, up: bool) -> None:
        self.redis = (kind, up)
        self.redis_up.labels(kind).set(up)

    def redis_dropped(self, count: int) -> None:
        self.redis_lost.inc(count)

    def redis_came_back(self) -> None:
        self.redis_back.inc()

    def surveyed(self, survey: QueueSurvey, now: Instant) -> None:
        self.board.show(survey, now)

    def archive_waits(self, items: int, oldest: float) -> None:
        self.history_waiting.set(items)
        self.history_oldest.set(oldest)

    def archived(self, messages: int) -> None:
        _add(self.history_archived_count, messages)

    def kept_back(self, messages: int) -> None:
        self.history_kept_back.inc(messages)

    def history_failed(self, why: str) -> None:
        self.history_failures.inc()
        self._history_fails = True
        self._warn_history_lost(why)

    def history_reachable(self, trouble: str = "", *, lasting: bool = False) -> None:
        """Logs that it is back once it answers and no call has failed since the last check."""
        if trouble:
            self._warn_history_lost(trouble, lasting=lasting)
        elif self._history_lost and not self._history_fails:
            self._history_lost = False
            log.info("history_is_back")
        self._history_fails = False

    def _warn_history_lost(self, why: str, *, lasting: bool = False) -> None:
        """Warn again if, once reachable, the history store needs an operator (e.g. it belongs to another database)."""
        if not self._history_lost or (lasting and why != self._history_error):
            self._history_lost, self._history_error = True, why
            log.warning(
                "history_lost",
                error=why,
                what="messages are still sent and received, and wait in the database to be archived",
            )

    def history_forgot(self, messages: int) -> None:
        self.history_forgotten.inc(messages)
        log.warning(
            "history_forgot",
            messages=messages,
            what="the history store lost messages that it had confirmed; the database still had them and they were "
            "appended again: see `waypost doctor` about its commit log",
        )

    def bodies_emptied(self, bodies: int) -> None:
        _add(self.history_pruned, bodies)

    def of(self, channel: Channel) -> _Labelled:
        """A channel without messages has no metrics."""
        if channel not in self._of:
            self._of[channel] = _Labelled(self, channel.value.lower())
        return self._of[channel]

    def moved(self, before: Delivery, after: Delivery, channel: Channel = Channel.WHATSAPP) -> None:
        if before.status in (Status.QUEUED, Status.SENDING) and after.status in (Status.SENT, Status.DELIVERED):
            self.of(channel).success.inc()
        if before.status is not Status.FAILED and after.status is Status.FAILED:
            self.of(channel).dead_letter.inc()


def _shared() -> bool:
    """Whether several processes behind one port keep their metrics in one folder."""
    return "PROMETHEUS_MULTIPROC_DIR" in os.environ


class _Labelled:
    """One channel's metrics, looked up once: the lookup costs more than the count."""

    def __init__(self, telemetry: Telemetry, channel: str) -> None:
        self.success = telemetry.success.labels(channel)
        self.retry = telemetry.retry.labels(channel)
        self.dead_letter = telemetry.dead_letter.labels(channel)
        self.latency = telemetry.latency.labels(channel)
        self.before = telemetry.wamid_known.labels("before")
        self.after = telemetry.wamid_known.labels("after")


def _add(counter: Counter, count: int) -> None:
    """Skips zero, which would cost as much as any other count."""
    if count:
        counter.inc(count)


class MeteredOutbox:
    """Counts settles and sweeps of the outbox; passes everything else through."""

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
        telemetry, way = self._telemetry, settlement.message.channel
        channel, labelled = way.value.lower(), telemetry.of(way)
        telemetry.moved(settled.before, settled.delivery, way)
        if settled.early:
            labelled.before.inc(settled.early)
        if not settled.held:
            return settled
        match settlement.verdict:
            case TryAgain(counts=True, code=code):
                telemetry.failure.labels(channel, code).inc()
                labelled.retry.inc()
            case GiveUp(code=code):
                telemetry.failure.labels(channel, code).inc()
            case _:
                pass
        if settled.delivery.sent_at is not None:
            created = settlement.message.created_at
            labelled.latency.observe(max(0.0, as_seconds(settled.delivery.sent_at - created)))
        return settled

    async def sweep(self, patience: StaleLimits, limit: int, now: Instant) -> SweptAttempts:
        swept = await self._outbox.sweep(patience, limit, now)
        self._telemetry.unsure.labels("requeued").inc(len(swept.requeued))
        self._telemetry.unsure.labels("parked").inc(len(swept.parked))
        self._telemetry.of_whatsapp.retry.inc(len(swept.requeued))
        return swept


class MeteredJournal:
    """Counts what webhooks changed."""

    def __init__(self, journal: Journal, telemetry: Telemetry) -> None:
        self._journal = journal
        self._telemetry = telemetry
        self.items = journal.items
        self.find = journal.find
        self.act = journal.act
        self.forget = journal.forget

    async def apply_webhook(self, post: WebhookBatch, now: Instant) -> AppliedWebhook:
        taken = await self._journal.apply_webhook(post, now)
        telemetry = self._telemetry
        for move in taken.moved:
            telemetry.moved(move.before, move.after)
            if move.after.status is Status.FAILED:
                code = move.after.error_code or "UNKNOWN"
                telemetry.failure.labels(Channel.WHATSAPP.value.lower(), code).inc()
        _add(telemetry.of_whatsapp.before, taken.early)
        _add(telemetry.of_whatsapp.after, taken.late)
        _add(telemetry.unmatched, taken.unmatched)
        _add(telemetry.inbound, taken.arrived)
        _add(telemetry.buffered, taken.buffered)
        return taken

    async def tidy(self, waiting_since: Instant, forget_before: Instant) -> UnmatchedStatuses:
        orphans = await self._journal.tidy(waiting_since, forget_before)
        self._telemetry.orphaned.inc(orphans.forgotten)
        self._telemetry.without_message.set(orphans.waiting)
        return orphans


def _kind(failure: LedgerError) -> str:
    """As the port names it; an adapter may be more precise."""
    port = LedgerError.__module__
    return next(each.__name__.lower() for each in type(failure).__mro__ if each.__module__ == port)
