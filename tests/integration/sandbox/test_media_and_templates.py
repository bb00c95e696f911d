from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tests.integration.sandbox.conftest import NUMBER, OTHER_NUMBER, PHONE, Rig, RigResponse, broken_copies
from waypost.model.time import days, minutes
from waypost.sandbox import SandboxLimits

pytestmark = pytest.mark.anyio

BYTES = b"\x89PNG\r\n\r\n--bound\x00\xff\r\n"
WABA = f"/v25.0/{NUMBER.waba_id}"


async def upload(
    rig: Rig, content: bytes = BYTES, mime: str = "image/png", product: str = "whatsapp", **more: Any
) -> RigResponse:
    fields = [
        b'--boundary\r\nContent-Disposition: form-data; name="messaging_product"\r\n\r\n' + product.encode(),
        b'--boundary\r\nContent-Disposition: form-data; name="type"\r\n\r\n' + mime.encode(),
        b'--boundary\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n'
        b"Content-Type: " + mime.encode() + b"\r\n\r\n" + content,
        b"--boundary--\r\n",
    ]
    headers = {"content-type": "multipart/form-data; boundary=boundary"}
    path = f"/v25.0/{NUMBER.phone_number_id}/media"
    return await rig.call("POST", path, body=b"\r\n".join(fields), headers=headers, **more)


async def test_media_goes_up_and_comes_down_again(rig: Rig) -> None:
    media_id = (await upload(rig)).json["id"]
    described = (await rig.call("GET", f"/v25.0/{media_id}?phone_number_id={NUMBER.phone_number_id}")).json
    url = described.pop("url")
    assert described == {
        "mime_type": "image/png",
        "sha256": hashlib.sha256(BYTES).hexdigest(),
        "file_size": len(BYTES),
        "id": media_id,
        "messaging_product": "whatsapp",
    }
    assert url.startswith("http://sandbox.test/")
    link = url.removeprefix("http://sandbox.test")
    heard = await rig.call("GET", link)
    assert (heard.status, heard.body, heard.headers["content-type"]) == (200, BYTES, "image/png")
    assert (await rig.call("GET", link, token=None)).status == 401
    assert (await rig.call("GET", link, token=OTHER_NUMBER.token)).status == 404
    assert (await rig.call("GET", link.replace("ext=1", "ext=2"))).status == 404
    await rig.clock.sleep(minutes(5.1))
    assert (await rig.call("GET", link)).status == 404
    assert (await rig.call("DELETE", f"/v25.0/{media_id}")).json == {"success": True}
    assert (await rig.call("GET", f"/v25.0/{media_id}")).error["error_subcode"] == 33


async def test_media_is_its_owners_and_expires(rig: Rig) -> None:
    media_id = (await upload(rig)).json["id"]
    assert (await rig.call("GET", f"/{media_id}", token=OTHER_NUMBER.token)).status == 400
    assert (await rig.call("GET", f"/{media_id}?phone_number_id=1")).status == 400
    assert (await rig.call("DELETE", f"/{media_id}", token="wrong")).status == 401
    await rig.clock.sleep(days(30))
    assert (await rig.call("GET", f"/{media_id}")).status == 400


@pytest.mark.parametrize(
    ("upload_of", "status", "code"),
    [
        ({"token": None}, 401, 190),
        ({"product": "sms"}, 400, 100),
        ({"mime": "application/x-msdownload"}, 400, 100),
        ({"content": b""}, 400, 131053),
        ({"content": b"x" * (5 * 1024 * 1024 + 1)}, 400, 131053),
        ({"content": b"x" * (500 * 1024 + 1), "mime": "image/webp"}, 400, 131053),
    ],
)
async def test_an_upload_that_meta_refuses(rig: Rig, upload_of: dict[str, Any], status: int, code: int) -> None:
    heard = await upload(rig, **upload_of)
    assert (heard.status, heard.error["code"]) == (status, code)


@pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data", "multipart/form-data; boundary=x"])
async def test_an_upload_that_is_no_form_is_refused(rig: Rig, content_type: str) -> None:
    path = f"/{NUMBER.phone_number_id}/media"
    heard = await rig.call("POST", path, body=b"{}", headers={"content-type": content_type})
    assert (heard.status, heard.error["code"]) == (400, 100)


async def test_the_oldest_media_goes_when_there_is_too_much() -> None:
    small = Rig(keep=SandboxLimits(media_bytes=25))
    first, second = [(await upload(small)).json["id"] for _ in range(2)]
    assert (await small.call("GET", f"/{first}")).status == 400
    assert (await small.call("GET", f"/{second}")).status == 200


async def test_templates_are_listed_with_paging(rig: Rig) -> None:
    heard = (await rig.call("GET", f"{WABA}/message_templates")).json
    assert [(one["name"], one["language"], one["status"], one["category"]) for one in heard["data"]] == [
        ("hello_world", "en_US", "APPROVED", "UTILITY"),
        ("order_confirmation", "en", "APPROVED", "UTILITY"),
    ]
    assert heard["paging"]["cursors"].keys() == {"before", "after"}
    assert "next" not in heard["paging"]
    page = (await rig.call("GET", f"{WABA}/message_templates?limit=1&fields=name,status")).json
    assert page["data"] == [{"name": "hello_world", "status": "APPROVED", "id": page["data"][0]["id"]}]
    assert "after=" in page["paging"]["next"]
    after = page["paging"]["cursors"]["after"]
    rest = (await rig.call("GET", f"{WABA}/message_templates?limit=1&after={after}")).json
    assert [one["name"] for one in rest["data"]] == ["order_confirmation"]
    end = rest["paging"]["cursors"]["after"]
    assert (await rig.call("GET", f"{WABA}/message_templates?after={end}")).json == {"data": []}
    assert (await rig.call("GET", f"{WABA}/message_templates?after=!")).status == 400
    named = (await rig.call("GET", f"{WABA}/message_templates?name=order_confirmation")).json
    assert [one["name"] for one in named["data"]] == ["order_confirmation"]


PROMO = {
    "name": "promo",
    "language": "en_US",
    "category": "MARKETING",
    "components": [
        {"type": "HEADER", "format": "IMAGE"},
        {"type": "BODY", "text": "Hi {{first_name}}, {{first_name}}!"},
        {"type": "BUTTONS", "buttons": [{"type": "URL", "text": "See", "url": "https://x.test/{{1}}"}]},
    ],
}
IMAGE = {"type": "header", "parameters": [{"type": "image", "image": {"id": "1"}}]}
NAMED = {"type": "body", "parameters": [{"type": "text", "parameter_name": "first_name", "text": "Ann"}]}
URL = {"type": "button", "sub_type": "url", "index": 0, "parameters": [{"type": "text", "text": "a"}]}


def promo(*components: dict[str, Any]) -> dict[str, Any]:
    template = {"name": "promo", "language": {"code": "en_US"}, "components": list(components)}
    return {"type": "template", "template": template}


async def test_a_created_template_is_approved_and_can_be_sent(rig: Rig) -> None:
    made = await rig.call("POST", f"{WABA}/message_templates", PROMO)
    assert (made.status, made.json["status"], made.json["category"]) == (200, "APPROVED", "MARKETING")
    assert (await rig.call("GET", f"/{made.json['id']}")).json["name"] == "promo"
    assert (await rig.send(promo(IMAGE, NAMED, URL))).json["messages"][0]["message_status"] == "accepted"
    assert (await rig.screen())[0]["text"] == "Hi Ann, Ann!"
    await rig.sandbox.settled()
    assert rig.receiver.posts[0].status["pricing"]["category"] == "marketing"
    assert (await rig.call("DELETE", f"{WABA}/message_templates?name=promo")).json == {"success": True}
    assert (await rig.send(promo(IMAGE, NAMED, URL))).error["code"] == 132001
    assert (await rig.call("DELETE", f"{WABA}/message_templates?name=promo")).status == 400


WRONG_NAME = {"type": "body", "parameters": [{"type": "text", "parameter_name": "name", "text": "Ann"}]}
VIDEO = {"type": "header", "parameters": [{"type": "video", "video": {"id": "1"}}]}


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ((NAMED, URL), 132000),
        ((VIDEO, NAMED, URL), 132012),
        ((IMAGE, WRONG_NAME, URL), 132012),
        ((IMAGE, NAMED), 132000),
        ((IMAGE, URL), 132000),
        (({"type": "body", "parameters": "Ann"},), 132012),
    ],
)
async def test_values_that_do_not_fit_the_template(rig: Rig, components: Any, code: int) -> None:
    await rig.call("POST", f"{WABA}/message_templates", PROMO)
    assert (await rig.send(promo(*components))).error["code"] == code


async def test_an_authentication_template_needs_a_phone_number(rig: Rig) -> None:
    code = {
        "name": "code",
        "language": "en",
        "category": "AUTHENTICATION",
        "components": [{"type": "BODY", "text": "1"}],
    }
    await rig.call("POST", f"{WABA}/message_templates", code)
    message = {"type": "template", "template": {"name": "code", "language": {"code": "en"}}}
    assert (await rig.send(message)).status == 200
    heard = await rig.send(message, to="", recipient="US.123")
    assert heard.error["code"] == 131062


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "Promo!"},
        {"name": None},
        {"language": None},
        {"category": "SERVICE"},
        {"components": "x"},
        {"components": []},
        {"components": [{"type": "BODY", "text": "x"}, {"type": "BUTTONS", "buttons": None}]},
        {"name": "hello_world"},
    ],
)
async def test_a_template_that_meta_refuses(rig: Rig, changed: dict[str, Any]) -> None:
    heard = await rig.call("POST", f"{WABA}/message_templates", {**PROMO, **changed})
    assert (heard.status, heard.error["code"]) == (400, 100)


async def test_no_definition_makes_the_sandbox_fall_over(rig: Rig) -> None:
    for broken in broken_copies(PROMO):
        heard = await rig.call("POST", f"{WABA}/message_templates", broken)
        assert heard.status in (200, 400), broken
        await rig.call("DELETE", f"{WABA}/message_templates?name=promo")


async def test_an_account_has_its_own_templates_and_at_most_250(rig: Rig) -> None:
    for n in range(248):
        await rig.call("POST", f"{WABA}/message_templates", {**PROMO, "name": f"promo_{n}"})
    assert (await rig.call("POST", f"{WABA}/message_templates", PROMO)).error["code"] == 2388019
    other = await rig.call("GET", f"/{OTHER_NUMBER.waba_id}/message_templates", token=OTHER_NUMBER.token)
    assert len(other.json["data"]) == 2


@pytest.mark.parametrize(
    ("method", "edge"),
    [
        ("GET", "message_templates"),
        ("POST", "message_templates"),
        ("DELETE", "message_templates"),
        ("GET", "phone_numbers"),
        ("GET", "subscribed_apps"),
        ("POST", "subscribed_apps"),
    ],
)
async def test_account_calls_check_the_token(rig: Rig, method: str, edge: str) -> None:
    assert (await rig.call(method, f"{WABA}/{edge}", token=None)).status == 401
    assert (await rig.call(method, f"{WABA}/{edge}", token=OTHER_NUMBER.token)).status == 401
    assert (await rig.call(method, f"/v25.0/1/{edge}")).error["error_subcode"] == 33


async def test_numbers_and_accounts_can_be_looked_up(rig: Rig) -> None:
    number = (await rig.call("GET", f"/v25.0/{NUMBER.phone_number_id}")).json
    assert (number["id"], number["display_phone_number"]) == (NUMBER.phone_number_id, "15550783881")
    assert (number["quality_rating"], number["verified_name"]) == ("GREEN", "Sandbox")
    asked = (await rig.call("GET", f"/{NUMBER.phone_number_id}?fields=messaging_limit_tier")).json
    assert asked == {"messaging_limit_tier": "TIER_UNLIMITED", "id": NUMBER.phone_number_id}
    assert (await rig.call("GET", f"{WABA}/phone_numbers")).json["data"] == [number]
    assert (await rig.call("GET", WABA)).json["id"] == NUMBER.waba_id
    assert (await rig.call("POST", f"{WABA}/subscribed_apps")).json == {"success": True}
    assert (await rig.call("GET", f"{WABA}/subscribed_apps")).status == 200
    assert (await rig.call("GET", f"/{NUMBER.phone_number_id}", token=OTHER_NUMBER.token)).status == 400
    assert (await rig.call("GET", f"/{PHONE}")).error["error_subcode"] == 33
    assert (await rig.call("GET", f"/{PHONE}", token=None)).status == 401
