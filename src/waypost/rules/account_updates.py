"""What an update at account level asks for, and whether an account is held once all its causes are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from waypost.model.dossier import ConsentStatus
from waypost.model.ids import NumberId
from waypost.model.time import Instant, from_unix
from waypost.model.update import Alert, Cause, Hold, Pace, Preference, Refresh, Release, TemplateStatus, Tier, Told
from waypost.rules import recipient
from waypost.rules.redact import redact
from waypost.rules.template_reading import status_change

FASTEST = 1000
"""Messages per second after the provider's upgrade."""
LARGEST_TIER = 2**31 - 1
LONGEST_WORD = 64
MOST_PREFERENCES = 10_000
_LONGEST_ADDRESS = 255
_LATEST = 4_102_444_800  # the year 2100: a later moment is nonsense
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
"""Where the tier has stood over the years, the newest first."""
_CONSENTS = {
    "stop": ConsentStatus.REVOKED,
    "resume": ConsentStatus.GRANTED,
    "signup": ConsentStatus.GRANTED,
}
_STILL_SENDS = ("RESTRICTED_ADD_PHONE_NUMBER_ACTION",)
"""Restrictions that stop no message."""

Value: TypeAlias = Mapping[str, Any]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What an update alone does not say."""

    numbers: Sequence[NumberId]
    """The org's numbers of the account."""
    at: Instant
    """When it was said."""
    now: Instant


def read(field: str, value: object, context: Context) -> Told:
    """What an update of this field asks for; a field that we do not know asks for nothing."""
    reader = _READERS.get(field)
    if reader is None:
        return Told()
    if not isinstance(value, dict):
        return Told(failure="its value is no object")
    return reader(value, context)


def error(value: object) -> Told:
    """An item of `errors` in a webhook: the provider could not deliver something to us."""
    told = value if isinstance(value, dict) else {}
    data = told.get("error_data")
    details = data.get("details") if isinstance(data, dict) else None
    return _alert("errors", told.get("code"), details or told.get("message") or told.get("title"))


def _account(value: Value, _context: Context) -> Told:
    event = _word(value.get("event"))
    if event is None:
        return Told(failure="an account_update without an event")
    reader = _EVENTS.get(event)
    return Told() if reader is None else reader(event, value)


def _ban(event: str, value: Value) -> Told:
    info = value.get("ban_info")
    state = _word(info.get("waba_ban_state")) if isinstance(info, dict) else None
    what = _alert("account_update", event, state).acts
    match state:
        case "DISABLE":
            hold = Hold(Cause.BAN, "ACCOUNT_DISABLED", "the provider has disabled the account")
            return Told((hold, *what))
        case "REINSTATE":
            return Told((Release(Cause.BAN), *what))
        case None:
            return Told(failure="a DISABLED_UPDATE without a waba_ban_state")
        case _:  # SCHEDULE_FOR_DISABLE, and whatever comes later
            return Told(what)


def _sanction(event: str, value: Value) -> Told:
    """A restriction holds the account until it expires; one that names no end, or stops no message, is told of."""
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
        return Told(what)
    reason = f"the provider has restricted the account: {event}"
    return Told((Hold(Cause.RESTRICTION, event, reason, max(ends)), *what))


def _gone(event: str, _value: Value) -> Told:
    hold = Hold(Cause.PRESENCE, event, "the account is no longer with the provider")
    return Told((hold, *_alert("account_update", event).acts))


def _back(event: str, _value: Value) -> Told:
    return Told((Release(Cause.PRESENCE), *_alert("account_update", event).acts))


_EVENTS: Mapping[str, Callable[[str, Value], Told]] = {
    "DISABLED_UPDATE": _ban,
    "ACCOUNT_VIOLATION": _sanction,
    "ACCOUNT_RESTRICTION": _sanction,
    "ACCOUNT_DELETED": _gone,
    "ACCOUNT_OFFBOARDED": _gone,
    "ACCOUNT_RECONNECTED": _back,
}


def _phone_quality(value: Value, context: Context) -> Told:
    """Despite its name about throughput: the tier, and whether a number may send faster."""
    told = _capability(value, context)
    if told.failure or _word(value.get("event")) != "THROUGHPUT_UPGRADE":
        return told
    if len(context.numbers) != 1:
        return Told(told.acts, "the account has several numbers, and this names none of them: set its pace by hand")
    return Told((*told.acts, Pace(context.numbers[0], FASTEST)))


def _capability(value: Value, _context: Context) -> Told:
    given = next((value[name] for name in _LIMITS if value.get(name) is not None), None)
    if given is None or given in _NOT_SAID:
        return Told()
    most = tier(given)
    if isinstance(most, Unreadable):
        return Told(failure=f"{str(given)[:LONGEST_WORD]!r} is no tier")
    return Told((Tier(most),))


class Unreadable(msgspec.Struct, frozen=True):
    pass


def tier(given: object) -> int | Unreadable | None:
    """`TIER_2K`, `2000` or 2000; None is no limit, and so is -1."""
    if isinstance(given, bool) or not isinstance(given, str | int):
        return Unreadable()
    if given in (-1, "-1", *_NO_LIMIT):
        return None
    found = _TIER.fullmatch(str(given)[:LONGEST_WORD].strip().upper())
    most = int(found[1]) * _THOUSANDS[found[2]] if found else 0
    if most <= 0:
        return Unreadable()
    return most if most <= LARGEST_TIER else None


def _template_quality(value: Value, _context: Context) -> Told:
    score, name = _word(value.get("new_quality_score")), value.get("message_template_name")
    if score not in ("RED", "YELLOW"):
        return Told((Refresh(),))
    return Told((Refresh(), *_alert("message_template_quality_update", score, name).acts))


def _template_changed(_value: Value, _context: Context) -> Told:
    return Told((Refresh(),))


def _template_status(value: Value, _context: Context) -> Told:
    change = status_change(value)
    return Told() if change is None else Told((TemplateStatus(change),))


def _preferences(value: Value, context: Context) -> Told:
    listed = value.get("user_preferences")
    if not isinstance(listed, list) or len(listed) > MOST_PREFERENCES:
        return Told(failure="user_preferences is no list, or too long a one")
    read_ = [_preference(each, context) for each in listed]
    acts = tuple(each for each in read_ if isinstance(each, Preference))
    wrong = sum(isinstance(each, Unreadable) for each in read_)
    return Told(acts, f"{wrong} of {len(read_)} preferences could not be read" if wrong else None)


def _preference(told: object, context: Context) -> Preference | Unreadable | None:
    """None for a wish that we do not know, such as one to another kind of message."""
    if not isinstance(told, dict):
        return Unreadable()
    status = _CONSENTS.get(str(told.get("value")).lower())
    if told.get("category") != "marketing_messages" or status is None:
        return None
    addresses = tuple(_addresses(told))
    if not addresses:
        return Unreadable()
    moment = _moment(told.get("timestamp"))
    return Preference(addresses, status, context.at if moment is None else said_at(moment, context.now))


def _addresses(told: Value) -> Iterable[str]:
    """The phone first, where it is known."""
    for name in ("wa_id", "user_id"):
        given = told.get(name)
        text = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else ""
        if not text or len(text) > _LONGEST_ADDRESS or not text.isprintable():
            continue
        if name == "user_id":
            yield text
        elif phone := recipient.phone(text):
            yield phone


def _alerting(field: str, *names: str) -> Callable[[Value, Context], Told]:
    """For what only a person can do something about; `names` are the words worth showing."""

    def reader(value: Value, _context: Context) -> Told:
        inside = value.get("alert_info")
        known = {**value, **inside} if isinstance(inside, dict) else value
        return _alert(field, *(known.get(name) for name in names))

    return reader


def _alert(field: str, *words: object) -> Told:
    shown = " ".join(str(word).replace("\0", "\ufffd")[:200] for word in words if isinstance(word, str | int) and word)
    return Told((Alert(field, redact(shown)),))


_READERS: Mapping[str, Callable[[Value, Context], Told]] = {
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
"""The codes of a hold that the provider told of by webhook; any other was met in an answer to a send."""


def said_at(told_at: Instant | None, now: Instant) -> Instant:
    """A word from the future is from now, or no later one would ever be heard."""
    return now if told_at is None else Instant(min(told_at, now))


class Word(msgspec.Struct, frozen=True):
    """The provider's latest word on one cause: held, or (None) not."""

    cause: Cause
    hold: Hold | None


def standing(words: Sequence[Word], now: Instant) -> Hold | None:
    """What holds an account once everything is known: as long as its longest hold."""
    holds = [word.hold for word in words if word.hold is not None]
    live = [hold for hold in holds if hold.until is None or now < hold.until]
    return max(live, key=_length, default=None)


def _length(hold: Hold) -> float:
    return float("inf") if hold.until is None else hold.until


def _word(given: object) -> str | None:
    return given.upper() if isinstance(given, str) and 0 < len(given) <= LONGEST_WORD else None


def _moment(given: object) -> Instant | None:
    """From Unix seconds, as a number or in digits."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        value = float(given)
    except (ValueError, OverflowError):
        return None
    return from_unix(value) if 0 < value < _LATEST else None
