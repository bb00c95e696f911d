"""Push notifications: whether and when to send one, its content, and the result of an attempt."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import TypeAlias, assert_never

import msgspec

from waypost.model.conversation import ANYBODY, BOT, CONTACT, Position
from waypost.model.ids import UserId
from waypost.model.push import (
    NotifiableItem,
    Notification,
    NotificationSettings,
    NotificationTask,
    Notified,
    NotifyDropped,
    NotifyLater,
    NotifyVerdict,
    PushDelivered,
    PushGone,
    PushRefused,
    PushResult,
    PushRetry,
    SubscribedDevice,
    SubscriptionDead,
)
from waypost.model.time import Instant, Span, days, hours, seconds
from waypost.rules.receiving.inbound import ASIDES

LONGEST_TITLE = 80
LONGEST_PREVIEW = 140
FIRST_WAIT: Span = seconds(30)
LONGEST_WAIT: Span = hours(1)
LONGEST_REQUESTED_WAIT: Span = days(1)
"""The longest wait that we accept from a push service."""
JITTER = 0.1
_MOST_DOUBLINGS = 10


class PushNow(msgspec.Struct, frozen=True, tag=True):
    """Send now."""

    notification: Notification


class PushSkip(msgspec.Struct, frozen=True, tag=True):
    """Send none for this message."""

    reason: str


class PushWait(msgspec.Struct, frozen=True, tag=True):
    """Decide again at `until`; it may be unnecessary by then."""

    until: Instant
    reason: str


PushDecision: TypeAlias = PushNow | PushSkip | PushWait


def notifiable_message(item: NotifiableItem, settings: NotificationSettings, now: Instant) -> Position | None:
    """The message that the followers of the feed may need a notification of; None if the item needs none."""
    if now - item.at >= settings.keep:
        return None
    if item.kind == "message":
        return item.position if _is_for_people(item, settings) else None
    if item.kind == "floor" and item.floor == ANYBODY:  # the bot gave up: the customer now waits for an agent
        return item.asked or None
    return None


def _is_for_people(item: NotifiableItem, settings: NotificationSettings) -> bool:
    if item.sender is None or item.type in (*ASIDES, "deleted"):
        return False
    if item.floor is None:
        return item.feed != f"user:{item.sender}"
    return item.sender.startswith(CONTACT) and not (item.floor == BOT and settings.bot_answers)


def first_due_at(item: NotifiableItem, settings: NotificationSettings) -> Instant:
    """When notifications are decided; later messages do not postpone it."""
    return Instant(item.at + settings.grace)


def decide(
    task: NotificationTask, listener: SubscribedDevice, settings: NotificationSettings, now: Instant
) -> PushDecision:
    """Whether this device is notified of the conversation's latest message."""
    unneeded = _unneeded(task, listener, settings)
    if unneeded is not None:
        return PushSkip(unneeded)
    if listener.connected:
        settled = Instant(task.at + settings.settled)
        return PushSkip("connected") if now >= settled else PushWait(settled, "connected")
    if now - task.at >= settings.keep:
        return PushSkip("too old")
    until, reason = max(_reasons_to_wait(listener, settings), default=(now, ""))
    return PushWait(until, reason) if until > now else PushNow(notification(task, listener, settings))


def _unneeded(task: NotificationTask, listener: SubscribedDevice, settings: NotificationSettings) -> str | None:
    if not concerns(task, listener.user_id, settings):
        return "not concerned"
    if listener.shown >= task.latest:
        return "seen"
    return "already notified" if listener.notified >= task.latest else None


def concerns(task: NotificationTask, user: UserId, settings: NotificationSettings) -> bool:
    """In a chat, everyone but the author. For a customer's message, those who must answer it, unless the bot does."""
    if task.sender == user:
        return False
    if task.kind != "customer":
        return True
    if not task.sender.startswith(CONTACT) or (task.floor == BOT and settings.bot_answers):
        return False
    return task.assignee is None or task.assignee == user


def _reasons_to_wait(listener: SubscribedDevice, settings: NotificationSettings) -> Iterable[tuple[Instant, str]]:
    seen_at, notified_at = listener.seen_at, listener.notified_at
    if seen_at is not None:
        yield Instant(seen_at + settings.grace), "just left"
    if notified_at is not None and (seen_at is None or seen_at <= notified_at):
        yield Instant(notified_at + settings.again), "notified recently"
    if listener.not_before is not None:
        yield listener.not_before, "the push service asked to wait"


def notification(task: NotificationTask, listener: SubscribedDevice, settings: NotificationSettings) -> Notification:
    return Notification(
        title=shortened(task.title, LONGEST_TITLE),
        conversation_id=str(task.conversation_id),
        count=max(1, listener.unread),
        text=(shortened(task.words, LONGEST_PREVIEW) or None) if settings.preview else None,
    )


def shortened(text: str, limit: int) -> str:
    """One line of at most `limit` characters, without control characters; cut between words, with an ellipsis."""
    line = " ".join("".join(" " if _steers(each) else each for each in text[: limit * 20]).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    before_word = cut.rpartition(" ")[0]
    return (before_word if len(before_word) > limit // 2 else cut).rstrip() + "…"


def _steers(character: str) -> bool:
    """Control characters and bidirectional overrides, but not the joiners of emoji."""
    return (
        unicodedata.category(character) in ("Cc", "Cs")
        or character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


def verdict_after(
    result: PushResult,
    task: NotificationTask,
    listener: SubscribedDevice,
    settings: NotificationSettings,
    now: Instant,
    random: float,
) -> NotifyVerdict:
    """The verdict on an attempt. No answer is retried: a second notification only replaces the first."""
    match result:
        case PushDelivered():
            return Notified(task.latest, now)
        case PushGone():
            return SubscriptionDead()
        case PushRefused(reason):
            return NotifyDropped(task.latest, reason)
        case PushRetry(reason, requested):
            until = Instant(now + wait_after(listener.failures, requested, random))
            return NotifyLater(until, reason) if until < task.at + settings.keep else NotifyDropped(task.latest, reason)
        case _:
            assert_never(result)


def wait_after(failures: int, requested: Span | None, random: float) -> Span:
    """From half a minute, doubled up to an hour; never shorter than the push service asked for."""
    doubled = min(FIRST_WAIT << min(max(failures, 0), _MOST_DOUBLINGS), LONGEST_WAIT)
    asked = min(requested or 0, LONGEST_REQUESTED_WAIT)
    return Span(round(max(doubled, asked) * (1 + JITTER * random)))


def next_due_at(waits: Iterable[PushWait], verdicts: Iterable[NotifyVerdict]) -> Instant | None:
    """When the conversation is due next, without new messages; None if nothing is left to do."""
    moments = [wait.until for wait in waits] + [each.until for each in verdicts if isinstance(each, NotifyLater)]
    return min(moments, default=None)
