"""A phone as a page shows it: the next change is waited for, and what is beside the phone comes along."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from tests.integration.sandbox.conftest import NUMBER, PHONE, Rig
from tests.integration.sandbox.test_messages import order_confirmation
from waypost.model.time import seconds

pytestmark = pytest.mark.anyio

OTHER = "16505550000"


async def look(rig: Rig, after: int = 0, wait: float = 0, phone: str = PHONE) -> dict[str, Any]:
    heard = await rig.control("GET", f"phones/{phone}/screen?after={after}&wait={wait}")
    assert heard.status == 200, heard.body
    told: dict[str, Any] = heard.json
    return told


async def says(rig: Rig, text: str = "hi", phone: str = PHONE, **more: Any) -> str:
    heard = await rig.control("POST", f"phones/{phone}/say", {"text": text, **more})
    assert heard.status == 200, heard.body
    return str(heard.json["wamid"])


async def waits(rig: Rig, after: int, wait: float = 20) -> asyncio.Task[dict[str, Any]]:
    """Somebody who looks, and whose call is under way."""
    waiting = asyncio.ensure_future(look(rig, after, wait))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    return waiting


async def test_the_plain_screen_is_what_it_always_was(rig: Rig) -> None:
    await says(rig)
    heard = (await rig.control("GET", f"phones/{PHONE}/screen")).json
    assert heard.keys() == {"phone", "messages"}
    assert heard["messages"][0].keys() == {"from", "wamid", "type", "text", "message", "status", "at"}


async def test_who_has_seen_nothing_is_answered_at_once_with_everything_beside_it(rig: Rig) -> None:
    await says(rig, name="Ann")
    await rig.send(to=OTHER)
    await rig.sandbox.settled()
    await rig.fault(delay_ms=5, to=OTHER)
    seen = await look(rig, wait=20)
    assert [line["text"] for line in seen["messages"]] == ["hi"]
    assert seen["business"] == {"name": NUMBER.verified_name, "phone": NUMBER.display_phone_number}
    assert seen["phones"] == [
        {"phone": OTHER, "name": "Sandbox 0000", "unread": 1},
        {"phone": PHONE, "name": "Ann", "unread": 0},
    ]
    assert [fault["delay_ms"] for fault in seen["faults"]] == [5]
    assert seen["typing"] is False


async def test_the_next_change_ends_the_wait(rig: Rig) -> None:
    seen = await look(rig)
    waiting = await waits(rig, seen["version"])
    await says(rig)
    now = await waiting
    assert now["version"] > seen["version"]
    assert [line["text"] for line in now["messages"]] == ["hi"]


async def test_each_step_of_a_message_is_a_change(rig: Rig) -> None:
    seen = await look(rig)
    statuses: list[str] = []
    await rig.send()
    while statuses[-1:] != ["read"]:
        seen = await look(rig, seen["version"], 20)
        statuses.append(seen["messages"][0]["status"])
        if statuses[-1] == "delivered":
            assert seen["phones"][0]["unread"] == 1
            await rig.control("POST", f"phones/{PHONE}/read")
    assert list(dict.fromkeys(statuses)) == ["accepted", "sent", "delivered", "read"]
    assert seen["phones"][0]["unread"] == 0


async def test_a_wait_without_a_change_ends_with_its_time(rig: Rig) -> None:
    seen = await look(rig)
    began = rig.clock.now()
    assert await look(rig, seen["version"], 7) == seen
    assert rig.clock.now() - began == seconds(7)


async def test_a_version_of_another_sandbox_waits_for_nothing(rig: Rig) -> None:
    seen, began = await look(rig), rig.clock.now()
    assert (await look(rig, seen["version"] + 5, 20))["version"] == seen["version"]
    assert rig.clock.now() == began


@pytest.mark.parametrize("query", ["after=x", "after=1.5", "after=1&wait=soon", "after="])
async def test_a_version_is_a_number(rig: Rig, query: str) -> None:
    assert (await rig.control("GET", f"phones/{PHONE}/screen?{query}")).status == 400


async def test_the_business_types_until_it_has_written_or_the_sign_goes_out(rig: Rig) -> None:
    wamid = await says(rig)
    receipt = {"messaging_product": "whatsapp", "status": "read", "message_id": wamid}
    await rig.call("POST", f"/{NUMBER.phone_number_id}/messages", {**receipt, "typing_indicator": {"type": "text"}})
    seen = await look(rig)
    assert (seen["typing"], seen["messages"][0]["status"]) == (True, "read")
    assert (await look(rig, phone=OTHER))["typing"] is False
    began = rig.clock.now()
    assert (await look(rig, seen["version"], 30))["typing"] is False
    assert rig.clock.now() - began == seconds(25)
    await rig.call("POST", f"/{NUMBER.phone_number_id}/messages", {**receipt, "typing_indicator": {"type": "text"}})
    await rig.send()
    assert (await look(rig))["typing"] is False


async def test_whoever_waits_is_sent_away_when_it_stops(rig: Rig) -> None:
    seen = await look(rig)
    waiting = await waits(rig, seen["version"])
    rig.sandbox.dismiss()
    assert await waiting == seen
    assert await look(rig, seen["version"], 20) == seen, "and so is whoever comes after"


async def test_one_fault_is_cleared_without_the_others(rig: Rig) -> None:
    first = (await rig.control("POST", "faults", {"delay_ms": 5})).json["id"]
    await rig.fault(drop_response=True)
    seen = await look(rig)
    assert (await rig.control("DELETE", f"faults/{first}")).status == 200
    now = await look(rig, seen["version"], 20)
    assert ["drop_response" in fault for fault in now["faults"]] == [True]
    assert (await rig.control("DELETE", f"faults/{first}")).status == 404
    assert (await rig.control("PUT", f"faults/{first}")).status == 405


TRACK = {
    "name": "track",
    "language": "en",
    "category": "UTILITY",
    "components": [
        {"type": "BODY", "text": "It is on its way."},
        {
            "type": "BUTTONS",
            "buttons": [
                {"type": "QUICK_REPLY", "text": "Thanks"},
                {"type": "QUICK_REPLY", "text": "Where?"},
                {"type": "URL", "text": "Track", "url": "https://shop.test/{{1}}"},
                {"type": "PHONE_NUMBER", "text": "Call", "phone_number": "+15550001234"},
            ],
        },
    ],
}


async def test_a_templates_buttons_are_shown_with_what_was_sent_for_them(rig: Rig) -> None:
    await rig.call("POST", f"/{NUMBER.waba_id}/message_templates", TRACK)
    payload = {"type": "button", "sub_type": "quick_reply", "index": "1"}
    link = {"type": "button", "sub_type": "url", "index": "2", "parameters": [{"type": "text", "text": "A1"}]}
    components = [{**payload, "parameters": [{"type": "payload", "payload": "WHERE"}]}, link]
    template = {"name": "track", "language": {"code": "en"}, "components": components}
    heard = await rig.send({"type": "template", "template": template})
    assert heard.status == 200, heard.body
    await rig.send(order_confirmation("Ann", "A1"))
    tracked, confirmed = (await look(rig))["messages"]
    assert tracked["buttons"] == [
        {"type": "QUICK_REPLY", "text": "Thanks", "payload": "Thanks"},
        {"type": "QUICK_REPLY", "text": "Where?", "payload": "WHERE"},
        {"type": "URL", "text": "Track", "url": "https://shop.test/A1"},
        {"type": "PHONE_NUMBER", "text": "Call"},
    ]
    assert confirmed["buttons"] == []


@pytest.mark.parametrize(
    ("mime_type", "served", "kept"),
    [
        ("image/png", "image/png", False),
        ("audio/ogg; codecs=opus", "audio/ogg", False),
        ("text/html", "application/octet-stream", True),
        ("image/svg+xml", "application/octet-stream", True),
    ],
)
async def test_a_file_is_shown_unless_it_could_be_taken_for_a_page(
    rig: Rig, mime_type: str, served: str, kept: bool
) -> None:
    image = {"mime_type": mime_type, "data": base64.b64encode(b"<b>").decode()}
    await rig.control("POST", f"phones/{PHONE}/say", {"message": {"type": "image", "image": image}})
    stored = (await look(rig))["messages"][0]["message"]["image"]["id"]
    heard = await rig.control("GET", f"media/{stored}")
    assert (heard.status, heard.body, heard.headers["content-type"]) == (200, b"<b>", served)
    assert ("content-disposition" in heard.headers) == kept
    assert heard.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in heard.headers["content-security-policy"]
    assert (await rig.control("GET", "media/7")).status == 404
