"""Whether and when an offline user is notified, with which text, and the outcome of an attempt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waypost.model.chat import DeviceId
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import Fence, OrgId, UserId
from waypost.model.push import (
    NotifiableItem,
    Notification,
    NotificationSettings,
    NotificationTask,
    Notified,
    NotifyDropped,
    NotifyLater,
    PushDelivered,
    PushGone,
    PushRefused,
    PushRetry,
    SubscribedDevice,
    Subscription,
    SubscriptionDead,
)
from waypost.model.time import Instant, Span, days, hours, minutes, seconds
from waypost.rules.live.push import (
    LONGEST_PREVIEW,
    PushNow,
    PushSkip,
    PushWait,
    concerns,
    decide,
    first_due_at,
    next_due_at,
    notifiable_message,
    notification,
    shortened,
    verdict_after,
    wait_after,
)

NOW = Instant(1_760_000_000_000_000)
HABITS = NotificationSettings()
ADA, BEN = UserId("ada"), UserId("ben")


def ago(span: Span) -> Instant:
    return Instant(NOW - span)


def a_listener(**change: Any) -> SubscribedDevice:
    fields: dict[str, Any] = {
        "device_id": DeviceId("phone"),
        "user_id": BEN,
        "subscription": Subscription("https://push.example.net/1", "p", "a"),
        "seen_at": None,
        "shown": Position(4),
        "unread": 1,
    }
    return SubscribedDevice(**fields | change)


def a_talk(**change: Any) -> NotificationTask:
    fields: dict[str, Any] = {
        "feed": "user:ben",
        "org_id": OrgId("acme"),
        "conversation_id": ConversationId(7),
        "kind": "direct",
        "title": "Ada",
        "latest": Position(5),
        "sender": "ada",
        "words": "Hello",
        "at": ago(minutes(1)),
        "floor": "human",
        "assignee": None,
        "listeners": (),
        "fence": Fence(1),
    }
    return NotificationTask(**fields | change)


PUSHED = PushNow(Notification(title="Ada", conversation_id="7", count=1, text="Hello"))

DECISIONS: list[tuple[str, dict[str, Any], dict[str, Any], object]] = [
    ("away, never told", {}, {}, PUSHED),
    ("who wrote it", {}, {"user_id": ADA}, PushSkip("not concerned")),
    ("seen on another screen", {}, {"shown": Position(5)}, PushSkip("seen")),
    (
        "told of this very message",
        {},
        {"notified": Position(5), "notified_at": ago(hours(5))},
        PushSkip("already notified"),
    ),
    ("connected for sure", {}, {"connected": True}, PushSkip("connected")),
    (
        "connected, but perhaps by a dead connection",
        {"at": ago(seconds(20))},
        {"connected": True},
        PushWait(Instant(NOW + seconds(40)), "connected"),
    ),
    ("just left", {}, {"seen_at": ago(seconds(3))}, PushWait(Instant(NOW + seconds(7)), "just left")),
    ("left a while ago", {}, {"seen_at": ago(seconds(10))}, PUSHED),
    (
        "told of an earlier one, not back since",
        {},
        {"notified": Position(3), "notified_at": ago(minutes(4)), "seen_at": ago(hours(1))},
        PushWait(Instant(NOW + minutes(6)), "notified recently"),
    ),
    (
        "told of an earlier one and never seen",
        {},
        {"notified": Position(3), "notified_at": ago(minutes(4))},
        PushWait(Instant(NOW + minutes(6)), "notified recently"),
    ),
    ("told long ago", {}, {"notified": Position(3), "notified_at": ago(minutes(10)), "seen_at": ago(hours(1))}, PUSHED),
    ("back since", {}, {"notified": Position(3), "notified_at": ago(minutes(4)), "seen_at": ago(minutes(2))}, PUSHED),
    (
        "the service asked to wait",
        {},
        {"not_before": Instant(NOW + hours(1))},
        PushWait(Instant(NOW + hours(1)), "the push service asked to wait"),
    ),
    ("the service's wait is over", {}, {"not_before": NOW}, PUSHED),
    ("too old to be news", {"at": ago(days(2))}, {}, PushSkip("too old")),
    ("written by a clock that is ahead", {"at": Instant(NOW + seconds(5))}, {}, PUSHED),
]


@pytest.mark.parametrize(
    ("talk", "listener", "decision"), [row[1:] for row in DECISIONS], ids=[row[0] for row in DECISIONS]
)
def test_who_is_told_and_when(talk: dict[str, Any], listener: dict[str, Any], decision: object) -> None:
    assert decide(a_talk(**talk), a_listener(**listener), HABITS, NOW) == decision


CONCERNS: list[tuple[str, dict[str, Any], bool]] = [
    ("a colleague's message", {}, True),
    ("a colleague's message in a group", {"kind": "group"}, True),
    ("a customer's, for anybody", {"kind": "customer", "sender": "contact:9"}, True),
    ("a customer's, for me", {"kind": "customer", "sender": "contact:9", "assignee": BEN, "floor": "ben"}, True),
    ("a customer's, for another", {"kind": "customer", "sender": "contact:9", "assignee": ADA}, False),
    ("a customer's that the bot answers", {"kind": "customer", "sender": "contact:9", "floor": "bot"}, False),
    ("a colleague's answer to a customer", {"kind": "customer"}, False),
    ("the bot's answer to a customer", {"kind": "customer", "sender": "bot", "floor": "bot"}, False),
]


@pytest.mark.parametrize(("talk", "told"), [row[1:] for row in CONCERNS], ids=[row[0] for row in CONCERNS])
def test_whom_a_message_concerns(talk: dict[str, Any], told: bool) -> None:
    assert concerns(a_talk(**talk), BEN, HABITS) is told


def test_where_there_is_no_bot_what_waits_for_it_is_for_people() -> None:
    talk = a_talk(kind="customer", sender="contact", floor="bot")
    assert concerns(talk, BEN, NotificationSettings(bot_answers=False))


instants = st.integers(-days(3), hours(1)).map(lambda offset: Instant(NOW + offset))
listeners = st.builds(
    a_listener,
    user_id=st.sampled_from([ADA, BEN]),
    connected=st.booleans(),
    seen_at=st.none() | instants,
    notified_at=st.none() | instants,
    notified=st.integers(0, 6).map(Position),
    shown=st.integers(0, 6).map(Position),
    not_before=st.none() | instants,
)


@given(listener=listeners, at=instants)
def test_whatever_the_case_nobody_is_told_who_must_not_be_and_every_wait_is_ahead(
    listener: SubscribedDevice, at: Instant
) -> None:
    decision = decide(a_talk(at=at), listener, HABITS, NOW)
    if isinstance(decision, PushNow):
        assert not listener.connected
        assert listener.user_id != ADA
        assert max(listener.shown, listener.notified) < 5
        back = (
            listener.seen_at is not None
            and listener.notified_at is not None
            and listener.seen_at > listener.notified_at
        )
        assert listener.notified_at is None or back or NOW - listener.notified_at >= HABITS.again
    assert not isinstance(decision, PushWait) or decision.until > NOW


@given(listener=listeners, at=instants)
def test_waiting_comes_to_an_end(listener: SubscribedDevice, at: Instant) -> None:
    """A user who is checked again as scheduled, without a change, has a decision after a few checks."""
    now, decision = NOW, decide(a_talk(at=at), listener, HABITS, NOW)
    for _ in range(3):
        if isinstance(decision, PushWait):
            now = decision.until
            decision = decide(a_talk(at=at), listener, HABITS, now)
    assert not isinstance(decision, PushWait)


def test_a_notice_says_how_many_wait_and_how_the_last_begins() -> None:
    talk = a_talk(title="Team\nlunch", words="One " * 99)
    told = notification(talk, a_listener(unread=12), HABITS)
    assert (told.title, told.count, told.conversation_id) == ("Team lunch", 12, "7")
    assert told.text is not None
    assert told.text.endswith("One…")
    assert len(told.text) <= LONGEST_PREVIEW


def test_a_notice_shows_no_text_where_none_is_wanted_or_there_is_none() -> None:
    assert notification(a_talk(), a_listener(), NotificationSettings(preview=False)).text is None
    assert notification(a_talk(words=" \n"), a_listener(), HABITS).text is None
    assert notification(a_talk(), a_listener(unread=0), HABITS).count == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("short", "short"),
        ("a  b\n\tc", "a b c"),
        ("exactly ten", "exactly…"),
        ("unbreakablyлong", "unbreakab…"),
        ("turn\u202eed", "turn ed"),
        ("nul\0l\x1b[1m", "nul l [1m"),
        ("half \ud83d", "half"),
        ("👩‍👩‍👧", "👩‍👩‍👧"),
        ("", ""),
    ],
)
def test_a_preview_is_one_plain_line(text: str, line: str) -> None:
    assert shortened(text, 10) == line


@given(text=st.text(st.characters()), limit=st.integers(2, 50))
def test_a_preview_is_never_too_long_and_can_be_written(text: str, limit: int) -> None:
    line = shortened(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    line.encode()


def test_what_a_try_led_to() -> None:
    talk, listener = a_talk(), a_listener()
    assert verdict_after(PushDelivered(), talk, listener, HABITS, NOW, 0.0) == Notified(Position(5), NOW)
    assert verdict_after(PushGone(), talk, listener, HABITS, NOW, 0.0) == SubscriptionDead()
    assert verdict_after(PushRefused("413"), talk, listener, HABITS, NOW, 0.0) == NotifyDropped(Position(5), "413")
    later = verdict_after(PushRetry("503"), talk, listener, HABITS, NOW, 0.0)
    assert later == NotifyLater(Instant(NOW + seconds(30)), "503")
    asked = verdict_after(PushRetry("429", minutes(20)), talk, listener, HABITS, NOW, 0.0)
    assert asked == NotifyLater(Instant(NOW + minutes(20)), "429")


def test_nobody_tries_for_longer_than_a_notice_is_worth() -> None:
    old = a_talk(at=ago(Span(days(2) - minutes(1))))
    assert verdict_after(PushRetry("503", minutes(1)), old, a_listener(), HABITS, NOW, 0.0) == NotifyDropped(
        Position(5), "503"
    )


def test_waits_double_up_to_an_hour_and_never_undercut_what_was_asked() -> None:
    assert [wait_after(failures, None, 0.0) for failures in (0, 1, 2, 99)] == [
        seconds(30),
        minutes(1),
        minutes(2),
        hours(1),
    ]
    assert wait_after(0, hours(3), 0.0) == hours(3)
    assert wait_after(0, days(400), 0.0) == days(1)
    assert wait_after(0, None, 1.0) == seconds(33)


def test_the_next_look_is_the_first_that_anybody_needs() -> None:
    waits = [PushWait(Instant(NOW + 5), ""), PushWait(Instant(NOW + 9), "")]
    assert next_due_at(waits, [Notified(Position(5), NOW), NotifyLater(Instant(NOW + 3), "")]) == NOW + 3
    assert next_due_at([], [SubscriptionDead(), NotifyDropped(Position(5), "")]) is None


def an_item(**change: Any) -> NotifiableItem:
    fields: dict[str, Any] = {
        "feed": "team:acme",
        "seq": 9,
        "at": ago(seconds(1)),
        "kind": "message",
        "conversation_id": ConversationId(7),
        "position": Position(5),
        "sender": "contact",
        "type": "text",
        "floor": "human",
        "asked": Position(4),
    }
    return NotifiableItem(**fields | change)


ITEMS: list[tuple[str, dict[str, Any], int | None]] = [
    ("a customer's message that waits for people", {}, 5),
    ("one that the bot answers", {"floor": "bot"}, None),
    ("the bot's answer", {"sender": "bot"}, None),
    ("a colleague's answer", {"sender": "ada"}, None),
    ("a reaction", {"type": "reaction"}, None),
    ("a colleague's message", {"feed": "user:ben", "sender": "ada", "floor": None, "asked": None}, 5),
    ("one's own", {"feed": "user:ada", "sender": "ada", "floor": None, "asked": None}, None),
    ("in a large group", {"feed": "group:7", "sender": "ada", "floor": None, "asked": None}, 5),
    ("taken back", {"feed": "user:ben", "sender": "ada", "floor": None, "type": "deleted"}, None),
    ("gone with its conversation", {"sender": None, "type": None, "floor": None}, None),
    ("the bot hands over", {"kind": "floor", "position": None, "sender": None}, 4),
    ("the bot hands over what nobody asked", {"kind": "floor", "asked": Position(0), "sender": None}, None),
    ("somebody takes over", {"kind": "floor", "floor": "ben", "sender": None}, None),
    ("a status", {"kind": "status", "sender": None}, None),
    ("long ago", {"at": ago(days(2))}, None),
]


@pytest.mark.parametrize(("item", "position"), [row[1:] for row in ITEMS], ids=[row[0] for row in ITEMS])
def test_which_items_are_news_for_who_is_away(item: dict[str, Any], position: int | None) -> None:
    assert notifiable_message(an_item(**item), HABITS, NOW) == position


def test_somebody_looks_when_the_grace_is_over() -> None:
    assert first_due_at(an_item(at=NOW), HABITS) == NOW + HABITS.grace


def test_a_burst_is_one_notice_and_after_a_while_one_that_counts_the_rest() -> None:
    """Twenty messages, one every six seconds, and no user returns."""
    written = [Instant(NOW + seconds(6 * number)) for number in range(20)]
    listener, told = a_listener(shown=Position(0)), []
    due: Instant | None = None
    for second in range(3600):
        now = Instant(NOW + seconds(second))
        if now in written:
            due = min(due or Instant(NOW + days(9)), first_due_at(an_item(at=now), HABITS))
        if due is None or due > now:
            continue
        count = sum(at <= now for at in written)
        talk = a_talk(at=written[count - 1], latest=Position(count))
        match decide(talk, replace(listener, unread=count), HABITS, now):
            case PushNow(sent):
                told.append((second, sent.count))
                listener, due = replace(listener, notified=talk.latest, notified_at=now), None
            case PushWait(until):
                due = until
            case PushSkip():
                due = None
    assert told == [(10, 2), (610, 20)]
