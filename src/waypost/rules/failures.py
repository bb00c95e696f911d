"""Why a message did not get there and what whoever wrote it can do: one line each, for people without a manual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from waypost.model.chat import Failure
from waypost.model.message import Status
from waypost.rules.audit import EXPIRED
from waypost.rules.catalogue import Action, Catalogue
from waypost.rules.clearance import CONSENT_REQUIRED, SESSION_EXPIRED

CANCELLED: Final = "CANCELLED"
UNKNOWN: Final = "UNKNOWN"
TAKEN_OVER: Final = "TAKEN_OVER"
TAKEN_BACK: Final = "TAKEN_BACK"
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
    CANCELLED: ("It was cancelled before it was sent", "Send it again if it is wanted after all."),
    TAKEN_OVER: ("A person took over before the bot's answer was sent", "Nothing: whoever took over answers."),
    TAKEN_BACK: ("It was taken back before it was sent", "Nothing: it was not sent."),
    NUMBER_DISCONNECTED: ("The number that it was to go from is no longer connected", "Ask an admin to connect it."),
    CONNECTION_REFUSED: ("WhatsApp could not be reached", "Send it again."),
    UNKNOWN: ("It was not delivered", "Send it again."),
}
"""Codes of our own."""

_REMEDIES: Mapping[str, str] = {
    "131026": "Their number may not be on WhatsApp, or their app is too old: reach them another way.",
    "131047": _TEMPLATE,
    "131049": "Wait at least a day: WhatsApp limits how much marketing one customer gets.",
    "131050": "Send no marketing to this customer.",
    "131053": "Choose another file: of a usual type, and not too large.",
}
"""Of Meta's catalogue."""

_BY_ACTION: Mapping[Action, str] = {
    Action.RETRY: "Send it again: it may work now.",
    Action.WAIT: "Send it again in a while: a limit was reached.",
    Action.HOLD: "Ask an admin to remove the cause, then send it again.",
    Action.FAIL: "The same message would fail again: change it, or reach the customer another way.",
}


def told(status: Status, code: str | None, said: str | None, catalogue: Catalogue) -> Failure | None:
    """None of what did not fail. The provider's codes mean what the number's catalogue says."""
    if status not in (Status.FAILED, Status.CANCELLED):
        return None
    known = code or (CANCELLED if status is Status.CANCELLED else UNKNOWN)
    if known in _OURS:
        title, remedy = _OURS[known]
        return Failure(code=known, title=title, remedy=remedy)
    row = catalogue.find(known)
    own = _REMEDIES.get(known) if catalogue.name == "meta" else None
    remedy = own or _BY_ACTION[catalogue.action(known)]
    return Failure(code=known, title=row.title if row else said or _OURS[UNKNOWN][0], remedy=remedy)
