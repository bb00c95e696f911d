"""Shapes that nobody should post, and some that a machine thought of: always an answer, never a loss."""

from __future__ import annotations

import json
import re
import string
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import TRIED, examples
from tests.integration.stage.harness import MESSAGES as SENT
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import Account, a_number, a_text, change, envelope, status, status_post
from waypost.rules.text.deep_json import MOST_BRACKETS

TALKS = "/api/v1/conversations"

# Shapes that a server may not like


@pytest.mark.parametrize("depth", [50, 500, 900, 1000, 5000, 40_000])
@ON_SQLITE
async def test_deep_nesting_is_answered(stage: Stage, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    message_id, wamid = await stage.sent_silently()
    places = [
        status_post(stage.acme, status(wamid, "sent", deep="HERE")),
        status_post(stage.acme, status(wamid, "failed", errors=[{"code": 1, "error_data": "HERE"}])),
        envelope((stage.acme, [change(stage.acme, messages=[a_text("in", context="HERE")])])),
        envelope((stage.acme, [change(stage.acme, contacts="HERE")])),
        envelope((stage.acme, [change(stage.acme) | {"value": "HERE"}])),
    ]
    for place in places:
        content = json.dumps(place).replace('"HERE"', deep).encode()
        assert (await stage.post(content)).status == (200 if depth < MOST_BRACKETS else 400)
    assert (await stage.kinds(message_id))[0] == "submitted"


@pytest.mark.parametrize("item", ["0", "{}"])
@pytest.mark.parametrize("where", ["statuses", "messages", "errors", "changes", "entry"])
@ON_SQLITE
async def test_huge_arrays_are_answered_soon_and_cost_no_more_than_one_item(
    stage: Stage, where: str, item: str
) -> None:
    many = "[" + ",".join([item] * (2_500_000 // (len(item) + 1))) + "]"
    good = change(stage.acme, statuses=[status("wamid.good", "sent")])
    body = envelope((stage.acme, [good]))
    if where == "entry":
        content = json.dumps(body).replace('"entry": [', f'"entry": [{many[1:-1]},', 1)
    elif where == "changes":
        content = json.dumps(body).replace('"changes": [', f'"changes": [{many[1:-1]},', 1)
    else:
        body["entry"][0]["changes"].append(change(stage.acme, **{where: "HERE"}))
        content = json.dumps(body).replace('"HERE"', many)
    started = time.process_time()
    answer = await stage.post(content.encode())
    assert time.process_time() - started < 15, "a second or three on a busy machine; anything quadratic takes minutes"
    assert answer.status in (200, 400)
    if answer.status == 200:
        assert await stage.database.run("SELECT wamid FROM report") == [("wamid.good",)]
        assert len(await stage.journal()) <= 1


async def test_a_thousand_messages_beside_as_many_contacts_are_answered_soon(stage: Stage) -> None:
    phones = [str(49_151_000_000_000 + n) for n in range(1000)]
    messages = [a_text(f"wamid.{n}") | {"from": phone, "from_user_id": f"DE.{n}"} for n, phone in enumerate(phones)]
    contacts = [{"wa_id": p, "user_id": f"DE.{n}", "profile": {"name": p}} for n, p in enumerate(phones)]
    body = envelope((stage.acme, [change(stage.acme, messages=messages, contacts=contacts[::-1])]))
    started = time.process_time()
    for _ in range(2):
        assert (await stage.post(body)).status == 200
    assert time.process_time() - started < 5
    assert {wamid for wamid, _ in await stage.customer_messages()} == {message["id"] for message in messages}
    assert await stage.database.run("SELECT count(*) FROM contact WHERE name = met_as") == [(0,)]
    assert await stage.database.run("SELECT count(*) FROM contact c WHERE 'phone:+' || c.name = c.met_as") == [(1000,)]


@pytest.mark.parametrize("message", [{"from": "HERE"}, {"id": "HERE"}, {"text": "HERE"}, {"type": "HERE"}], ids=str)
@ON_SQLITE
async def test_a_message_with_a_huge_field_does_not_lose_its_neighbour(stage: Stage, message: dict[str, Any]) -> None:
    body = envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.huge") | message, a_text("wamid.in")])]))
    for huge in ('"' + "x" * 1_000_000 + '"', "9" * 1_000_000, "[" + "0," * 500_000 + "0]"):
        started = time.process_time()
        answer = await stage.post(json.dumps(body).replace('"HERE"', huge).encode())
        assert time.process_time() - started < 3
        assert answer.status == 200
    assert "wamid.in" in {wamid for wamid, _ in await stage.customer_messages()}


ODD_NUMBERS = ("1e999", "-1e999", "9" * 5000, "-" + "9" * 5000, "9" * 4000, "1e-999")


@pytest.mark.parametrize("odd", [*ODD_NUMBERS, *("[" * n + "]" * n for n in (99, 500, 900))], ids=lambda odd: odd[:9])
@pytest.mark.parametrize(
    "message",
    [
        a_text("wamid.odd", x="HERE"),
        a_text("wamid.odd", type="location", location={"latitude": "HERE", "name": "Office"}),
        a_text("wamid.odd", type="button", button={"text": "Yes", "payload": "HERE"}),
        a_text("wamid.odd", type="dance", dance="HERE"),
    ],
    ids=lambda message: message["type"],
)
@ON_SQLITE
async def test_an_odd_number_costs_no_message_and_no_page(stage: Stage, message: dict[str, Any], odd: str) -> None:
    body = envelope((stage.acme, [change(stage.acme, messages=[message, a_text("wamid.beside")])]))
    assert (await stage.post(json.dumps(body).replace('"HERE"', odd).encode())).status == 200
    assert [wamid for wamid, _ in await stage.customer_messages()] == ["wamid.odd", "wamid.beside"]
    assert (await stage.get(f"{TALKS}/1"))["last_message"]["content"] == {"type": "text", "text": "hi"}
    shown = (await stage.get(f"{TALKS}/1/messages"))["messages"]
    assert [each["content"]["type"] for each in shown] == ["text", message["type"]]


@pytest.mark.parametrize("depth", [99, *range(900, 991, 15), 5000, 25_000])
@ON_SQLITE
async def test_what_nests_deep_costs_its_neighbours_nothing(stage: Stage, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    body = envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.deep", x="HERE"), a_text("wamid.in")])]))
    answer = await stage.post(json.dumps(body).replace('"HERE"', deep).encode())
    assert answer.status == 200
    assert [wamid for wamid, _ in await stage.customer_messages()] == ["wamid.deep", "wamid.in"]
    shown = (await stage.get(f"{TALKS}/1/messages"))["messages"]
    assert [each["content"] for each in shown] == [{"type": "text", "text": "hi"}] * 2


@ON_SQLITE
async def test_a_stop_beside_an_odd_number_is_heard(stage: Stage) -> None:
    body = envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.stop", "STOP", x="HERE")])]))
    assert (await stage.post(json.dumps(body).replace('"HERE"', "1e999").encode())).status == 200
    (confirmation,) = await stage.get(SENT)
    assert confirmation["idempotencyKey"].startswith("consent:")


# Fuzz


def posted(body: Any) -> bytes:
    """With numbers that Python would not write."""
    return re.sub(r'"odd (-?[0-9][^"]*)"(?!:)', r"\1", json.dumps(body)).encode()


TEXTS = st.one_of(st.text(max_size=20), st.text(alphabet="\u0000\ud83d\ude00\\u/\"'", max_size=6), st.just("x" * 3000))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
JUNK = st.recursive(
    st.one_of(SCALARS, st.sampled_from([10**30, -(10**30), 2**63]), st.sampled_from(ODD_NUMBERS).map("odd {}".format)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
PATH = st.lists(st.integers(0, 30), max_size=9)
ACME = Account("acme", "", a_number("1001"))
ANN = {"profile": {"name": "Ann", "username": "ann"}, "wa_id": "16505551234", "user_id": "US.1"}
FILE = {"id": "m-1", "mime_type": "image/jpeg", "sha256": "DF2lS5v2W6x=", "filename": "a.jpg"}
MESSAGES: list[dict[str, Any]] = [
    a_text("wamid.in", context={"from": "1", "id": "wamid.0"}, from_user_id="US.1", referral={"source_type": "ad"}),
    a_text("wamid.in", type="image", image=FILE),
    a_text("wamid.in", type="contacts", contacts=[{"name": {"formatted_name": "Bob"}, "phones": [{"phone": "+1"}]}]),
    a_text("wamid.in", type="interactive", interactive={"type": "button_reply", "button_reply": {"id": "1"}}),
    a_text("wamid.in", type="order", order={"catalog_id": "c", "product_items": [{"quantity": 1, "item_price": 2.5}]}),
    a_text("wamid.in", type="reaction", reaction={"message_id": "wamid.0", "emoji": "x"}),
    a_text(
        "wamid.in", type="system", system={"type": "user_changed_number", "wa_id": "4915111111111", "user_id": "DE.2"}
    ),
    a_text("wamid.in", type="edit", edit={"original_message_id": "wamid.0", "message": {"type": "text"}}),
    a_text("wamid.in", type="unsupported", unsupported={"type": "poll"}, errors=[{"code": 131051}]),
]
SHAPES: list[Any] = [
    status_post(ACME, status("wamid.1", "sent", biz_opaque_callback_data="wp1.1.1", pricing={"category": "service"})),
    status_post(
        ACME, status("wamid.1", "failed", errors=[{"code": 131026, "title": "x", "error_data": {"details": "y"}}])
    ),
    status_post(ACME, status("wamid.1", "read", recipient_participant_id="p", recipient_type="group")),
    envelope((ACME, [change(ACME, messages=[a_text("wamid.in")], contacts=[{"profile": {"name": "x"}}])])),
    *(envelope((ACME, [change(ACME, messages=[each, a_text("wamid.beside")], contacts=[ANN])])) for each in MESSAGES),
    envelope((ACME, [change(ACME, errors=[{"code": 131000}])])),
    {
        "entry": [
            {"id": ACME.number.waba_id, "time": 1, "changes": [{"field": "account_update", "value": {"event": "x"}}]}
        ]
    },
]


def mutated(value: Any, path: list[int], junk: Any) -> Any:
    """The value with what stands at the end of the path replaced, removed or joined by junk."""
    if not isinstance(value, dict | list) or not value or not path:
        return junk
    here, rest = path[0] % len(value), path[1:]
    if isinstance(value, list):
        return [*value[:here], mutated(value[here], rest, junk), *value[here + 1 :]]
    key = list(value)[here]
    if rest and rest[0] % 10 == 9:
        return {name: inner for name, inner in value.items() if name != key} | {string.ascii_letters[here]: junk}
    return value | {key: mutated(value[key], rest, junk)}


@settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    shape=st.sampled_from(SHAPES),
    changes=st.lists(st.tuples(PATH, JUNK), min_size=1, max_size=3),
    number=st.integers(0),
)
async def test_whatever_is_signed_is_never_answered_5xx(
    stage: Stage, shape: Any, changes: list[tuple[list[int], Any]], number: int
) -> None:
    body = shape
    for path, junk in changes:
        body = mutated(body, path, junk)
    name = f"wamid.good.{number % 10**12}"
    beside = [change(stage.acme, statuses=[status(name, "sent")], messages=[a_text(name)])]
    good = envelope((stage.acme, beside))["entry"][0]
    TRIED["webhooks"] += 1
    if isinstance(body, dict) and isinstance(body.get("entry"), list):
        body = body | {"entry": [*body["entry"], good]}
        answer = await stage.post(posted(body))
        assert answer.status == 200, answer
        assert (await stage.call("GET", f"{TALKS}/1/messages")).status == 200
        for table in ("report", "entry"):
            assert await stage.database.run(f"SELECT count(*) FROM {table} WHERE wamid = '{name}'") == [(1,)]
    else:
        answer = await stage.post(posted(body))
        assert answer.status in (200, 400, 404), answer


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.one_of(st.binary(max_size=200), JUNK.map(posted)))
@ON_SQLITE
async def test_whatever_comes_unsigned_is_never_answered_5xx(stage: Stage, body: bytes) -> None:
    TRIED["webhooks"] += 1
    assert (await stage.post(body, signed="sha256=00")).status in (400, 401, 404)
