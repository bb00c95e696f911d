"""What an inbound message says of its sender, its time, and whether it wants an answer; any shape, never a raise."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.model.conversation import InboundMessage, MediaReference, TurnTiming
from waypost.model.ids import NumberId, OrgId
from waypost.model.time import Instant, days, from_unix
from waypost.model.webhook import JournalItem
from waypost.rules.receiving import envelope, webhook

ORG, NUMBER = OrgId("acme"), NumberId("106540352242922")
PHONE, USER = "16505551234", "US.13491208655302741918"
WRITTEN = from_unix(1_744_344_496)
NOW = Instant(WRITTEN + days(1))
ANN: dict[str, Any] = {"profile": {"name": "Sheena Nelson", "username": "sheena"}, "wa_id": PHONE, "user_id": USER}
TIMES = TurnTiming()
SHA = "DF2lS5v2W6x="


def message(kind: str = "text", content: Any = None, from_: str | None = PHONE, **more: Any) -> dict[str, Any]:
    """As Meta formats it; None removes a field."""
    fields = {"from": from_, "from_user_id": USER, "id": "wamid.1", "timestamp": "1744344496", "type": kind}
    inner = {} if content is None else {kind: content}
    return {name: value for name, value in {**fields, **inner, **more}.items() if value is not None}


def read(
    *messages: Any, contacts: Any = (ANN,), times: TurnTiming | None = TIMES
) -> tuple[list[InboundMessage], list[JournalItem]]:
    metadata = {"display_phone_number": "15550783881", "phone_number_id": NUMBER}
    inside = {"metadata": metadata, "contacts": contacts, "messages": list(messages)}
    body = {"entry": [{"id": "waba", "changes": [{"field": "messages", "value": inside}]}]}
    (part,) = envelope.parts(json.dumps(body).encode())
    found = webhook.read(part, ORG, NUMBER, NOW, times)
    return found.inbound, found.items


def one(*messages: Any, **more: Any) -> InboundMessage:
    (arrival,), items = read(*messages, **more)
    assert items == []
    return arrival


FILE = {"mime_type": "image/jpeg", "sha256": SHA, "id": "m-1", "url": "https://x"}
KINDS: dict[str, tuple[dict[str, Any], bool, bool]] = {
    "text": (message("text", {"body": "hi"}), True, True),
    "a reply": (message("text", {"body": "hi"}, context={"from": "1555", "id": "wamid.0"}), True, True),
    "forwarded": (message("text", {"body": "hi"}, context={"forwarded": True}), True, True),
    "from an ad": (message("text", {"body": "hi"}, referral={"source_type": "ad", "ctwa_clid": "x"}), True, True),
    "image": (message("image", FILE | {"caption": "look"}), True, True),
    "video": (message("video", FILE), True, True),
    "voice": (message("audio", FILE | {"voice": True}), True, True),
    "document": (message("document", FILE | {"filename": "a.pdf"}), True, True),
    "sticker": (message("sticker", FILE | {"animated": False}), True, True),
    "location": (message("location", {"latitude": 1.5, "longitude": 2}), True, True),
    "contacts": (message("contacts", [{"name": {"formatted_name": "Bob"}}]), True, True),
    "button": (message("button", {"payload": "p", "text": "Yes"}), True, True),
    "interactive": (message("interactive", {"type": "button_reply", "button_reply": {"id": "1"}}), True, True),
    "interactive without a content": (message("interactive"), True, True),
    "order": (message("order", {"catalog_id": "c", "product_items": []}), True, True),
    "unsupported": (message("unsupported", {"type": "poll_creation"}, errors=[{"code": 131051}]), True, True),
    "request_welcome": (message("request_welcome"), True, True),
    "a kind that does not exist yet": (message("hologram", {"depth": 3}), True, True),
    "without a kind": (message("text") | {"type": None}, True, True),
    "reaction": (message("reaction", {"message_id": "wamid.0", "emoji": "👍"}), False, True),
    "a reaction taken back": (message("reaction", {"message_id": "wamid.0"}), False, True),
    "edit": (message("edit", {"original_message_id": "wamid.0", "message": {"type": "text"}}), False, False),
    "revoke": (message("revoke", {"original_message_id": "wamid.0"}), False, False),
    "system": (message("system", {"type": "customer_identity_changed", "body": "x"}), False, False),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_kept_whole_and_known_by_its_writer(name: str) -> None:
    told, asks, opens = KINDS[name]
    arrival = one(told)
    assert (arrival.asks, arrival.opens_window) == (asks, opens)
    assert (arrival.wamid, arrival.at, arrival.org_id, arrival.number) == ("wamid.1", WRITTEN, ORG, NUMBER)
    assert json.loads(arrival.body) == told
    assert arrival.addresses == (f"phone:+{PHONE}", f"user:{USER}")
    assert (arrival.reply_to, arrival.name, arrival.username) == (f"+{PHONE}", "Sheena Nelson", "sheena")


def test_without_a_bot_nothing_asks_for_its_answer() -> None:
    assert one(message(), times=None).asks is False


@pytest.mark.parametrize("kind", ["image", "video", "audio", "document", "sticker"])
def test_a_file_is_noted(kind: str) -> None:
    note = MediaReference(provider_id="m-1", mime_type="image/jpeg", sha256=SHA, filename=None)
    assert one(message(kind, FILE)).media == note


@pytest.mark.parametrize("content", [None, 5, [], {}, {"id": ""}, {"id": 5}, {"id": "x" * 300}])
def test_a_file_without_an_id_is_a_message_without_a_file(content: Any) -> None:
    assert one(message("image", content)).media is None


CHANGED: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "a new number": (
        message("system", {"type": "user_changed_number", "wa_id": "491511111111", "user_id": "DE.2"},
                from_user_id=None),
        ("phone:+491511111111", f"phone:+{PHONE}", "user:DE.2"),
        "+491511111111",
    ),
    "the old spelling": (
        message("system", {"type": "customer_changed_number", "new_wa_id": "491511111111", "customer": PHONE},
                from_user_id=None, from_=None),
        ("phone:+491511111111", f"phone:+{PHONE}"),
        "+491511111111",
    ),
    "a new user id": (
        message("system", {"type": "user_changed_user_id", "user_id": "US.2", "previous_user_id": USER},
                from_user_id=None, from_=None),
        ("user:US.2", f"user:{USER}"),
        "US.2",
    ),
    "a content that is none": (message("system", 5), (f"phone:+{PHONE}", f"user:{USER}"), f"+{PHONE}"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_who_has_changed_is_known_by_the_new_and_the_old(name: str) -> None:
    told, addresses, reply_to = CHANGED[name]
    arrival = one(told, contacts=[])
    assert (arrival.addresses, arrival.reply_to) == (addresses, reply_to)
    assert (arrival.asks, arrival.opens_window) == (False, False)


BOB = {"profile": {"name": "Bob"}, "wa_id": "491522222222", "user_id": "DE.7"}
HIDDEN = {"profile": {"name": "Cy"}, "user_id": "FR.9"}


@pytest.mark.parametrize(
    ("told", "contacts", "addresses", "name"),
    [
        (message(), [BOB, ANN], (f"phone:+{PHONE}", f"user:{USER}"), "Sheena Nelson"),
        (message(), [BOB], (f"phone:+{PHONE}", f"user:{USER}"), None),
        (message(from_user_id=None), [ANN], (f"phone:+{PHONE}", f"user:{USER}"), "Sheena Nelson"),
        (message() | {"from": f"+{PHONE}"}, [ANN], (f"phone:+{PHONE}", f"user:{USER}"), "Sheena Nelson"),
        (message() | {"from": int(PHONE)}, [ANN], (f"phone:+{PHONE}", f"user:{USER}"), "Sheena Nelson"),
        (message(from_=None), [ANN], (f"phone:+{PHONE}", f"user:{USER}"), "Sheena Nelson"),
        (message(from_user_id="FR.9", from_=None), [ANN, HIDDEN], ("user:FR.9",), "Cy"),
        (message(from_user_id="FR.9", from_=None), [ANN], ("user:FR.9",), None),
        (message(from_user_id=None, from_=None), [HIDDEN], ("user:FR.9",), "Cy"),
        (message(), [5, None, {"wa_id": []}, ANN], (f"phone:+{PHONE}", f"user:{USER}"), "Sheena Nelson"),
        (message(), 5, (f"phone:+{PHONE}", f"user:{USER}"), None),
        (message() | {"from": "5521987654321"}, [], ("phone:+5521987654321", f"user:{USER}"), None),
    ],
)  # fmt: skip
def test_who_wrote_it(told: Any, contacts: Any, addresses: tuple[str, ...], name: str | None) -> None:
    arrival = one(told, contacts=contacts)
    assert (arrival.addresses, arrival.name) == (addresses, name)


def test_two_forms_of_one_number_are_one_address() -> None:
    arrival = one(message(from_user_id=None) | {"from": "552187654321"}, contacts=[{"wa_id": "5521987654321"}])
    assert arrival.addresses == ("phone:+5521987654321",)
    assert arrival.reply_to == "+552187654321"


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (message(from_user_id=None, from_=None), "who wrote"),
        (message(from_user_id=None) | {"from": "a name"}, "who wrote"),
        (message(group_id="g-1"), "group"),
        (message() | {"group_id": 5}, "group"),
        (message() | {"id": ""}, "without an id"),
        (message() | {"id": "x" * 300}, "300 characters"),
        (message() | {"id": 5}, "str"),
        (5, "without an id"),
    ],
)
def test_what_cannot_be_filed_is_kept_with_its_reason(told: Any, why: str) -> None:
    arrivals, (kept,) = read(told, contacts=[])
    assert arrivals == []
    assert (kept.kind, kept.state) == ("message", "failed")
    assert why in (kept.error or "")
    assert json.loads(kept.body) == told


@pytest.mark.parametrize("odd", ["soon", "", "-1", "nan", "1e999", 10**15, [], {}, True])
def test_a_message_without_a_time_of_its_own_was_written_now_and_opens_nothing(odd: Any) -> None:
    arrival = one(message() | {"timestamp": odd})
    assert (arrival.at, arrival.opens_window) == (NOW, False)


def test_nobody_writes_in_the_future() -> None:
    assert one(message(timestamp="1999999999")).at == NOW


@pytest.mark.parametrize("field", ["from_user_id", "type", "timestamp", "context", "from"])
@pytest.mark.parametrize("odd", [5, 1.5, True, [], {}, "\0", "x" * 3000, 10**25])
def test_one_odd_field_does_not_lose_the_message(field: str, odd: Any) -> None:
    arrivals, items = read(message() | {field: odd}, message(id="wamid.2"))
    assert len(arrivals) + len(items) == 2
    assert "wamid.2" in {arrival.wamid for arrival in arrivals}
    assert all("\0" not in f"{a.addresses}{a.type}{a.name}{a.reply_to}" for a in arrivals)


JUNK = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
FIELDS = ("from", "from_user_id", "id", "timestamp", "type", "group_id", "text", "image", "system", "context")


@settings(max_examples=400, deadline=None)
@given(
    told=st.one_of(JUNK, st.dictionaries(st.sampled_from(FIELDS), JUNK)),
    contacts=st.one_of(JUNK, st.lists(st.dictionaries(st.sampled_from(("wa_id", "user_id", "profile")), JUNK))),
    kind=st.sampled_from(("text", "image", "system", "reaction")),
)
def test_any_shape_is_read_or_kept_and_its_neighbour_too(told: Any, contacts: Any, kind: str) -> None:
    mixed = message(kind, id="wamid.mixed") | (told if isinstance(told, dict) else {})
    arrivals, items = read(told, mixed, message(id="wamid.good"), contacts=contacts)
    assert len(arrivals) + len(items) == 3
    assert arrivals[-1].wamid == "wamid.good"
    assert all(arrival.addresses for arrival in arrivals)


def test_many_messages_beside_many_contacts_are_read_in_no_time() -> None:
    contacts = [{"wa_id": str(10**11 + n), "profile": {"name": str(n)}} for n in range(20_000)]
    messages = [message(id=f"wamid.{n}", from_user_id=None) | {"from": str(10**11 + n)} for n in range(5_000)]
    started = time.process_time()
    arrivals, _ = read(*messages, contacts=contacts)
    assert time.process_time() - started < 3
    assert [arrival.name for arrival in arrivals[-2:]] == ["4998", "4999"]
