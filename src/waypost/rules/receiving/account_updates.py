"""The actions of account-level updates, and the resulting hold of an account."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from waypost.model.dossier import ConsentStatus
from waypost.model.ids import NumberId
from waypost.model.time import Instant, from_unix
from waypost.model.update import (
    AlertOperator,
    HoldAccount,
    HoldCause,
    RefreshTemplates,
    ReleaseHold,
    SetMarketingPreference,
    SetPace,
    SetTemplateStatus,
    SetTier,
    UpdateActions,
)
from waypost.rules.content import recipient
from waypost.rules.content.template_reading import status_change
from waypost.rules.text.redact import redact

FASTEST = 1000
"""Messages per second after the provider's throughput upgrade."""
LARGEST_TIER = 2**31 - 1
LONGEST_WORD = 64
MOST_PREFERENCES = 10_000
_LONGEST_ADDRESS = 255
_LATEST = 4_102_444_800  # the year 2100: a later time is invalid
_TIER = re.compile(r"(?:TIER_)?(\d{1,9})(K|M)?", re.ASCII)
_THOUSANDS = {None: 1, "K": 1_000, "M": 1_000_000}
_NO_LIMIT = ("UNLIMITED", "TIER_UNLIMITED")
_NOT_SAID = ("NOT_SET", "TIER_NOT_SET")
_LIMITS = (
    "max_daily_conversations_per_business",
    "max_daily_conversation_per_phone",
    "max_daily_conversations_per_phone",
    "current_limit",
)
"""Field names of the tier in API versions, newest first."""
_CONSENTS = {
    "stop": ConsentStatus.REVOKED,
    "resume": ConsentStatus.GRANTED,
    "signup": ConsentStatus.GRANTED,
}
_STILL_SENDS = ("RESTRICTED_ADD_PHONE_NUMBER_ACTION",)
"""Restrictions that do not affect sending."""

Value: TypeAlias = Mapping[str, Any]


class UpdateContext(msgspec.Struct, frozen=True, kw_only=True):
    """Context that the update itself does not contain."""

    numbers: Sequence[NumberId]
    """The org's numbers in this account."""
    at: Instant
    """When the provider sent it."""
    now: Instant


def read(field: str, value: object, context: UpdateContext) -> UpdateActions:
    """The actions of an update of this field; an unknown field has none."""
    reader = _READERS.get(field)
    if reader is None:
        return UpdateActions()
    if not isinstance(value, dict):
        return UpdateActions(failure="its value is not an object")
    return reader(value, context)


def error(value: object) -> UpdateActions:
    """An item of `errors` in a webhook: the provider could not deliver an update to us."""
    given = value if isinstance(value, dict) else {}
    data = given.get("error_data")
    details = data.get("details") if isinstance(data, dict) else None
    return _alert("errors", given.get("code"), details or given.get("message") or given.get("title"))


def _account(value: Value, _context: UpdateContext) -> UpdateActions:
    event = _word(value.get("event"))
    if event is None:
        return UpdateActions(failure="an account_update without an event")
    reader = _EVENTS.get(event)
    return UpdateActions() if reader is None else reader(event, value)


def _ban(event: str, value: Value) -> UpdateActions:
    info = value.get("ban_info")
    state = _word(info.get("waba_ban_state")) if isinstance(info, dict) else None
    what = _alert("account_update", event, state).acts
    match state:
        case "DISABLE":
            hold = HoldAccount(HoldCause.BAN, "ACCOUNT_DISABLED", "the provider has disabled the account")
            return UpdateActions((hold, *what))
        case "REINSTATE":
            return UpdateActions((ReleaseHold(HoldCause.BAN), *what))
        case None:
            return UpdateActions(failure="a DISABLED_UPDATE without a waba_ban_state")
        case _:  # SCHEDULE_FOR_DISABLE, and unknown states
            return UpdateActions(what)


def _sanction(event: str, value: Value) -> UpdateActions:
    """A restriction holds the account until it expires; one without an end or without effect on sending only alerts."""
    known = [value.get("restriction_info"), value.get("violation_info")]
    listed = [each for one in known for each in (one if isinstance(one, list) else [one]) if isinstance(each, dict)]
    kinds = [_word(each.get("restriction_type") or each.get("violation_type")) for each in listed]
    ends = [
        moment
        for each, kind in zip(listed, kinds, strict=True)
        if kind not in _STILL_SENDS and (moment := _moment(each.get("expiration"))) is not None
    ]
    what = _alert("account_update", event, ", ".join(sorted({kind for kind in kinds if kind}))).acts
    if not ends:
        return UpdateActions(what)
    reason = f"the provider has restricted the account: {event}"
    return UpdateActions((HoldAccount(HoldCause.RESTRICTION, event, reason, max(ends)), *what))


def _gone(event: str, _value: Value) -> UpdateActions:
    hold = HoldAccount(HoldCause.PRESENCE, event, "the account is no longer with the provider")
    return UpdateActions((hold, *_alert("account_update", event).acts))


def _back(event: str, _value: Value) -> UpdateActions:
    return UpdateActions((ReleaseHold(HoldCause.PRESENCE), *_alert("account_update", event).acts))


_EVENTS: Mapping[str, Callable[[str, Value], UpdateActions]] = {
    "DISABLED_UPDATE": _ban,
    "ACCOUNT_VIOLATION": _sanction,
    "ACCOUNT_RESTRICTION": _sanction,
    "ACCOUNT_DELETED": _gone,
    "ACCOUNT_OFFBOARDED": _gone,
    "ACCOUNT_RECONNECTED": _back,
}


def _phone_quality(value: Value, context: UpdateContext) -> UpdateActions:
    """Despite its name, about throughput: the tier, and whether a number may send faster."""
    capability = _capability(value, context)
    if capability.failure or _word(value.get("event")) != "THROUGHPUT_UPGRADE":
        return capability
    if len(context.numbers) != 1:
        return UpdateActions(
            capability.acts, "the account has several numbers, and the update names none of them: set the pace by hand"
        )
    return UpdateActions((*capability.acts, SetPace(context.numbers[0], FASTEST)))


def _capability(value: Value, _context: UpdateContext) -> UpdateActions:
    given = next((value[name] for name in _LIMITS if value.get(name) is not None), None)
    if given is None or given in _NOT_SAID:
        return UpdateActions()
    most = tier(given)
    if isinstance(most, UnreadableUpdate):
        return UpdateActions(failure=f"{str(given)[:LONGEST_WORD]!r} is not a tier")
    return UpdateActions((SetTier(most),))


class UnreadableUpdate(msgspec.Struct, frozen=True):
    pass


def tier(given: object) -> int | UnreadableUpdate | None:
    """`TIER_2K`, `2000` or 2000; None is no limit, and so is -1."""
    if isinstance(given, bool) or not isinstance(given, str | int):
        return UnreadableUpdate()
    if given in (-1, "-1", *_NO_LIMIT):
        return None
    found = _TIER.fullmatch(str(given)[:LONGEST_WORD].strip().upper())
    most = int(found[1]) * _THOUSANDS[found[2]] if found else 0
    if most <= 0:
        return UnreadableUpdate()
    return most if most <= LARGEST_TIER else None


def _template_quality(value: Value, _context: UpdateContext) -> UpdateActions:
    score, name = _word(value.get("new_quality_score")), value.get("message_template_name")
    if score not in ("RED", "YELLOW"):
        return UpdateActions((RefreshTemplates(),))
    return UpdateActions((RefreshTemplates(), *_alert("message_template_quality_update", score, name).acts))


def _template_changed(_value: Value, _context: UpdateContext) -> UpdateActions:
    return UpdateActions((RefreshTemplates(),))


def _template_status(value: Value, _context: UpdateContext) -> UpdateActions:
    change = status_change(value)
    return UpdateActions() if change is None else UpdateActions((SetTemplateStatus(change),))


def _preferences(value: Value, context: UpdateContext) -> UpdateActions:
    listed = value.get("user_preferences")
    if not isinstance(listed, list) or len(listed) > MOST_PREFERENCES:
        return UpdateActions(failure="user_preferences is not a list, or is too long")
    read_ = [_preference(each, context) for each in listed]
    acts = tuple(each for each in read_ if isinstance(each, SetMarketingPreference))
    wrong = sum(isinstance(each, UnreadableUpdate) for each in read_)
    return UpdateActions(acts, f"{wrong} of {len(read_)} preferences could not be read" if wrong else None)


def _preference(given: object, context: UpdateContext) -> SetMarketingPreference | UnreadableUpdate | None:
    """None for an unknown preference, such as one for another kind of message."""
    if not isinstance(given, dict):
        return UnreadableUpdate()
    status = _CONSENTS.get(str(given.get("value")).lower())
    if given.get("category") != "marketing_messages" or status is None:
        return None
    addresses = tuple(_addresses(given))
    if not addresses:
        return UnreadableUpdate()
    moment = _moment(given.get("timestamp"))
    return SetMarketingPreference(addresses, status, context.at if moment is None else said_at(moment, context.now))


def _addresses(preference: Value) -> Iterable[str]:
    """The phone first, if known."""
    for name in ("wa_id", "user_id"):
        given = preference.get(name)
        text = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else ""
        if not text or len(text) > _LONGEST_ADDRESS or not text.isprintable():
            continue
        if name == "user_id":
            yield text
        elif phone := recipient.phone(text):
            yield phone


def _alerting(field: str, *names: str) -> Callable[[Value, UpdateContext], UpdateActions]:
    """A reader that only alerts the operator; `names` are the fields to show."""

    def reader(value: Value, _context: UpdateContext) -> UpdateActions:
        inside = value.get("alert_info")
        known = {**value, **inside} if isinstance(inside, dict) else value
        return _alert(field, *(known.get(name) for name in names))

    return reader


def _alert(field: str, *words: object) -> UpdateActions:
    shown = " ".join(str(word).replace("\0", "\ufffd")[:200] for word in words if isinstance(word, str | int) and word)
    return UpdateActions((AlertOperator(field, redact(shown)),))


_READERS: Mapping[str, Callable[[Value, UpdateContext], UpdateActions]] = {
    "account_update": _account,
    "phone_number_quality_update": _phone_quality,
    "business_capability_update": _capability,
    "message_template_status_update": _template_status,
    "message_template_quality_update": _template_quality,
    "template_category_update": _template_changed,
    "message_template_components_update": _template_changed,
    "user_preferences": _preferences,
    "account_alerts": _alerting("account_alerts", "alert_severity", "alert_type", "alert_description"),
    "account_review_update": _alerting("account_review_update", "decision"),
    "phone_number_name_update": _alerting("phone_number_name_update", "decision", "rejection_reason"),
    "security": _alerting("security", "event"),
}

HELD_BY = ("ACCOUNT_DISABLED", "ACCOUNT_VIOLATION", "ACCOUNT_RESTRICTION", "ACCOUNT_DELETED", "ACCOUNT_OFFBOARDED")
"""Codes of holds that came by webhook; any other came in an answer to a send."""


def said_at(reported_at: Instant | None, now: Instant) -> Instant:
    """The provider's time, at most now: a time in the future would block later updates."""
    return now if reported_at is None else Instant(min(reported_at, now))


class HoldStatus(msgspec.Struct, frozen=True):
    """The latest state of one cause: a hold, or None."""

    cause: HoldCause
    hold: HoldAccount | None


def standing(words: Sequence[HoldStatus], now: Instant) -> HoldAccount | None:
    """The hold in force: of all causes, the one that ends last."""
    holds = [word.hold for word in words if word.hold is not None]
    live = [hold for hold in holds if hold.until is None or now < hold.until]
    return max(live, key=_length, default=None)


def _length(hold: HoldAccount) -> float:
    return float("inf") if hold.until is None else hold.until


def _word(given: object) -> str | None:
    return given.upper() if isinstance(given, str) and 0 < len(given) <= LONGEST_WORD else None


def _moment(given: object) -> Instant | None:
    """From Unix seconds, as a number or a string."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        value = float(given)
    except (ValueError, OverflowError):
        return None
    return from_unix(value) if 0 < value < _LATEST else None
