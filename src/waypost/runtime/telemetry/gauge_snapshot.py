"""The gauges, set from the latest survey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from prometheus_client import Gauge

from waypost.model.queue_stats import QueueSurvey
from waypost.model.time import Instant, as_seconds


class GaugeLevels(Protocol):
    queued: Gauge
    age: Gauge
    oldest: Gauge
    later: Gauge
    quota_used: Gauge
    quota_limit: Gauge
    gates: Gauge
    backlog: Gauge
    longest_held: Gauge
    oldest_due: Gauge
    files: Gauge
    oldest_file: Gauge


class GaugeSnapshot:
    def __init__(self, levels: GaugeLevels) -> None:
        self._levels = levels
        self._shown: dict[Gauge, set[tuple[str, ...]]] = {}

    def show(self, survey: QueueSurvey, now: Instant) -> None:
        levels = self._levels
        ages = {(w.org_id, w.reason): _age(w.oldest_at, now) for w in survey.waiting}
        self._set(levels.queued, {(w.org_id, w.reason): w.messages for w in survey.waiting})
        self._set(levels.age, ages)
        levels.oldest.set(max(ages.values(), default=0))
        levels.later.set(survey.later)
        self._set(levels.quota_used, {(quota.org_id,): quota.used for quota in survey.quotas})
        self._set(levels.quota_limit, {(quota.org_id,): quota.most for quota in survey.quotas})
        self._set(levels.gates, {(closed.kind, closed.code): closed.gates for closed in survey.closed})
        levels.backlog.set(survey.turns.backlog)
        levels.longest_held.set(_age(survey.turns.first_claimed_at or now, now))
        levels.oldest_due.set(_age(survey.turns.first_due_at or now, now))
        levels.files.set(survey.media.files)
        levels.oldest_file.set(_age(survey.media.first_due_at or now, now))

    def _set(self, gauge: Gauge, found: Mapping[Any, float]) -> None:
        """By labels. A series that is gone is set to 0, since series shared by processes cannot be removed."""
        for labels in self._shown.get(gauge, set()) - found.keys():
            gauge.labels(*labels).set(0)
        for labels, level in found.items():
            gauge.labels(*labels).set(level)
        self._shown[gauge] = set(found)


def _age(since: Instant, now: Instant) -> float:
    return max(0.0, as_seconds(now - since))
