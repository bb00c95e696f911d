"""Every metric: its name, its labels and what it counts."""

from __future__ import annotations

from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
_CHANNEL = ("channel",)


class CounterSpec(NamedTuple):
    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Counter:
        return Counter(self.name, self.about, self.labels, registry=registry)


class HistogramSpec(NamedTuple):
    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Histogram:
        return Histogram(self.name, self.about, self.labels, buckets=_LATENCIES, registry=registry)


class LatestGaugeSpec(NamedTuple):
    """A value that all processes see alike: the latest one counts."""

    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.about, self.labels, registry=registry, multiprocess_mode="mostrecent")


class SumGaugeSpec(NamedTuple):
    """A value of each process: the sum over live processes."""

    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.about, self.labels, registry=registry, multiprocess_mode="livesum")


class MinGaugeSpec(NamedTuple):
    """A value that one process can spoil for all: the least of live processes."""

    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.about, self.labels, registry=registry, multiprocess_mode="livemin")


METRICS: dict[str, CounterSpec | HistogramSpec | LatestGaugeSpec | SumGaugeSpec | MinGaugeSpec] = {
    "success": CounterSpec("outbound_message_send_success", "Messages the provider accepted", _CHANNEL),
    "failure": CounterSpec("outbound_message_send_failure", "Failed attempts", ("channel", "error_code")),
    "retry": CounterSpec("outbound_message_retry", "Failed attempts that will be retried", _CHANNEL),
    "dead_letter": CounterSpec("outbound_message_dead_letter", "Messages that became FAILED", _CHANNEL),
    "latency": HistogramSpec(
        "outbound_message_delivery_latency_seconds", "Time from submission to acceptance by the provider", _CHANNEL
    ),
    "unsure": CounterSpec("outbound_message_unsure", "Attempts that were not settled in time", ("action",)),
    "unknown_codes": CounterSpec(
        "outbound_unknown_error_code", "Error codes that the catalogue does not list", ("error_code",)
    ),
    "unreachable": CounterSpec(
        "outbound_provider_unreachable", "Attempts that did not reach the provider or got no answer"
    ),
    "wait": HistogramSpec("status_sync_wait_seconds", "Time that callers waited for a status"),
    "timeout": CounterSpec("status_sync_timeout", "Waits for a status that timed out"),
    "wamid_known": CounterSpec(
        "status_arrival", "Status updates, by whether they came before the send was settled", ("order",)
    ),
    "unmatched": CounterSpec("status_unmatched", "Status updates whose message is not known yet"),
    "without_message": LatestGaugeSpec(
        "status_without_message", "Status updates that have waited for their message longer than the sync timeout"
    ),
    "orphaned": CounterSpec("status_orphaned", "Status updates whose message never appeared"),
    "violations": CounterSpec("invariant_violation", "Invariant violations found in live data", ("invariant",)),
    "ledger_failures": CounterSpec("ledger_failure", "Ledger calls that failed, by reason", ("reason",)),
    "clock_offset": LatestGaugeSpec(
        "waypost_clock_offset_seconds",
        "How far this machine's clock is ahead of the Ledger's; negative: behind",
    ),
    "alerts": CounterSpec("webhook_alert", "Account updates from the provider that need attention", ("field",)),
    "queued": LatestGaugeSpec(
        "outbound_queue_messages", "Due messages, by org and by what defers them", ("org", "reason")
    ),
    "age": LatestGaugeSpec("outbound_queue_age_seconds", "Age of the oldest of them", ("org", "reason")),
    "oldest": LatestGaugeSpec("outbound_queue_oldest_seconds", "The highest of those ages"),
    "later": LatestGaugeSpec("outbound_later_messages", "Messages scheduled for later"),
    "quota_used": LatestGaugeSpec(
        "outbound_quota_used", "Messages sent of an org's quota, for the orgs closest to their limit", ("org",)
    ),
    "quota_limit": LatestGaugeSpec("outbound_quota_limit", "Those orgs' quotas", ("org",)),
    "inbound": CounterSpec("inbound_message", "Inbound messages stored"),
    "buffered": CounterSpec("turn_buffered", "Inbound messages that arrived while their turn was running"),
    "active": SumGaugeSpec("turns_active", "Turns running in this process"),
    "turns": CounterSpec("turn", "Turns that ended: answered, silent, handed_over or failed", ("state",)),
    "bot_failures": CounterSpec("turn_failure", "Attempts of turns that got no answer from the bot"),
    "takeovers": CounterSpec("turn_takeover", "Turns taken over from a worker whose lease ended"),
    "stale": CounterSpec("turn_stale_at_start", "Turns of dead workers, found at the start of this one"),
    "turn_wait": HistogramSpec("turn_wait_seconds", "Time from due to claimed"),
    "thinking": HistogramSpec("turn_think_seconds", "Time from claimed to answered or failed"),
    "backlog": LatestGaugeSpec("turn_backlog", "Due turns that no worker has claimed"),
    "longest_held": LatestGaugeSpec("turn_longest_held_seconds", "How long the oldest running turn has been held"),
    "oldest_due": LatestGaugeSpec("turn_oldest_due_seconds", "How long the oldest of the backlog has been due"),
    "devices": SumGaugeSpec("live_connections", "Devices connected to this process"),
    "sent": CounterSpec("live_closed", "Connections the server closed, by close code", ("code",)),
    "fetches": CounterSpec(
        "media_fetch", "Downloads of customers' files: stored, failed or to be retried", ("outcome",)
    ),
    "files": LatestGaugeSpec("media_waiting", "Customers' files waiting to be downloaded"),
    "oldest_file": LatestGaugeSpec("media_oldest_due_seconds", "How long the oldest of them has been due"),
    "redis_up": MinGaugeSpec("waypost_redis_up", "Whether Redis is reachable; absent without Redis", ("kind",)),
    "redis_lost": CounterSpec("waypost_redis_dropped", "Wake-ups and counters that did not reach Redis"),
    "redis_back": CounterSpec("waypost_redis_reconnects", "Reconnections to Redis"),
    "history_waiting": LatestGaugeSpec(
        "history_waiting_items", "Feed items waiting to be archived in the history store"
    ),
    "history_oldest": LatestGaugeSpec("history_oldest_seconds", "How long the oldest of them has waited"),
    "history_archived_count": CounterSpec("history_archived", "Messages archived in the history store"),
    "history_kept_back": CounterSpec(
        "history_too_large", "Messages too large for the history store, which stay in the database"
    ),
    "history_failures": CounterSpec("history_failure", "Failed reads and writes of the history store"),
    "history_forgotten": CounterSpec(
        "history_forgotten", "Messages that the history store confirmed and lost; they were appended again"
    ),
    "history_pruned": CounterSpec("history_bodies_pruned", "Archived bodies removed from the database"),
    "gates": LatestGaugeSpec("outbound_gates_closed", "Closed gates: throttle, hold or breaker", ("kind", "code")),
}
"""By the attribute of Telemetry that holds the metric."""
