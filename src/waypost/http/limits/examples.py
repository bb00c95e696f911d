"""Examples of responses of the quota, gate, window and statistics routes."""

from __future__ import annotations

from typing import Any

from litestar.openapi.spec import Example

_QUOTA: dict[str, Any] = {
    "messagesSent": 400,
    "quotaLimit": 5000,
    "remainingQuota": 4600,
    "resetAt": "2026-11-16T08:00:00Z",
    "throttled": False,
    "throttledUntil": None,
}
_GATE: dict[str, Any] = {
    "id": 3,
    "name": "number:106540352242922",
    "kind": "throttle",
    "code": "130429",
    "reason": "Rate limit hit",
    "since": "2026-11-15T09:30:00Z",
    "until": "2026-11-15T09:31:00Z",
    "waiting": 250,
    "remedy": None,
}
_WINDOW: dict[str, Any] = {
    "phoneNumber": "+15550001111",
    "from": "106540352242922",
    "open": True,
    "windowOpensAt": "2026-11-15T08:00:00Z",
    "windowExpiresAt": "2026-11-16T08:10:00Z",
    "lastInboundMessageAt": "2026-11-15T08:10:00Z",
    "lastOutboundMessageAt": "2026-11-15T09:30:00.120000Z",
}
_SPENT: dict[str, Any] = {"currency": "EUR", "messages": 1210, "unpriced": 0, "amount": "55.176"}
_STATS: dict[str, Any] = {
    "counts": {"QUEUED": 3, "SENDING": 1, "SENT": 20, "DELIVERED": 1210, "FAILED": 4, "CANCELLED": 2},
    "lookedAt": 1240,
    "retriesByAttempt": {"2": 12, "3": 2},
    "queuedToSentSeconds": {"count": 1230, "p50": 0.09, "p95": 0.4, "p99": 61.2},
    "sentToDeliveredSeconds": {"count": 1210, "p50": 1.1, "p95": 4.0, "p99": 30.5},
    "spend": {
        "from": "2026-11-01",
        "byDay": [_SPENT | {"key": "2026-11-15"}],
        "byCategory": [_SPENT | {"key": "utility"}],
        "byTemplate": [_SPENT | {"key": "order_confirmation"}],
        "byDossier": [_SPENT | {"key": None}],
    },
}
QUOTA_EXAMPLES = [Example(id="quota", summary="5000 in 24 hours", value={"quotaLimit": 5000})]
_OUTBOUND = "/api/v1/outbound"
ANSWERS: dict[tuple[str, str, str], Any] = {
    (_OUTBOUND + "/quota", "get", "200"): _QUOTA,
    (_OUTBOUND + "/quota", "put", "200"): _QUOTA,
    (_OUTBOUND + "/gates", "get", "200"): {"content": [_GATE]},
    (_OUTBOUND + "/gates/{gate_id}/release", "post", "200"): _GATE | {"waiting": 0},
    (_OUTBOUND + "/session-windows/{phone}", "get", "200"): _WINDOW,
    (_OUTBOUND + "/stats", "get", "200"): _STATS,
}
