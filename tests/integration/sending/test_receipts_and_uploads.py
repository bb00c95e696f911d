"""Read receipts, typing indicators and uploads, against the sandbox."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Answer, Stage, live_clock
from tests.integration.stage.webhooks import a_number

pytestmark = ON_SQLITE
RECEIPTS = "/api/v1/outbound/read-receipts"
MEDIA = "/api/v1/outbound/media"
FORM = "multipart/form-data; boundary=b0"
WAMID = "wamid.customer-1"


def receipts(stage: Stage) -> list[dict[str, Any]]:
    found = [msgspec.json.decode(call.body) for call in stage.sandbox.calls.listed(None)]
    return [body for body in found if body.get("status") == "read"]


async def test_a_message_is_marked_as_read_at_once(stage: Stage) -> None:
    answer = await stage.call("POST", RECEIPTS, {"messageId": WAMID})
    assert (answer.status, answer.json) == (200, {"success": True})
    assert receipts(stage) == [{"messaging_product": "whatsapp", "status": "read", "message_id": WAMID}]


async def test_typing_is_shown_with_it(stage: Stage) -> None:
    answer = await stage.call("POST", RECEIPTS, {"messageId": WAMID, "from": "1001", "typing": True})
    assert answer.status == 200
    assert receipts(stage)[0]["typing_indicator"] == {"type": "text"}


@pytest.mark.parametrize(("times", "status"), [(2, 200), (3, 502)])
async def test_trouble_on_the_way_is_tried_three_times(times: int, status: int, set_up: OpenStage) -> None:
    stage = await set_up(clock=live_clock())
    await stage.fault(drop_response=True, type="read", times=times)
    answer = await stage.call("POST", RECEIPTS, {"messageId": WAMID})
    assert answer.status == status
    assert len(receipts(stage)) == 3


@pytest.mark.parametrize(("code", "status"), [(131009, 422), (190, 502), (130429, 502)])
async def test_a_refusal_is_told_and_not_tried_again(code: int, status: int, stage: Stage) -> None:
    await stage.fault(error_code=code, type="read", times=1)
    answer = await stage.call("POST", RECEIPTS, {"messageId": WAMID})
    assert (answer.status, answer.code) == (status, "provider_refused")
    assert str(code) in answer.json["detail"]
    assert len(receipts(stage)) == 1


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "messageId"),
        ({"messageId": ""}, 422, "messageId"),
        ({"messageId": "x\ny"}, 422, "messageId"),
        ({"messageId": 7}, 422, "messageId"),
        ({"messageId": WAMID, "typing": "yes"}, 422, "typing"),
        ({"messageId": WAMID, "from": "2001"}, 404, "from"),
        ({"messageId": WAMID, "to": "x"}, 422, "to"),
    ],
)
async def test_a_receipt_that_cannot_be_sent_is_refused(
    body: dict[str, Any], status: int, field: str, stage: Stage
) -> None:
    answer = await stage.call("POST", RECEIPTS, body)
    assert (answer.status, answer.json["field"]) == (status, field)
    assert receipts(stage) == []


async def test_with_several_numbers_the_one_that_was_written_to_is_named(stage: Stage) -> None:
    number = a_number("1002")
    names = ("phone_number_id", "waba_id", "token", "app_secret", "verify_token")
    await stage.call("POST", "/api/v1/numbers", {name: getattr(number, name) for name in names})
    answer = await stage.call("POST", RECEIPTS, {"messageId": WAMID})
    assert (answer.status, answer.json["field"]) == (422, "from")


def a_part(name: str, content: bytes, kind: str | None = None, filename: str | None = None) -> bytes:
    named = f'; filename="{filename}"' if filename else ""
    typed = f"\r\ncontent-type: {kind}" if kind else ""
    head = f'--b0\r\ncontent-disposition: form-data; name="{name}"{named}{typed}\r\n\r\n'
    return head.encode() + content + b"\r\n"


async def upload(stage: Stage, *parts: bytes, key: str | None = None, kind: str = FORM) -> Answer:
    body = b"".join(parts) + b"--b0--\r\n"
    return await stage.call("POST", MEDIA, body=body, headers={"content-type": kind}, key=key)


CONTENT = b"\x89PNG\r\n\x1a --b0 is in it, but does not begin a line\r\n"
PNG = a_part("file", CONTENT, "image/png", "a 'b' \u2603.png")


@pytest.mark.parametrize("parts", [[PNG], [PNG, a_part("from", b"1001")], [a_part("from", b"1001"), PNG]])
async def test_a_file_is_uploaded_and_can_be_sent_by_its_id(parts: list[bytes], stage: Stage) -> None:
    answer = await upload(stage, *parts)
    assert answer.status == 201, answer
    media = stage.sandbox.media.get(answer.json["id"])
    assert media is not None
    assert (media.mime_type, media.phone_number_id) == ("image/png", "1001")
    assert media.content == CONTENT


@pytest.mark.parametrize(
    ("part", "status", "code"),
    [
        (a_part("file", b"x" * (5 * 1024 * 1024 + 1), "image/png", "a.png"), 413, "too_large"),
        (a_part("file", b"x" * (500 * 1024 + 1), "image/webp", "a.webp"), 413, "too_large"),
        (a_part("file", b"x", "application/x-sh", "a.sh"), 422, "invalid_payload"),
        (a_part("file", b"x", None, "a.bin"), 422, "invalid_payload"),
        (a_part("file", b"", "image/png", "a.png"), 422, "invalid_payload"),
        (a_part("other", b"x", "image/png", "a.png"), 422, "invalid_payload"),
        (PNG + PNG, 422, "invalid_payload"),
        (a_part("from", b"2001") + PNG, 404, "unknown_number"),
        (b"no form at all", 400, "invalid_form"),
    ],
    ids=[
        "large image",
        "large sticker",
        "type",
        "no type",
        "empty",
        "no file",
        "two",
        "not ours",
        "no form",
    ],
)
async def test_a_file_that_cannot_be_sent_is_refused(part: bytes, status: int, code: str, stage: Stage) -> None:
    answer = await upload(stage, part)
    assert (answer.status, answer.code) == (status, code), answer


async def test_a_body_that_is_no_form_is_refused(stage: Stage) -> None:
    assert (await upload(stage, PNG, kind="application/json")).status == 415


async def test_nobody_uploads_without_a_key(stage: Stage) -> None:
    assert (await upload(stage, PNG, key="")).status == 401


async def test_a_provider_that_cannot_be_reached_is_named(set_up: OpenStage) -> None:
    stage = await set_up(clock=live_clock())
    stage.network.unreachable.add("sandbox.test")
    answer = await upload(stage, PNG)
    assert (answer.status, answer.code) == (502, "provider_unreachable")
