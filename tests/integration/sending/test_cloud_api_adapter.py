"""The Cloud API's answers: what each means for a message, and what is kept of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from tests.integration.stage.harness import HELLO, MESSAGES, Stage
from tests.integration.stage.network import SANDBOX
from waypost.adapters.whatsapp.provider import send_outcome
from waypost.model.outcome import Accepted, ProviderRejected, Unsure
from waypost.ports.platform.http_transport import HttpReply

TOKEN = "EAA/se+cret"


# What an answer means


def error(**fields: Any) -> bytes:
    return json.dumps({"error": {"code": 131009, "message": "(#131009) bad", **fields}}).encode()


def rejected(body: bytes, status: int = 400, **headers: str) -> ProviderRejected:
    outcome = send_outcome(HttpReply(status, headers, body), TOKEN)
    assert isinstance(outcome, ProviderRejected), outcome
    return outcome


def test_an_error_body_is_read_whole() -> None:
    whole = rejected(
        error(type="OAuthException", error_subcode=2494010, error_data={"details": "why"}, fbtrace_id="AbC")
    )
    assert (whole.code, whole.message, whole.subcode) == ("131009", "(#131009) bad", 2494010)
    assert (whole.details, whole.trace, whole.retry_after) == ("why", "AbC", None)


@pytest.mark.parametrize(
    ("data", "details"),
    [
        ({"details": "why"}, "why"),
        ("why", "why"),
        ({}, None),
        (None, None),
        ("", None),
        ({"details": ["a"]}, "['a']"),
        (5, "5"),
    ],
)
def test_details_come_as_an_object_or_as_a_text(data: Any, details: str | None) -> None:
    assert rejected(error(error_data=data)).details == details


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_an_error_body_counts_whatever_the_http_status(status: int) -> None:
    assert rejected(error(), status).code == "131009"


@pytest.mark.parametrize(
    "odd", [{"message": None}, {"message": 5}, {"error_subcode": "x"}, {"fbtrace_id": 5}, {"type": []}]
)
def test_only_the_code_must_be_there(odd: dict[str, Any]) -> None:
    assert rejected(error(**odd)).code == "131009"
    assert rejected(b'{"error":{"code":2}}').message == "error 2"


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("30", 30), ("1.5", 1.5), ("0", 0), ("-5", 0), ("inf", None), ("nan", None), ("soon", None), ("", None),
     ("Wed, 21 Oct 2026 07:28:00 GMT", None)],
)  # fmt: skip
def test_retry_after_is_read_in_seconds(told: str, seconds: float | None) -> None:
    assert rejected(error(), 429, **{"retry-after": told}).retry_after == seconds


@pytest.mark.parametrize(
    ("data", "seconds"),
    [({"retry_after": 30}, 30), ({"retry_after": "1.5"}, 1.5), ({"retry_after": [1]}, None), ("retry_after", None)],
)
def test_retry_after_may_stand_in_the_errors_data(data: Any, seconds: float | None) -> None:
    assert rejected(error(error_data=data)).retry_after == seconds
    assert rejected(error(error_data=data), 429, **{"retry-after": "7"}).retry_after == 7


def test_numbers_links_and_foreign_tokens_are_never_kept() -> None:
    words = "to +16505551234, see https://fb.me/x, token EAAGm0PX4ZCpsBA"
    kept = "to [number], see [link], token [token]"
    outcome = rejected(error(message=f"(#131009) {words}", error_data={"details": words}))
    assert (outcome.message, outcome.details) == (f"(#131009) {kept}", kept)
    told = json.loads(outcome.response)["error"]
    assert (told["message"], told["error_data"]["details"]) == (f"(#131009) {kept}", kept)


def test_the_token_is_never_kept() -> None:
    escaped = TOKEN.replace("/", "\\/")
    body = f'{{"error":{{"code":190,"message":"bad {TOKEN}","error_data":"{escaped}","fbtrace_id":"{TOKEN}"}}}}'
    outcome = rejected(body.encode())
    shown = f"{outcome} {outcome.message} {outcome.details} {outcome.trace} {outcome.response}"
    assert TOKEN not in shown
    assert escaped not in shown
    assert shown.count("[token]") >= 4
    for reply in (
        HttpReply(502, {}, f"<html>{TOKEN}</html>".encode()),
        HttpReply(200, {}, f'{{"x":"{TOKEN}"}}'.encode()),
    ):
        unsure = send_outcome(reply, TOKEN)
        assert isinstance(unsure, Unsure)
        assert TOKEN not in (unsure.response or "")


def test_what_is_kept_is_neither_endless_nor_unstorable() -> None:
    outcome = rejected(error(message="x" * 100_000 + "\u0000"))
    assert len(outcome.response) == len(outcome.message) == 4000
    nul = send_outcome(HttpReply(502, {}, b"a\x00b\xff"), TOKEN)
    assert isinstance(nul, Unsure)
    assert nul.response == "a\ufffdb\ufffd"


NO_ID: list[bytes] = [
    b"", b"{}", b"null", b"[]", b"OK", b"<html>", b'{"messages":[]}', b'{"messages":{}}', b'{"messages":[{}]}',
    b'{"messages":[{"id":""}]}', b'{"messages":[{"id":5}]}', b'{"messages":[{"id":null}]}', b'{"success":true}',
    b'{"messages":[{"id":"a\\u0000b"}]}', b'{"messages":[{"id":"a\\nb"}]}', b'{"messages":[{"id":"\\ud83d"}]}',
    b'{"messages":[{"id":"' + b"x" * 256 + b'"}]}', b"\xff", b"[" * 5000, b'{"messages":[{"id":"\xff"}]}',
]  # fmt: skip


@pytest.mark.parametrize("body", NO_ID, ids=range(len(NO_ID)))
def test_a_200_without_a_usable_id_is_unsure(body: bytes) -> None:
    assert isinstance(send_outcome(HttpReply(200, {}, body), TOKEN), Unsure)


NO_ERROR: list[bytes] = [
    b"", b"{}", b"null", b"Bad Gateway", b'{"error":"x"}', b'{"error":{}}', b'{"error":{"code":"190"}}',
    b'{"error":{"code":null}}', b'{"error":[]}', b"\xff", b"[" * 5000, b'{"messages":[{"id":"wamid.x"}]}',
]  # fmt: skip


@pytest.mark.parametrize("body", NO_ERROR, ids=range(len(NO_ERROR)))
def test_an_answer_that_is_neither_success_nor_error_is_unsure(body: bytes) -> None:
    for status in (201, 204, 301, 400, 404, 500, 502):
        assert isinstance(send_outcome(HttpReply(status, {}, body), TOKEN), Unsure)


def test_the_first_id_is_the_messages() -> None:
    body = b'{"contacts":[],"messages":[{"id":"wamid.1","message_status":"accepted"},{"id":"wamid.2"}]}'
    outcome = send_outcome(HttpReply(200, {}, body), TOKEN)
    assert isinstance(outcome, Accepted)
    kept = '{"messages":[{"id":"wamid.1","message_status":"accepted"},{"id":"wamid.2"}]}'
    assert (outcome.wamid, outcome.response) == ("wamid.1", kept), "the customer's number is not kept"


# The same through the whole server


class Provider:
    """Answers every call with the same bytes, and remembers what was asked."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.body = body
        self.asked: list[tuple[str, dict[bytes, bytes], bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        event = await receive()
        self.asked.append((f"{scope['method']} {scope['path']}", dict(scope["headers"]), event["body"]))
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


async def test_a_send_is_one_post_with_the_numbers_token(stage: Stage) -> None:
    provider = Provider(200, b'{"messages":[{"id":"wamid.1"}]}')
    stage.network.hosts["sandbox.test"] = provider
    posted = await stage.send()
    await stage.becomes(posted["id"], "SENT", providerMessageId="wamid.1")
    ((asked, headers, body),) = provider.asked
    assert asked == "POST /v25.0/1001/messages"
    assert headers[b"authorization"] == f"Bearer {stage.acme.number.token}".encode()
    assert headers[b"content-type"] == b"application/json"
    assert msgspec.json.decode(body)["messaging_product"] == "whatsapp"


async def test_a_number_may_have_an_address_of_its_own(stage: Stage) -> None:
    provider = Provider(200, b'{"messages":[{"id":"wamid.1"}]}')
    stage.network.hosts["elsewhere.test"] = provider
    changed = await stage.call("PATCH", "/api/v1/numbers/1001", {"graph_url": "http://elsewhere.test/v99.0/"})
    assert changed.json["graph_url"] == "http://elsewhere.test/v99.0"
    posted = await stage.send()
    await stage.becomes(posted["id"], "SENT")
    assert provider.asked[0][0] == "POST /v99.0/1001/messages"
    assert SANDBOX not in changed.body.decode()


@pytest.mark.parametrize(
    ("status", "body", "ends"),
    [
        (200, b"\x00\xff" + b"[" * 5000, "SENDING"),
        (502, b"<html>\x00\xff</html>", "SENDING"),
        (400, b'{"error":{"code":131026,"message":"a\\u0000b","error_data":{"details":"\\u0000"}}}', "FAILED"),
        (400, b'{"error":{"code":131026,"message":"' + b"\xe2\x98\x83" * 50_000 + b'"}}', "FAILED"),
        (400, b'{"error":{"code":131026,"message":"[' + b"[" * 3000 + b'"}}', "FAILED"),
    ],
    ids=["garbage", "a page", "NUL", "endless", "brackets"],
)
async def test_whatever_a_provider_says_can_be_kept_and_shown(
    stage: Stage, status: int, body: bytes, ends: str
) -> None:
    stage.network.hosts["sandbox.test"] = Provider(status, body)
    posted = await stage.send()
    await stage.becomes(posted["id"], ends, errorCode=...)
    (attempt,) = await stage.attempts(posted["id"])
    assert attempt["providerResponseJson"] is not None
    assert (await stage.kinds(posted["id"]))[:2] == ["submitted", "claimed"]


async def test_a_provider_that_repeats_the_token_does_not_make_us_keep_it(stage: Stage) -> None:
    token = stage.acme.number.token
    body = json.dumps({"error": {"code": 190, "message": f"Malformed access token {token}"}}).encode()
    stage.network.hosts["sandbox.test"] = Provider(401, body)
    posted = await stage.send()
    held = await stage.becomes(posted["id"], "QUEUED", errorCode="190")
    assert held["errorMessage"] == "Malformed access token [token]"
    for path in ("", "/attempts", "/timeline"):
        assert token.encode() not in (await stage.call("GET", f"{MESSAGES}/{posted['id']}{path}")).body
    kept = await stage.database.run("SELECT response, error_message FROM attempt")
    kept += await stage.database.run("SELECT reason, code FROM gate")
    assert len(kept) == 2
    assert token not in str(kept)


async def test_many_at_once_share_the_connections_and_lose_nothing(stage: Stage) -> None:
    bodies = [HELLO | {"payloadJson": {"text": f"{n}"}, "to": f"+1650555{n:04}"} for n in range(150)]
    answers = await asyncio.gather(*(stage.call("POST", MESSAGES, body) for body in bodies))
    assert {answer.status for answer in answers} == {201}
    for answer in answers:
        await stage.becomes(answer.json["id"], "DELIVERED")
    assert len(stage.sandbox.calls.listed()) == 150
