"""The id of a message in a conversation: a TimeUUID that any reader of such ids understands."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.conversation import ConversationId, Position
from waypost.model.time import Instant, from_unix
from waypost.rules.conversations.entry_ids import LARGEST_CONVERSATION, LARGEST_POSITION, LATEST, EntryId, made, read
from waypost.rules.conversations.reply_keys import TurnOf, key, turn_of

conversations = st.integers(1, LARGEST_CONVERSATION).map(ConversationId)
positions = st.integers(1, LARGEST_POSITION).map(Position)
moments = st.integers(0, LATEST).map(Instant)
NOW = from_unix(1_760_000_000)


def an_id(conversation: int = 7, position: int = 3, id_at: int = NOW) -> EntryId:
    return EntryId(conversation_id=ConversationId(conversation), position=Position(position), id_at=Instant(id_at))


def test_an_id_as_it_is_shown() -> None:
    assert made(an_id()) == "678d4000-a4ed-11f0-8000-01000e000003"


@pytest.mark.parametrize(
    "of",
    [
        an_id(),
        an_id(1, 1, 0),
        an_id(LARGEST_CONVERSATION, LARGEST_POSITION, LATEST),
        an_id(1, LARGEST_POSITION),
        an_id(LARGEST_CONVERSATION, 1),
    ],
)
def test_what_is_made_is_a_time_uuid_and_can_be_read(of: EntryId) -> None:
    found = UUID(made(of))
    assert (found.version, found.variant) == (1, "specified in RFC 4122")
    assert found.time == of.id_at * 10 + 0x01B21DD213814000
    assert found.node >> 40 & 1, "the mark of a node that is no network card"
    assert read(str(found)) == of
    assert read(str(found).upper()) == of


@given(conversations, positions, moments)
def test_whatever_is_made_is_read_back(conversation: ConversationId, position: Position, at: Instant) -> None:
    of = an_id(conversation, position, at)
    assert read(made(of)) == of


@given(conversations, st.lists(st.tuples(positions, moments), min_size=2, unique_by=lambda pair: pair[1]))
def test_in_a_conversation_what_was_stored_later_has_the_later_id(
    conversation: ConversationId, stored: list[tuple[Position, Instant]]
) -> None:
    in_order = sorted(stored, key=lambda pair: pair[1])
    times = [UUID(made(an_id(conversation, position, at))).time for position, at in in_order]
    assert times == sorted(set(times))


@pytest.mark.parametrize(
    "of",
    [
        an_id(0),
        an_id(LARGEST_CONVERSATION + 1),
        an_id(position=0),
        an_id(position=LARGEST_POSITION + 1),
        an_id(id_at=-1),
        an_id(id_at=LATEST + 1),
    ],
)
def test_what_is_out_of_bounds_has_no_id(of: EntryId) -> None:
    with pytest.raises(ValueError, match="out of range for an id"):
        made(of)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "678d4000a4ed11f0800001000e000003",
        "{678d4000-a4ed-11f0-8000-01000e000003}",
        "678d4001-a4ed-11f0-8000-01000e000003",
        "678d4000-a4ed-41f0-8000-01000e000003",
        "678d4000-a4ed-11f0-8000-00000e000003",
        "678d4000-a4ed-11f0-c000-01000e000003",
        "00000000-0000-1000-8000-01000e000003",
        "00000000-0000-0000-0000-000000000000",
        "678d4000-a4ed-11f0-8000-01000e000000",
    ],
)
def test_what_we_did_not_make_names_nothing(text: str) -> None:
    assert read(text) is None


@given(st.uuids())
def test_any_other_uuid_names_nothing_or_exactly_what_makes_it(other: UUID) -> None:
    found = read(str(other))
    assert found is None or made(found) == str(other)


@given(conversations, positions, positions, st.integers(1, 1000))
def test_the_key_of_a_reply_tells_its_turn(
    conversation: ConversationId, lo: Position, hi: Position, number: int
) -> None:
    of = TurnOf(conversation_id=conversation, lo=lo, hi=hi)
    assert turn_of(key(of.id, number)) == of


@pytest.mark.parametrize("text", ["", "turn:", "turn:1-2", "turn:1-2-3", "order-7", "turn:a-b-c:1", "xturn:1-2-3:1"])
def test_a_key_that_somebody_else_made_tells_none(text: str) -> None:
    assert turn_of(text) is None
