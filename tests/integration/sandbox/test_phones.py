from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from tests.integration.sandbox.conftest import NUMBER, OTHER_NUMBER, PHONE, Rig
from tests.integration.sandbox.test_messages import ACCEPTED, order_confirmation
from waypost.sandbox import SandboxLimits

pytestmark = pytest.mark.anyio


async def test_what_a_phone_says_is_posted_as_meta_would(rig: Rig) -> None:
    heard = await rig.control("POST", f"phones/+{PHONE}/say", {"text": "hi", "name": "Ann"})
    (post,) = rig.receiver.posts
    (contact,), (message,) = post.value["contacts"], post.value["messages"]
    assert contact["profile"] == {"name": "Ann"}
    assert contact["wa_id"] == message["from"] == PHONE
    assert contact["user_id"] == message["from_user_id"]
    assert message["id"] == heard.json["wamid"]
    assert message["timestamp"] == "1760000000"
    assert (message["type"], message["text"]) == ("text", {"body": "hi"})


async def test_a_phone_can_say_any_message(rig: Rig) -> None:
    reply = {"type": "button_reply", "button_reply": {"id": "1", "title": "Yes"}}
    message = {"type": "interactive", "interactive": reply, "context": {"from": "1", "id": "wamid.x"}}
    await rig.control("POST", f"phones/{PHONE}/say", {"message": message})
    told = rig.receiver.posts[0].value["messages"][0]
    assert {key: told[key] for key in message} == message
    assert (await rig.screen())[0]["text"] == "Yes"


async def test_the_same_inbound_id_can_be_said_twice(rig: Rig) -> None:
    message = {"id": "wamid.same", "type": "text", "text": {"body": "hi"}}
    for _ in range(2):
        heard = await rig.control("POST", f"phones/{PHONE}/say", {"message": message})
        assert heard.json == {"wamid": "wamid.same"}
    assert [post.value["messages"][0]["id"] for post in rig.receiver.posts] == ["wamid.same"] * 2


async def test_a_phone_can_send_a_file(rig: Rig) -> None:
    said = {
        "message": {"type": "image", "image": {"caption": "cat"}},
        "file_base64": base64.b64encode(b"a cat").decode(),
        "mime_type": "image/jpeg",
    }
    await rig.control("POST", f"phones/{PHONE}/say", said)
    image = rig.receiver.posts[0].value["messages"][0]["image"]
    assert image["sha256"] == base64.b64encode(hashlib.sha256(b"a cat").digest()).decode()
    assert (image["mime_type"], image["caption"]) == ("image/jpeg", "cat")
    described = (await rig.call("GET", f"/v25.0/{image['id']}")).json
    assert described["file_size"] == 5


async def test_a_file_may_be_written_into_its_message(rig: Rig) -> None:
    document = {"filename": "a.pdf", "mime_type": "application/pdf", "data": base64.b64encode(b"%PDF").decode()}
    await rig.control("POST", f"phones/{PHONE}/say", {"message": {"type": "document", "document": document}})
    told = rig.receiver.posts[0].value["messages"][0]["document"]
    assert told.keys() == {"id", "mime_type", "sha256", "filename"}
    assert told["sha256"] == base64.b64encode(hashlib.sha256(b"%PDF").digest()).decode()
    assert (await rig.call("GET", f"/v25.0/{told['id']}")).json["mime_type"] == "application/pdf"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "either text or message"),
        ({"text": "hi", "message": {"type": "text"}}, "either text or message"),
        ({"message": {"text": {"body": "hi"}}}, "type"),
        ({"txt": "hi"}, "txt"),
        ({"text": "hi", "file_base64": "AAAA", "mime_type": "image/png"}, "message of type image"),
        ({"message": {"type": "image"}, "file_base64": "!", "mime_type": "image/png"}, "file_base64"),
        ({"message": {"type": "image", "image": {"data": "AAAA"}}}, "a file needs a mime_type"),
        ({"message": {"type": "image", "image": {"data": "!", "mime_type": "image/png"}}}, "data"),
    ],
)
async def test_what_a_phone_cannot_say_is_explained(rig: Rig, said: dict[str, Any], why: str) -> None:
    heard = await rig.control("POST", f"phones/{PHONE}/say", said)
    assert heard.status == 400
    assert why in heard.json["error"]


async def test_the_screen_shows_both_sides_oldest_first(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "where is it?"})
    await rig.send(order_confirmation("Ann", "A1"))
    await rig.send({"type": "image", "image": {"id": "1", "caption": "here"}}, context={"message_id": "wamid.x"})
    shown = await rig.screen(f"+{PHONE}")
    assert [one["from"] for one in shown] == ["customer", "business", "business"]
    assert [one["text"] for one in shown] == ["where is it?", "Hello Ann, your order A1 is confirmed.", "here"]
    assert [one["type"] for one in shown] == ["text", "template", "image"]
    assert shown[2]["message"] == {
        "type": "image",
        "image": {"id": "1", "caption": "here"},
        "context": {"message_id": "wamid.x"},
    }
    assert shown[0]["at"] == "2025-10-09T08:53:20.000000Z"


@pytest.mark.parametrize("message", ACCEPTED.values(), ids=ACCEPTED.keys())
async def test_the_screen_shows_every_message_type(rig: Rig, message: dict[str, Any]) -> None:
    await rig.send(message)
    (shown,) = await rig.screen()
    kind = message.get("type", "text")
    assert (shown["type"], shown["message"][kind]) == (kind, message[kind])


async def test_calls_are_recorded_also_the_refused_ones(rig: Rig) -> None:
    accepted = await rig.send(biz_opaque_callback_data="mine")
    await rig.send(to="+1555000131000")
    await rig.call("POST", f"/{NUMBER.phone_number_id}/messages", {"to": PHONE}, token="wrong")
    await rig.call("POST", f"/{NUMBER.phone_number_id}/messages", body=b"{broken")
    first, second, third, fourth = await rig.calls()
    assert first["wamid"] == accepted.json["messages"][0]["id"]
    assert first["body"]["biz_opaque_callback_data"] == "mine"
    assert (first["to"], first["phone_number_id"]) == (f"+{PHONE}", NUMBER.phone_number_id)
    assert [call["http_status"] for call in (first, second, third, fourth)] == [200, 500, 401, 400]
    assert [call["wamid"] for call in (second, third, fourth)] == [None] * 3
    assert fourth["body"] == "{broken"
    assert first["at"] == "2025-10-09T08:53:20.000000Z"


@pytest.mark.parametrize("asked", [PHONE, f"+{PHONE}", f"%2B{PHONE}"])
async def test_calls_are_found_by_recipient(rig: Rig, asked: str) -> None:
    await rig.send()
    await rig.send(to="16505550000")
    assert [call["to"] for call in await rig.calls(asked)] == [f"+{PHONE}"]


async def test_memory_is_bounded() -> None:
    small = Rig(keep=SandboxLimits(call_bytes=4096, message_bytes=3072, contacts=1, media_bytes=10))
    for phone in ("16505550000", "16505550001", "16505550002", "16505550003", "16505550001"):
        await small.control("POST", f"phones/{phone}/say", {"text": "hi"})
        await small.send(to=phone)
    assert [call["to"] for call in await small.calls()] == ["16505550002", "16505550003", "16505550001"]
    assert [call["to"] for call in await small.calls("16505550001")] == ["16505550001"]
    assert await small.screen("16505550003") == []
    assert len(await small.screen("16505550001")) == 2
    assert "16505550000" not in small.sandbox.calls._log._by_key
    assert (await small.control("GET", "calls")).json["forgotten"] == 2
    assert (await small.control("GET", "health")).json["forgotten"] == {"calls": 2, "messages": 8}
    await small.sandbox.close()


async def test_a_large_call_costs_as_much_memory_as_many_small_ones() -> None:
    small = Rig(keep=SandboxLimits(call_bytes=6 * 1024))
    for phone in ("16505550000", "16505550001", "16505550002"):
        await small.send(to=phone)
    await small.send(to="16505550003", text={"body": "x" * 3000})
    assert [call["to"] for call in await small.calls()] == ["16505550002", "16505550003"]
    await small.send(to="16505550004", text={"body": "x" * 4096})
    assert [call["to"] for call in await small.calls()] == ["16505550004"]
    assert (await small.control("GET", "calls")).json["forgotten"] == 4
    await small.sandbox.close()


async def test_several_numbers_live_side_by_side(rig: Rig) -> None:
    third = {
        "phone_number_id": "306540352242922",
        "waba_id": "302290129340398",
        "token": "EAAthird",
        "app_secret": "third-secret",
        "verify_token": "v",
        "webhook_url": "https://third.test/hook",
        "display_phone_number": "15550783883",
    }
    assert (await rig.control("POST", "numbers", third)).status == 201
    listed = (await rig.control("GET", "numbers")).json["numbers"]
    assert [one["phone_number_id"] for one in listed] == [
        NUMBER.phone_number_id,
        OTHER_NUMBER.phone_number_id,
        third["phone_number_id"],
    ]
    body = {"messaging_product": "whatsapp", "to": PHONE, "text": {"body": "hi"}}
    for number_id, token in ((OTHER_NUMBER.phone_number_id, OTHER_NUMBER.token), ("306540352242922", "EAAthird")):
        assert (await rig.call("POST", f"/{number_id}/messages", body, token=token)).status == 200
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi", "phone_number_id": "306540352242922"})
    await rig.sandbox.settled()
    urls = [post.url for post in rig.receiver.posts]
    assert [urls.count(f"https://{who}.test/hook") for who in ("waypost", "other", "third")] == [0, 2, 3]


async def test_a_number_with_an_unknown_field_is_refused(rig: Rig) -> None:
    heard = await rig.control("POST", "numbers", {"phone_number_id": "1", "wabaId": "2"})
    assert heard.status == 400
    assert (await rig.control("POST", f"phones/{PHONE}/say", {"text": "x", "phone_number_id": "1"})).status == 404


async def test_a_webhook_address_can_be_verified(rig: Rig) -> None:
    heard = await rig.control("POST", f"numbers/{NUMBER.phone_number_id}/verify")
    assert heard.json == {"verified": True}
    assert "hub.mode=subscribe" in rig.receiver.gets[0]
    rig.receiver.challenge_token = "another"
    assert (await rig.control("POST", f"numbers/{NUMBER.phone_number_id}/verify")).json == {"verified": False}
    assert (await rig.control("POST", "numbers/1/verify")).status == 404


async def test_health_and_what_is_not_there(rig: Rig) -> None:
    assert (await rig.control("GET", "health")).status == 200
    assert (await rig.control("GET", "nonsense")).status == 404
    assert (await rig.control("PUT", "faults")).status == 405
    assert (await rig.control("PUT", "numbers")).status == 405
    assert (await rig.control("GET", "phones/Ann/screen")).status == 400
    assert (await rig.control("POST", f"phones/{PHONE}/dance")).status == 404
