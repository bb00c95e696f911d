from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.integration.sandbox.conftest import NUMBER, OTHER_NUMBER, PHONE, Rig, broken_copies

pytestmark = pytest.mark.anyio

PATH = f"/v25.0/{NUMBER.phone_number_id}/messages"
LINK = "https://example.test/file"


def interactive(kind: str, action: dict[str, Any], **more: Any) -> dict[str, Any]:
    content = {"type": kind, "body": {"text": "Choose"}, "action": action, **more}
    return {"type": "interactive", "interactive": content}


def buttons(*titles: str) -> dict[str, Any]:
    return {"buttons": [{"type": "reply", "reply": {"id": f"id-{t}", "title": t}} for t in titles]}


def a_list(rows: int, **row: str) -> dict[str, Any]:
    made = [{"id": f"r{n}", "title": f"Row {n}", **row} for n in range(rows)]
    return {"button": "Open", "sections": [{"title": "All", "rows": made}]}


def flow(**parameters: str) -> dict[str, Any]:
    return {"name": "flow", "parameters": {"flow_message_version": "3", "flow_cta": "Go", **parameters}}


def order_confirmation(*texts: str, **more: Any) -> dict[str, Any]:
    parameters = [{"type": "text", "text": text} for text in texts]
    components = [{"type": "body", "parameters": parameters}]
    template = {"name": "order_confirmation", "language": {"code": "en"}, "components": components, **more}
    return {"type": "template", "template": template}


HELLO_WORLD = {"type": "template", "template": {"name": "hello_world", "language": {"code": "en_US"}}}
CARD = {"name": {"formatted_name": "Ann Lee", "first_name": "Ann"}, "phones": [{"phone": "+16505551234"}]}
CTA = {"name": "cta_url", "parameters": {"display_text": "See", "url": LINK}}

ACCEPTED: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": {"body": "hi", "preview_url": True}},
    "text without a type": {"text": {"body": "hi"}},
    "longest text": {"type": "text", "text": {"body": "x" * 4096}},
    "image by link": {"type": "image", "image": {"link": LINK, "caption": "A cat"}},
    "image by id": {"type": "image", "image": {"id": "123"}},
    "video": {"type": "video", "video": {"link": LINK}},
    "audio": {"type": "audio", "audio": {"id": "123", "voice": True}},
    "document": {"type": "document", "document": {"link": LINK, "filename": "a.pdf", "caption": "c"}},
    "sticker": {"type": "sticker", "sticker": {"id": "123"}},
    "location": {"type": "location", "location": {"latitude": 37.4, "longitude": "-122.1", "name": "HQ"}},
    "contacts": {"type": "contacts", "contacts": [CARD]},
    "reaction": {"type": "reaction", "reaction": {"message_id": "wamid.x", "emoji": "😀"}},
    "reaction removed": {"type": "reaction", "reaction": {"message_id": "wamid.x", "emoji": ""}},
    "buttons": interactive("button", buttons("Yes", "No", "Maybe"), footer={"text": "f"}),
    "buttons with image": interactive("button", buttons("Yes"), header={"type": "image", "image": {"link": LINK}}),
    "list": interactive("list", a_list(10), header={"type": "text", "text": "h"}),
    "cta_url": interactive("cta_url", CTA),
    "flow": interactive("flow", flow(flow_id="1", flow_token="t", mode="draft", flow_action="navigate")),
    "location request": interactive("location_request_message", {"name": "send_location"}),
    "contact request": interactive("request_contact_info", {"name": "request_contact_info"}),
    "product": {"type": "interactive", "interactive": {"type": "product", "action": {"catalog_id": "1"}}},
    "template without parameters": HELLO_WORLD,
    "template with parameters": order_confirmation("Ann", "A1"),
    "reply": {"type": "text", "text": {"body": "hi"}, "context": {"message_id": "wamid.x"}},
}


@pytest.mark.parametrize("message", ACCEPTED.values(), ids=ACCEPTED.keys())
async def test_every_message_type_is_accepted(rig: Rig, message: dict[str, Any]) -> None:
    heard = await rig.send(message)
    assert heard.status == 200, heard.body
    assert heard.json["messaging_product"] == "whatsapp"
    assert heard.json["contacts"] == [{"input": f"+{PHONE}", "wa_id": PHONE}]
    (told,) = heard.json["messages"]
    assert told["id"].startswith("wamid.")
    assert told.get("message_status") == ("accepted" if message.get("type") == "template" else None)
    assert (await rig.screen())[0]["wamid"] == told["id"]


REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "no content": ({"type": "text"}, 131008),
    "content is no object": ({"type": "text", "text": "hi"}, 131009),
    "no text body": ({"type": "text", "text": {}}, 131008),
    "empty text body": ({"type": "text", "text": {"body": ""}}, 131008),
    "text body is a number": ({"type": "text", "text": {"body": 5}}, 131009),
    "text too long": ({"type": "text", "text": {"body": "x" * 4097}}, 100),
    "misspelled key": ({"type": "text", "text": {"body": "x", "preview": True}}, 100),
    "preview is no flag": ({"type": "text", "text": {"body": "x", "preview_url": "yes"}}, 131009),
    "unknown type": ({"type": "hologram", "hologram": {}}, 131051),
    "type is a number": ({"type": 5}, 131009),
    "image without source": ({"type": "image", "image": {"caption": "c"}}, 131008),
    "image with both sources": ({"type": "image", "image": {"id": "1", "link": LINK}}, 131009),
    "link is no address": ({"type": "image", "image": {"link": "ftp://x"}}, 131009),
    "caption too long": ({"type": "image", "image": {"id": "1", "caption": "c" * 1025}}, 131009),
    "sticker with a caption": ({"type": "sticker", "sticker": {"id": "1", "caption": "c"}}, 100),
    "location without longitude": ({"type": "location", "location": {"latitude": 1}}, 131008),
    "latitude out of range": ({"type": "location", "location": {"latitude": 91, "longitude": 1}}, 131009),
    "latitude is a word": ({"type": "location", "location": {"latitude": "north", "longitude": 1}}, 131009),
    "no contacts": ({"type": "contacts", "contacts": []}, 131009),
    "contact without a name": ({"type": "contacts", "contacts": [{}]}, 131008),
    "contact with one name part": ({"type": "contacts", "contacts": [{"name": {"formatted_name": "A"}}]}, 131008),
    "reaction without emoji": ({"type": "reaction", "reaction": {"message_id": "wamid.x"}}, 131008),
    "reaction to nothing": ({"type": "reaction", "reaction": {"emoji": "x"}}, 131008),
    "interactive without type": ({"type": "interactive", "interactive": {}}, 131008),
    "unknown interactive": (interactive("slider", {}), 131009),
    "no action": ({"type": "interactive", "interactive": {"type": "button", "body": {"text": "b"}}}, 131008),
    "no body": (interactive("button", buttons("Yes"), body=None), 131008),
    "body too long": (interactive("button", buttons("Yes"), body={"text": "b" * 1025}), 131009),
    "header too long": (interactive("button", buttons("Y"), header={"type": "text", "text": "h" * 61}), 131009),
    "header without media": (interactive("button", buttons("Y"), header={"type": "image"}), 131008),
    "list with image header": (interactive("list", a_list(1), header={"type": "image", "image": {}}), 131009),
    "footer too long": (interactive("button", buttons("Yes"), footer={"text": "f" * 61}), 131009),
    "four buttons": (interactive("button", buttons("1", "2", "3", "4")), 131009),
    "no buttons": (interactive("button", {"buttons": []}), 131009),
    "button title too long": (interactive("button", buttons("t" * 21)), 131009),
    "button ids repeat": (interactive("button", buttons("Yes", "Yes")), 131009),
    "eleven rows": (interactive("list", a_list(11)), 131009),
    "row title too long": (interactive("list", a_list(1, title="t" * 25)), 131009),
    "row description too long": (interactive("list", a_list(1, description="d" * 73)), 131009),
    "row ids repeat": (interactive("list", a_list(2, id="same")), 131009),
    "list without button": (interactive("list", {"sections": a_list(1)["sections"]}), 131008),
    "eleven rows in two sections": (
        interactive("list", {"button": "b", "sections": [*a_list(6)["sections"], *a_list(5)["sections"]]}),
        131009,
    ),
    "untitled sections": (
        interactive("list", {"button": "b", "sections": [{"rows": [{"id": "1", "title": "t"}]}] * 2}),
        131008,
    ),
    "cta without url": (interactive("cta_url", {"name": "cta_url", "parameters": {"display_text": "x"}}), 131008),
    "flow without id": (interactive("flow", flow()), 131008),
    "flow with id and name": (interactive("flow", flow(flow_id="1", flow_name="n")), 131008),
    "flow of old version": (interactive("flow", flow(flow_id="1", flow_message_version="2")), 131009),
    "flow in odd mode": (interactive("flow", flow(flow_id="1", mode="odd")), 131009),
    "location request misnamed": (interactive("location_request_message", {"name": "x"}), 131009),
    "template without language": ({"type": "template", "template": {"name": "hello_world"}}, 131008),
    "template without name": ({"type": "template", "template": {"language": {"code": "en"}}}, 131008),
    "unknown template": (order_confirmation("a", "b", name="nope"), 132001),
    "template in another language": (order_confirmation("a", "b", language={"code": "de"}), 132001),
    "too few parameters": (order_confirmation("Ann"), 132000),
    "too many parameters": (order_confirmation("Ann", "A1", "more"), 132000),
    "parameters for a template without": (
        order_confirmation("a", name="hello_world", language={"code": "en_US"}),
        132000,
    ),
    "empty parameter": (order_confirmation("Ann", ""), 131008),
    "parameters too long": (order_confirmation("Ann", "A" * 1024), 132005),
    "parameter of wrong kind": (
        order_confirmation(
            components=[{"type": "body", "parameters": [{"type": "image", "image": {"id": "1"}}, {"type": "text"}]}]
        ),
        132012,
    ),
    "components are no list": (order_confirmation(components={"type": "body"}), 131009),
    "button that is not there": (
        order_confirmation(
            components=[
                {"type": "body", "parameters": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                {"type": "button", "sub_type": "url", "index": "0", "parameters": [{"type": "text", "text": "x"}]},
            ]
        ),
        132000,
    ),
    "callback data too long": ({"text": {"body": "x"}, "biz_opaque_callback_data": "d" * 513}, 100),
    "context without message": ({"text": {"body": "x"}, "context": {}}, 131008),
    "group": ({"text": {"body": "x"}, "recipient_type": "group"}, 131009),
    "other product": ({"text": {"body": "x"}, "messaging_product": "sms"}, 100),
    "to is a word": ({"text": {"body": "x"}, "to": "Ann"}, 131009),
    "to is too short": ({"text": {"body": "x"}, "to": "123456"}, 131009),
    "to is too long": ({"text": {"body": "x"}, "to": "1234567890123456"}, 131009),
    "to is a number": ({"text": {"body": "x"}, "to": 16505551234}, 131009),
    "no recipient": ({"text": {"body": "x"}, "to": None}, 100),
    "recipient is no user id": ({"text": {"body": "x"}, "to": None, "recipient": "Ann"}, 131009),
    "recipient is the sender": ({"text": {"body": "x"}, "to": "+1 555 078 3881"}, 131021),
}


@pytest.mark.parametrize(("message", "code"), REFUSED.values(), ids=REFUSED.keys())
async def test_an_invalid_message_is_refused_as_meta_does(rig: Rig, message: dict[str, Any], code: int) -> None:
    body = {"messaging_product": "whatsapp", "to": PHONE, **message}
    heard = await rig.call("POST", PATH, body)
    assert (heard.status, heard.error["code"]) == (404 if code == 132001 else 400, code)
    assert heard.error["type"] == "OAuthException"
    assert heard.error["message"].startswith(f"(#{code}) ")
    assert heard.error["error_data"]["messaging_product"] == "whatsapp"
    assert heard.error["error_data"]["details"]
    assert heard.error["fbtrace_id"]
    await rig.sandbox.settled()
    assert rig.receiver.posts == []
    assert await rig.screen() == []


@pytest.mark.parametrize("message", ACCEPTED.values(), ids=ACCEPTED.keys())
async def test_no_message_makes_the_sandbox_fall_over(rig: Rig, message: dict[str, Any]) -> None:
    envelope = {"messaging_product": "whatsapp", "to": PHONE, "recipient_type": "individual"}
    for broken in broken_copies({**envelope, **message}):
        heard = await rig.call("POST", PATH, broken)
        assert heard.status in (200, 400, 404), broken
        assert heard.status == 200 or heard.error["code"] >= 100, broken
    assert all(one["type"] for one in await rig.screen())


@pytest.mark.parametrize("written", ["+1 (650) 555-1234", "1.650.555.1234", "1[650]5551234", PHONE])
async def test_a_phone_number_may_be_written_in_many_ways(rig: Rig, written: str) -> None:
    heard = await rig.send(to=written)
    assert heard.json["contacts"] == [{"input": written, "wa_id": PHONE}]


async def test_a_message_to_a_user_id_reaches_the_phone_behind_it(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi"})
    user_id = rig.receiver.posts[0].value["messages"][0]["from_user_id"]
    body = {"messaging_product": "whatsapp", "recipient": user_id, "text": {"body": "yes?"}}
    heard = await rig.call("POST", PATH, body)
    assert heard.json["contacts"] == [{"input": user_id, "user_id": user_id}]
    assert [message["text"] for message in await rig.screen()] == ["hi", "yes?"]
    await rig.sandbox.settled()
    told = rig.receiver.posts[-1].status
    assert told["recipient_user_id"] == user_id
    assert "recipient_id" not in told


@pytest.mark.parametrize("path", ["/v19.0/{}/messages", "/{}/messages", "/v26.0/{}/messages/"])
async def test_the_version_may_be_any_or_none(rig: Rig, path: str) -> None:
    body = {"messaging_product": "whatsapp", "to": PHONE, "text": {"body": "hi"}}
    heard = await rig.call("POST", path.format(NUMBER.phone_number_id), body)
    assert heard.status == 200
    assert heard.headers["facebook-api-version"] == (path.split("/")[1] if "v" in path else "v26.0")
    assert heard.headers["content-type"] == "application/json; charset=UTF-8"
    assert heard.headers["x-fb-trace-id"]


async def test_without_a_token_the_answer_is_401(rig: Rig) -> None:
    heard = await rig.call("POST", PATH, {}, token=None)
    assert (heard.status, heard.error["code"], heard.error["type"]) == (401, 190, "OAuthException")
    assert "access token" in heard.error["message"]
    assert "www-authenticate" in heard.headers


@pytest.mark.parametrize("token", ["wrong", OTHER_NUMBER.token])
async def test_with_a_wrong_token_the_answer_is_401(rig: Rig, token: str) -> None:
    heard = await rig.call("POST", PATH, {}, token=token)
    assert (heard.status, heard.error["code"]) == (401, 190)


async def test_the_token_may_be_in_the_query(rig: Rig) -> None:
    body = {"messaging_product": "whatsapp", "to": PHONE, "text": {"body": "hi"}}
    assert (await rig.call("POST", f"{PATH}?access_token={NUMBER.token}", body, token=None)).status == 200


async def test_an_unknown_number_does_not_exist(rig: Rig) -> None:
    heard = await rig.call("POST", "/v25.0/999/messages", {})
    assert (heard.status, heard.error["code"], heard.error["error_subcode"]) == (400, 100, 33)
    assert "Object with ID '999' does not exist" in heard.error["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'"text"', b"[" * 100_000])
async def test_what_is_no_json_object_is_refused(rig: Rig, body: bytes) -> None:
    heard = await rig.call("POST", PATH, body=body)
    assert (heard.status, heard.error["code"]) == (400, 100)
    assert (await rig.calls())[0]["http_status"] == 400


async def test_an_unknown_path_is_told_as_the_graph_api_does(rig: Rig) -> None:
    heard = await rig.call("POST", "/v25.0/1/2/3")
    assert (heard.status, heard.error["code"]) == (400, 2500)


@pytest.mark.parametrize("more", [{}, {"typing_indicator": {"type": "text"}}])
async def test_marking_as_read_shows_on_the_screen(rig: Rig, more: dict[str, Any]) -> None:
    wamid = (await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi"})).json["wamid"]
    assert (await rig.screen())[0]["status"] == "delivered"
    body = {"messaging_product": "whatsapp", "status": "read", "message_id": wamid, **more}
    heard = await rig.call("POST", PATH, body)
    assert (heard.status, heard.json) == (200, {"success": True})
    assert (await rig.screen())[0]["status"] == "read"


@pytest.mark.parametrize(
    ("receipt", "code"),
    [
        ({"status": "read"}, 131008),
        ({"status": "seen", "message_id": "wamid.x"}, 131009),
        ({"status": "read", "message_id": 5}, 131009),
        ({"status": "read", "message_id": "wamid.x", "typing_indicator": {"type": "voice"}}, 131009),
    ],
)
async def test_an_invalid_receipt_is_refused(rig: Rig, receipt: dict[str, Any], code: int) -> None:
    heard = await rig.call("POST", PATH, {"messaging_product": "whatsapp", **receipt})
    assert (heard.status, heard.error["code"]) == (400, code)


async def test_every_wamid_is_different_and_holds_the_phone(rig: Rig) -> None:
    wamids = [(await rig.send()).json["messages"][0]["id"] for _ in range(50)]
    assert len(dict.fromkeys(wamids)) == 50
    assert PHONE.encode() in base64.b64decode(wamids[0].removeprefix("wamid."))
