"""Every metric: its name, its labels and what it counts. `runtime/telemetry.py` does the counting."""

from __future__ import annotations

from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
_CHANNEL = ("channel",)


class Count(NamedTuple):
    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Counter:
        return Counter(self.name, self.about, self.labels, registry=registry)


class Times(NamedTuple):
    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Histogram:
        return Histogram(self.name, self.about, self.labels, buckets=_LATENCIES, registry=registry)


class Level(NamedTuple):
    """What everybody sees alike: of several processes, whoever looked last is right."""

    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.about, self.labels, registry=registry, multiprocess_mode="mostrecent")


class Share(NamedTuple):
    """What each process has of it: of several processes, the sum of those that live."""

    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.about, self.labels, registry=registry, multiprocess_mode="livesum")


class Worst(NamedTuple):
    """What one process lacks, all lack: of several processes, the least of those that live."""

    name: str
    about: str
    labels: tuple[str, ...] = ()

    def made(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.about, self.labels, registry=registry, multiprocess_mode="livemin")


METRICS: dict[str, Count | Times | Level | Share | Worst] = {
    "success": Count("outbound_message_send_success", "Messages the provider took", _CHANNEL),
    "failure": Count("outbound_message_send_failure", "Tries that failed", ("channel", "error_code")),
    "retry": Count("outbound_message_retry", "Tries that will be followed by another", _CHANNEL),
    "dead_letter": Count("outbound_message_dead_letter", "Messages that ended FAILED", _CHANNEL),
    "latency": Times("outbound_message_delivery_latency_seconds", "From submitted to taken by the provider", _CHANNEL),
    "unsure": Count("outbound_message_unsure", "Tries nobody settled in time", ("action",)),
    "unknown_codes": Count("outbound_unknown_error_code", "Errors that the catalogue does not list", ("error_code",)),
    "unreachable": Count("outbound_provider_unreachable", "Tries that found no provider, or got no answer"),
    "wait": Times("status_sync_wait_seconds", "How long callers waited for a status"),
    "timeout": Count("status_sync_timeout", "Callers who waited in vain"),
    "arrival": Count("status_arrival", "Statuses by whether they came before our own settle", ("order",)),
    "unmatched": Count("status_unmatched", "Statuses of messages not heard of yet"),
    "without_message": Level(
        "status_without_message", "Statuses that have waited for their message longer than the sync time"
    ),
    "orphaned": Count("status_orphaned", "Statuses whose message never appeared"),
    "violations": Count("invariant_violation", "What must never be, and was found all the same", ("invariant",)),
    "ledger_failures": Count("ledger_failure", "What was asked of the Ledger and not done, by why", ("reason",)),
    "alerts": Count("webhook_alert", "What the provider told of an account that a person should know", ("field",)),
    "queued": Level("outbound_queue_messages", "Due messages, by org and what they wait for", ("org", "reason")),
    "age": Level("outbound_queue_age_seconds", "How long the next of them has been due", ("org", "reason")),
    "oldest": Level("outbound_queue_oldest_seconds", "The largest of those ages"),
    "later": Level("outbound_later_messages", "Messages that wait for their time"),
    "quota_used": Level("outbound_quota_used", "Messages sent of an org's quota, the fullest orgs", ("org",)),
    "quota_limit": Level("outbound_quota_limit", "Those orgs' quotas", ("org",)),
    "inbound": Count("inbound_message", "Messages of customers that were stored"),
    "buffered": Count("turn_buffered", "Of them, those that found their customer's turn taken"),
    "active": Share("turns_active", "Turns under way in this process"),
    "turns": Count("turn", "Turns that ended: answered, silent, handed_over or failed", ("state",)),
    "bot_failures": Count("turn_failure", "Turns that got no answer from the bot, each try"),
    "takeovers": Count("turn_takeover", "Turns taken over from a worker that fell silent"),
    "stale": Count("turn_stale_at_start", "Turns of workers that had fallen silent, found when this one started"),
    "turn_wait": Times("turn_wait_seconds", "From due to claimed"),
    "thinking": Times("turn_think_seconds", "From claimed to answered, or to the try's failure"),
    "backlog": Level("turn_backlog", "Turns that are due and that nobody has taken"),
    "longest_held": Level("turn_longest_held_seconds", "How long the turn that was taken first has been held"),
    "oldest_due": Level("turn_oldest_due_seconds", "How long the first of the backlog has been due"),
    "devices": Share("live_connections", "Devices that are connected to this process"),
    "sent": Count("live_closed", "Connections that were closed by us, by their close code", ("code",)),
    "fetches": Count("media_fetch", "Fetches of customers' files: stored, failed, or to be tried again", ("outcome",)),
    "files": Level("media_waiting", "Customers' files that are still to be fetched"),
    "oldest_file": Level("media_oldest_due_seconds", "How long the first of them has been due"),
    "redis_up": Worst("waypost_redis_up", "Whether Redis can be reached; absent where there is none", ("kind",)),
    "redis_lost": Count("waypost_redis_dropped", "Wake-ups and counters that did not reach Redis"),
    "redis_back": Count("waypost_redis_reconnects", "Times that Redis was lost and found again"),
    "log_waiting": Level("log_waiting_items", "Items of feeds that are still to be handed over to the Log"),
    "log_oldest": Level("log_oldest_seconds", "How long the first of them has waited"),
    "log_handed": Count("log_handed_over", "Messages that the Log took"),
    "log_kept_back": Count("log_too_large", "Messages that are too large for the Log, and stay in the database"),
    "log_failures": Count(
        "log_failure", "Times that the Log did not take what it was handed, or did not give what somebody asked for"
    ),
    "log_emptied": Count("log_bodies_emptied", "Bodies that are no longer in the database, only in the Log"),
    "gates": Level("outbound_gates_closed", "Closed gates: throttle, hold or breaker", ("kind", "code")),
}
"""By the attribute of Telemetry that holds it."""
