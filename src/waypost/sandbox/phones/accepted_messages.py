"""Messages that the sandbox has accepted, and their status webhooks."""

from __future__ import annotations

import base64
from typing import Any, Literal

import msgspec

from waypost.model.time import Instant, Span
from waypost.sandbox.content.recipients import Recipient, user_id_of
from waypost.sandbox.edge.graph_errors import webhook_error
from waypost.sandbox.faults import Fault
from waypost.sandbox.phones.contacts import SandboxProfile
from waypost.sandbox.settings import SandboxTiming
from waypost.sandbox.store.numbers import SandboxNumber

SandboxStatus = Literal["accepted", "sent", "delivered", "read", "failed"]
RANK: dict[SandboxStatus, int] = {"accepted": 0, "sent": 1, "failed": 2, "delivered": 3, "read": 4}


class AcceptedMessage(msgspec.Struct):
    """An accepted message; only `status` and `waiting` change."""

    number: SandboxNumber
    recipient: Recipient
    wamid: str
    kind: str
    body: bytes
    """The call as received; the phone's screen is rendered from it."""
    at: Instant
    pricing: dict[str, Any]
    opaque: str | None = None
    status: SandboxStatus = "accepted"
    waiting: list[bytes] = msgspec.field(default_factory=list)
    """Webhooks that were not answered yet, oldest first."""

    def reached(self, status: SandboxStatus) -> None:
        if RANK[status] > RANK[self.status]:
            self.status = status


class StatusStep(msgspec.Struct, frozen=True):
    status: SandboxStatus
    pause: Span
    """Time since the previous step."""
    error: int | None = None


def steps_of(kind: str, fault: Fault, error: int | None, timing: SandboxTiming) -> tuple[StatusStep, ...]:
    """The statuses to post for a message, in order."""
    if fault.statuses == "never":
        return ()
    if error is not None:
        return (StatusStep("failed", timing.sent_after, error),)
    if kind == "reaction":  # Meta posts only `sent` for reactions.
        return (StatusStep("sent", timing.sent_after),)
    between = Span(max(0, timing.delivered_after - timing.sent_after))
    if fault.reorder_statuses:
        return (StatusStep("delivered", timing.sent_after), StatusStep("sent", between))
    return (StatusStep("sent", timing.sent_after), StatusStep("delivered", between))


def status_value(
    message: AcceptedMessage, status: SandboxStatus, at: Instant, profile: SandboxProfile, error: int | None = None
) -> dict[str, Any]:
    """The webhook value for one status."""
    update: dict[str, Any] = {"id": message.wamid, "status": status, "timestamp": str(at // 1_000_000)}
    phone, user_id = message.recipient.phone, user_id_of(message.recipient.phone)
    if not message.recipient.by_user_id:
        update["recipient_id"] = phone
    if status != "failed" or message.recipient.by_user_id:
        update["recipient_user_id"] = user_id
    if message.opaque is not None:
        update["biz_opaque_callback_data"] = message.opaque
    if status == "failed" and error is not None:
        return {"statuses": [{**update, "errors": [webhook_error(error)]}]}
    if status in ("sent", "delivered"):
        update["pricing"] = message.pricing
    contact = {"profile": profile.profile(with_username=status != "sent"), "user_id": user_id}
    if not message.recipient.by_user_id:
        contact["wa_id"] = phone
    return {"contacts": [contact], "statuses": [update]}


def pricing_of(category: str | None, window_open: bool) -> dict[str, Any]:
    """Templates are billed by category, except utility templates inside the window; everything else is free."""
    free = category is None or (category == "utility" and window_open)
    return {
        "billable": not free,
        "pricing_model": "PMP",
        "type": "free_customer_service" if free else "regular",
        "category": category or "service",
    }


def wamid_of(phone: str, token: str) -> str:
    """Base64 of a small binary record that contains the phone, like Meta's ids."""
    holder, unique = phone.encode(), token.encode()
    record = b"\x1c\x18" + bytes([len(holder) % 256]) + holder + b"\x15\x02\x00\x11\x18" + bytes([len(unique) % 256])
    return "wamid." + base64.b64encode(record + unique + b"\x00").decode()
