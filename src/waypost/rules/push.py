"""Whether and when somebody who is away is told that a message waits, in which words, and what a try led to."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import TypeAlias, assert_never

import msgspec

from waypost.model.conversation import ANYBODY, BOT, CONTACT, Position
from waypost.model.ids import UserId
from waypost.model.push import (
    Dead,
    Delivered,
    Dropped,
    Gone,
    Habits,
    Happening,
    Later,
    Listener,
    Notice,
    PutOff,
    Refused,
    Result,
    Talk,
    Told,
    Verdict,
)
from waypost.model.time import Instant, Span, days, hours, seconds
from waypost.rules.inbound import ASIDES

LONGEST_TITLE = 80
LONGEST_PREVIEW = 140
FIRST_WAIT: Span = seconds(30)
LONGEST_WAIT: Span = hours(1)
LONGEST_TOLD_WAIT: Span = days(1)
"""A push service may ask for more than we would wait, but not for ever."""
JITTER = 0.1
_MOST_DOUBLINGS = 10


class Push(msgspec.Struct, frozen=True, tag=True):
    """Now."""

    notice: Notice


class Skip(msgspec.Struct, frozen=True, tag=True):
    """Not of this message."""

    reason: str


class Wait(msgspec.Struct, frozen=True, tag=True):
    """Look again then; by that time it may be unnecessary."""

    until: Instant
    reason: str


Decision: TypeAlias = Push | Skip | Wait


def to_tell(item: Happening, habits: Habits, now: Instant) -> Position | None:
    """Of which message those who follow the feed may have to be told; None where the item is nothing to look up for."""
    if now - item.at >= habits.keep:
        return None
    if item.kind == "message":
        return item.position if _is_for_people(item, habits) else None
    if item.kind == "floor" and item.floor == ANYBODY:  # the bot gave up: the customer waits for people from now on
        return item.asked or None
    return None


def _is_for_people(item: Happening, habits: Habits) -> bool:
    if item.sender is None or item.type in (*ASIDES, "deleted"):
        return False
    if item.floor is None:
        return item.feed != f"user:{item.sender}"
    return item.sender.startswith(CONTACT) and not (item.floor == BOT and habits.bot_answers)


def first_look(item: Happening, habits: Habits) -> Instant:
    """When somebody looks whom to tell; who goes on writing puts nothing off."""
    return Instant(item.at + habits.grace)


def decide(talk: Talk, listener: Listener, habits: Habits, now: Instant) -> Decision:
    """Whether this device is told of the conversation's latest message."""
    unneeded = _unneeded(talk, listener, habits)
    if unneeded is not None:
        return Skip(unneeded)
    if listener.connected:
        settled = Instant(talk.at + habits.settled)
        return Skip("connected") if now >= settled else Wait(settled, "connected")
    if now - talk.at >= habits.keep:
        return Skip("too old")
    until, reason = max(_reasons_to_wait(listener, habits), default=(now, ""))
    return Wait(until, reason) if until > now else Push(notice(talk, listener, habits))


def _unneeded(talk: Talk, listener: Listener, habits: Habits) -> str | None:
    if not concerns(talk, listener.user_id, habits):
        return "not concerned"
    if listener.shown >= talk.latest:
        return "seen"
    return "told" if listener.told >= talk.latest else None


def concerns(talk: Talk, user: UserId, habits: Habits) -> bool:
    """Among people, everybody but the writer. A customer's message: whoever must answer it, if it is not the bot."""
    if talk.sender == user:
        return False
    if talk.kind != "customer":
        return True
    if not talk.sender.startswith(CONTACT) or (talk.floor == BOT and habits.bot_answers):
        return False
    return talk.assignee is None or talk.assignee == user


def _reasons_to_wait(listener: Listener, habits: Habits) -> Iterable[tuple[Instant, str]]:
    seen_at, told_at = listener.seen_at, listener.told_at
    if seen_at is not None:
        yield Instant(seen_at + habits.grace), "just left"
    if told_at is not None and (seen_at is None or seen_at <= told_at):
        yield Instant(told_at + habits.again), "told already"
    if listener.not_before is not None:
        yield listener.not_before, "the push service asked to wait"


def notice(talk: Talk, listener: Listener, habits: Habits) -> Notice:
    return Notice(
        title=shortened(talk.title, LONGEST_TITLE),
        conversation_id=str(talk.conversation_id),
        count=max(1, listener.unread),
        text=(shortened(talk.words, LONGEST_PREVIEW) or None) if habits.preview else None,
    )


def shortened(text: str, limit: int) -> str:
    """One line of at most so many characters, without what steers a screen; a cut is shown, and between words."""
    line = " ".join("".join(" " if _steers(each) else each for each in text[: limit * 20]).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    before_word = cut.rpartition(" ")[0]
    return (before_word if len(before_word) > limit // 2 else cut).rstrip() + "…"


def _steers(character: str) -> bool:
    """Control characters, and those that turn the direction of what follows; the joiners of emoji are neither."""
    return (
        unicodedata.category(character) in ("Cc", "Cs")
        or character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


def after(result: Result, talk: Talk, listener: Listener, habits: Habits, now: Instant, dice: float) -> Verdict:
    """What a try led to. No answer is tried again: a second notice only takes the place of the first."""
    match result:
        case Delivered():
            return Told(talk.latest, now)
        case Gone():
            return Dead()
        case Refused(reason):
            return Dropped(talk.latest, reason)
        case Later(reason, told):
            until = Instant(now + wait_after(listener.failures, told, dice))
            return PutOff(until, reason) if until < talk.at + habits.keep else Dropped(talk.latest, reason)
        case _:
            assert_never(result)


def wait_after(failures: int, told: Span | None, dice: float) -> Span:
    """From half a minute doubled up to an hour; never shorter than what the push service asked for."""
    doubled = min(FIRST_WAIT << min(max(failures, 0), _MOST_DOUBLINGS), LONGEST_WAIT)
    asked = min(told or 0, LONGEST_TOLD_WAIT)
    return Span(round(max(doubled, asked) * (1 + JITTER * dice)))


def look_again(waits: Iterable[Wait], verdicts: Iterable[Verdict]) -> Instant | None:
    """When the conversation is to be looked at next, if nobody writes before; None when all is said."""
    moments = [wait.until for wait in waits] + [each.until for each in verdicts if isinstance(each, PutOff)]
    return min(moments, default=None)
