"""Why a message was not delivered, and what its author can do: one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from waypost.model.chat import DeliveryFailure
from waypost.model.message import Status
from waypost.rules.limits.error_catalogue import ErrorAction, ErrorCatalogue
from waypost.rules.operations.audit import EXPIRED
from waypost.rules.sending.delivery import TAKEN_BACK, TAKEN_OVER
from waypost.rules.sending.send_checks import CONSENT_REQUIRED, SESSION_EXPIRED

CANCELLED: Final = "CANCELLED"
UNKNOWN: Final = "UNKNOWN"
NUMBER_DISCONNECTED: Final = "NUMBER_DISCONNECTED"
CONNECTION_REFUSED: Final = "CONNECTION_REFUSED"

_TEMPLATE = "Send a template. Once the customer answers, you may write freely again."

_OURS: Mapping[str, tuple[str, str]] = {
    SESSION_EXPIRED: ("The customer wrote more than 24 hours ago", _TEMPLATE),
    CONSENT_REQUIRED: (
        "The customer has not agreed to messages",
        "Write again when they have asked for it; the consent is on their card.",
    ),
    EXPIRED: ("It was not sent in time", "Send it again if it still matters."),
    CANCELLED: ("It was cancelled before it was sent", "Send it again if it is still wanted."),
    TAKEN_OVER: ("An agent took over before the bot's answer was sent", "Nothing: the agent who took over answers."),
    TAKEN_BACK: ("It was deleted before it was sent", "Nothing: it was not sent."),
    NUMBER_DISCONNECTED: ("The number it should be sent from is no longer connected", "Ask an admin to connect it."),
    CONNECTION_REFUSED: ("WhatsApp could not be reached", "Send it again."),
    UNKNOWN: ("It was not delivered", "Send it again."),
}
"""Texts for our own codes."""

_REMEDIES: Mapping[str, str] = {
    "131026": "Their number may not be on WhatsApp, or their app is too old: reach them another way.",
    "131047": _TEMPLATE,
    "131049": "Wait at least a day: WhatsApp limits how much marketing one customer gets.",
    "131050": "Send no marketing to this customer.",
    "131053": "Choose a smaller file, or one of a common type.",
}
"""Texts for codes of Meta's catalogue."""

_BY_ACTION: Mapping[ErrorAction, str] = {
    ErrorAction.RETRY: "Send it again: it may work now.",
    ErrorAction.WAIT: "Send it again in a while: a limit was reached.",
    ErrorAction.HOLD: "Ask an admin to remove the cause, then send it again.",
    ErrorAction.FAIL: "The same message would fail again: change it, or reach the customer another way.",
}


def delivery_failure(
    status: Status, code: str | None, message: str | None, catalogue: ErrorCatalogue
) -> DeliveryFailure | None:
    """None unless it failed or was cancelled. `catalogue` is that of the number."""
    if status not in (Status.FAILED, Status.CANCELLED):
        return None
    known = code or (CANCELLED if status is Status.CANCELLED else UNKNOWN)
    if known in _OURS:
        title, remedy = _OURS[known]
        return DeliveryFailure(code=known, title=title, remedy=remedy)
    row = catalogue.find(known)
    own = _REMEDIES.get(known) if catalogue.name == "meta" else None
    remedy = own or _BY_ACTION[catalogue.action(known)]
    return DeliveryFailure(code=known, title=row.title if row else message or _OURS[UNKNOWN][0], remedy=remedy)
