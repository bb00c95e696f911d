"""What a webhook POST brings: kept whole and once, each item for itself, whatever stands beside it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import Account, a_text, change, envelope, status, status_post

TABLES = (
    "report",
    "journal",
    "wamid",
    "event",
    "attempt",
    "delivery",
    "contact",
    "contact_address",
    "conversation",
    "entry",
    "arrival",
    "lane",
    "feed",
    "feed_item",
    "pair",
    "dossier",
    "audit",
)


async def everything(stage: Stage) -> dict[str, list[tuple[Any, ...]]]:
    return {table: sorted(await stage.database.run(f"SELECT * FROM {table}"), key=repr) for table in TABLES}


# What is kept


async def test_the_same_body_twice_changes_nothing_the_second_time(stage: Stage) -> None:
    _, wamid = await stage.sent_silently()
    statuses = [status(wamid, kind) for kind in ("sent", "delivered", "read")] + [status("wamid.unknown", "sent")]
    messages = [a_text("wamid.in"), {"type": "mystery"}]
    unknown = {"field": "future", "value": change(stage.acme)["value"] | {"surprise": [1, 2]}}
    body = envelope((stage.acme, [change(stage.acme, statuses=statuses, messages=messages), unknown]))
    assert (await stage.post(body)).status == 200
    before = await everything(stage)
    stage.manual.advance(stage.world.tuning.poll)
    assert (await stage.post(body)).status == 200
    assert await everything(stage) == before


async def test_inbound_messages_are_kept_whole_and_once(stage: Stage) -> None:
    second = await stage.add_server()
    stage.network.hosts["second.test"] = second.app
    message = a_text("wamid.in", "ä 😀 \u0000 / end", context={"id": "wamid.out"})
    contacts = [{"profile": {"name": "Sheena 😀"}, "wa_id": "16505551234"}]
    body = envelope((stage.acme, [change(stage.acme, messages=[message, message], contacts=contacts)]))
    hosts = ["waypost.test", "second.test"] * 10
    answers = await asyncio.gather(*(stage.post(body, host=host) for host in hosts))
    assert {answer.status for answer in answers} == {200}
    ((wamid, body_kept),) = await stage.customer_messages()
    assert (wamid, json.loads(body_kept)) == ("wamid.in", message)
    assert await stage.database.run("SELECT name FROM contact") == [("Sheena 😀",)]
    assert await stage.journal() == []


async def test_the_same_wamid_on_two_numbers_is_two_messages(stage: Stage, initech: Account) -> None:
    parts = [(account, [change(account, messages=[a_text("wamid.same")])]) for account in (stage.acme, initech)]
    assert (await stage.post(envelope(*parts))).status == 200
    assert len(await stage.customer_messages()) == len(await stage.customer_messages(initech)) == 1


UNKNOWN: dict[str, Any] = {
    "a message type that does not exist yet": {"messages": [a_text("wamid.x") | {"type": "hologram", "hologram": {}}]},
    "an error of the account": {"errors": [{"code": 131000, "title": "Something went wrong"}]},
    "a status that does not exist yet": {"statuses": [status("wamid.x", "teleported")]},
    "a list that does not exist yet": {"telepathies": [{"id": 1}]},
    "nothing at all": {},
}


@ON_SQLITE
@pytest.mark.parametrize("what", UNKNOWN)
async def test_what_is_not_known_is_kept_whole(stage: Stage, what: str) -> None:
    for field in ("messages", "something_new"):
        body = envelope((stage.acme, [change(stage.acme, **UNKNOWN[what]) | {"field": field}]))
        assert (await stage.post(body)).status == 200
    kept = [item["body"] for item in await stage.journal()] + [body for _, body in await stage.customer_messages()]
    assert kept
    inner: Any = next(iter(UNKNOWN[what].values()), [{}])[0]
    assert all(json.dumps(inner, separators=(",", ":"))[1:-1] in body for body in kept)


BAD_ITEMS: list[Any] = [
    None, True, 5, "text", [], [[]], {}, {"id": 5}, {"id": None}, {"id": ""}, {"id": "x", "status": 5},
    status("wamid.bad", "delivered", timestamp="never"),
    status("wamid.bad", "delivered", timestamp="-1"),
    status("wamid.bad", "delivered", timestamp=10**40),
    status("wamid.bad", "delivered", timestamp="nan"),
    status("wamid.bad", "delivered", timestamp=[]),
    status("", "delivered"),
    status("w" * 100_000, "delivered"),
    status("wamid.bad", "delivered", recipient_participant_id="p" * 10_000),
    status("wamid.bad", "delivered", recipient_id="1" * 10_000),
    status("wamid.bad", "failed", errors=[{"code": "x" * 100_000, "title": "y" * 100_000}]),
    status("wamid.bad", "failed", errors={"code": 5}),
    status("wamid.bad", "failed", errors=[5, None, "x", {"error_data": "text"}]),
    status("wamid.bad", "failed", errors=[{"code": {"a": 1}, "error_data": {"details": [1]}}]),
    status("wamid.bad", "delivered", biz_opaque_callback_data=5),
    status("wamid.bad", "delivered", biz_opaque_callback_data="wp1." + "9" * 19 + ".1"),
    status("wamid.bad", "delivered", pricing="text", conversation=5),
]  # fmt: skip


async def test_a_bad_item_never_loses_its_neighbours(stage: Stage) -> None:
    for n, bad in enumerate(BAD_ITEMS):
        good = [status(f"wamid.good.{n}.{place}", "sent") for place in range(2)]
        messages = [a_text(f"wamid.in.{n}.{place}") for place in range(2)]
        body = envelope(
            (
                stage.acme,
                [change(stage.acme, statuses=[good[0], bad, good[1]], messages=[messages[0], bad, messages[1]])],
            )
        )
        assert (await stage.post(body)).status == 200, bad
        stored = {wamid for (wamid,) in await stage.database.run("SELECT wamid FROM report")}
        said = {wamid for wamid, _ in await stage.customer_messages()}
        assert {one["id"] for one in good} <= stored, bad
        assert {one["id"] for one in messages} <= said, bad


async def test_a_status_that_says_what_it_must_counts_though_the_rest_is_malformed(stage: Stage) -> None:
    message_id, wamid = await stage.sent_silently()
    malformed = status(wamid, "delivered", errors="none", recipient_id=5, recipient_participant_id=[], pricing=1)
    assert (await stage.post(status_post(stage.acme, malformed))).status == 200
    await stage.becomes(message_id, "DELIVERED")
    assert (await stage.kinds(message_id))[-1] == "status"


WHOLE = object()
BAD_PARTS: dict[str, Any] = {
    "an entry that is no object": {"entry": [5, WHOLE]},
    "an entry whose id is a number": {"entry": [{"id": 5, "changes": [WHOLE]}]},
    "an entry whose time is a text": {"entry": [{"id": "x", "time": "yesterday", "changes": [WHOLE]}]},
    "an entry whose time is a fraction": {"entry": [{"id": "x", "time": 1.5, "changes": [WHOLE]}]},
    "changes that are no objects": {"entry": [{"id": "x", "changes": [None, 5, [], WHOLE, "x"]}]},
    "a change whose field is a number": {"entry": [{"id": "x", "changes": [{"field": 5, "value": {}}, WHOLE]}]},
    "changes that are none": {"entry": [{"id": "x", "changes": 5}, {"id": "x", "changes": [WHOLE]}]},
    "an object that is none": {"object": 5, "entry": [{"id": "x", "changes": [WHOLE]}]},
}


@ON_SQLITE
@pytest.mark.parametrize("what", BAD_PARTS)
async def test_a_malformed_envelope_never_loses_what_is_well_formed_in_it(stage: Stage, what: str) -> None:
    good = change(stage.acme, statuses=[status("wamid.good", "sent")])

    def filled(value: Any) -> Any:
        if value is WHOLE:
            return {"id": "x", "changes": [good]} if "no object" in what and "entry" in what else good
        if isinstance(value, dict):
            return {key: filled(inner) for key, inner in value.items()}
        return [filled(inner) for inner in value] if isinstance(value, list) else value

    assert (await stage.post(filled(BAD_PARTS[what]))).status == 200
    assert await stage.database.run("SELECT wamid FROM report") == [("wamid.good",)]


@ON_SQLITE
@pytest.mark.parametrize("broken", [5, "x", None, {}, {"id": "wamid.lost"}])
@pytest.mark.parametrize("name", ["statuses", "messages", "errors", "contacts"])
async def test_a_malformed_list_never_loses_the_lists_beside_it(stage: Stage, name: str, broken: Any) -> None:
    value = {"statuses": [status("wamid.good", "sent")], "messages": [a_text("wamid.in")]} | {name: broken}
    assert (await stage.post(envelope((stage.acme, [change(stage.acme, **value)])))).status == 200
    if name != "statuses":
        assert await stage.database.run("SELECT wamid FROM report") == [("wamid.good",)]
    if name != "messages":
        assert "wamid.in" in {wamid for wamid, _ in await stage.customer_messages()}


# Characters that a database may not like


HOSTILE = {
    "NUL": "a\u0000b",
    "half an emoji": "a\ud83d",
    "the other half": "\ude00b",
    "halves in the wrong order": "\ude00\ud83d",
    "private and beyond": "\ufdd0\uffff\U0010ffff",
    "right to left": "\u202eabc",
}
_HOSTILE_STATUS = ("id", "status", "recipient_id", "recipient_participant_id", "biz_opaque_callback_data", "type")


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_characters_in_any_stored_field_cost_nobody_anything(stage: Stage, name: str) -> None:
    text = HOSTILE[name]
    message_id, wamid = await stage.sent_silently()
    statuses = [status(f"wamid.{field}", "failed") | {field: text} for field in _HOSTILE_STATUS]
    for error in ({"code": text}, {"code": 1, "title": text}, {"code": 1, "error_data": {"details": text}}):
        statuses.append(status(f"wamid.{len(statuses)}", "failed", errors=[error]))
    messages = [a_text(f"in.{field}") | {field: text} for field in ("id", "from", "type", "text", "timestamp")]
    value = change(stage.acme, statuses=[*statuses, status(wamid, "read")], messages=[*messages, a_text("in.good")])
    value["value"]["contacts"] = [{"profile": {"name": text}}]
    odd = {"field": f"odd {text}", "value": value["value"] | {"statuses": [], "messages": [], text: text}}
    body = envelope((stage.acme, [odd, value]))
    content = json.dumps(body).encode()
    assert (await stage.post(content)).status == 200
    assert (await stage.message(message_id))["readAt"] is not None
    assert "in.good" in {wamid for wamid, _ in await stage.customer_messages()}
    assert await stage.kinds(message_id)
    before = await everything(stage)
    assert (await stage.post(content)).status == 200
    assert await everything(stage) == before


async def test_bytes_that_are_no_utf8_cost_nobody_anything(stage: Stage) -> None:
    message_id, wamid = await stage.sent_silently()
    statuses = [status(f"wamid.{n}", "failed", errors=[{"code": 1, "title": "HERE"}]) for n in range(2)]
    messages = [a_text("in.HERE", "HERE"), a_text("in.good")]
    body = envelope((stage.acme, [change(stage.acme, statuses=[*statuses, status(wamid, "read")], messages=messages)]))
    for broken in (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x9f\x98"):
        content = json.dumps(body).encode().replace(b"HERE", broken)
        assert (await stage.post(content)).status == 200
    assert (await stage.message(message_id))["readAt"] is not None
    assert "in.good" in {wamid for wamid, _ in await stage.customer_messages()}


async def test_of_a_key_that_is_there_twice_the_last_one_counts(stage: Stage) -> None:
    _, wamid = await stage.sent_silently()
    body = json.dumps(status_post(stage.acme, status(wamid, "delivered"))).encode()
    doubled = body.replace(b'"status": "delivered"', b'"status": "failed", "status": "delivered"')
    doubled = doubled.replace(b'"entry":', b'"entry": [], "entry":')
    assert (await stage.post(doubled)).status == 200
    assert await stage.database.run("SELECT kind FROM report") == [("delivered",)]
