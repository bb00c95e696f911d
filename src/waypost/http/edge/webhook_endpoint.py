"""The webhook endpoint as a plain ASGI handler, since it takes the most traffic."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias, assert_never
from urllib.parse import parse_qs

from waypost.flow.receiving import receive_webhook
from waypost.flow.world import World
from waypost.http.edge.problems import MEDIA_TYPE, Problem, body, ledger_problem
from waypost.ports.platform.failure import LedgerError, Rejected
from waypost.rules.receiving.envelope import LARGEST_POST

PATH = "/api/v1/webhooks/whatsapp/inbound"

AsgiScope: TypeAlias = MutableMapping[str, Any]
AsgiReceive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
AsgiSend: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_JSON = [(b"content-type", b"application/json"), (b"content-length", b"2")]
_OK = {"type": "http.response.start", "status": 200, "headers": _JSON}
_OK_BODY = {"type": "http.response.body", "body": b"{}"}
_TOO_LARGE = Problem(413, "too_large", f"a webhook POST has at most {LARGEST_POST} bytes")


class WebhookTooLarge(Exception):
    pass


async def webhook_endpoint(scope: AsgiScope, receive: AsgiReceive, send: AsgiSend, world: World) -> None:
    try:
        problem = await _answer(scope, receive, send, world)
    except LedgerError as failure:
        world.meters.ledger_failed(failure)
        if not isinstance(failure, Rejected):  # the Ledger rejects it each time, however often the provider repeats it
            world.refusals.count += 1
        problem = ledger_problem(failure)
    if problem is not None:
        await _refuse(send, problem)


async def _answer(scope: AsgiScope, receive: AsgiReceive, send: AsgiSend, world: World) -> Problem | None:
    if scope["method"] == "POST":
        return await _take(scope, receive, send, world)
    if scope["method"] == "GET":
        return await _verify(scope, send, world)
    return Problem(405, "method_not_allowed", "the webhook accepts GET and POST", headers={"allow": "GET, POST"})


async def _take(scope: AsgiScope, receive: AsgiReceive, send: AsgiSend, world: World) -> Problem | None:
    signature = org = None
    for name, value in scope["headers"]:
        if name == b"x-hub-signature-256":
            signature = value.decode("latin-1")
        elif name == b"x-org-id":
            org = value.decode("latin-1")
        elif name == b"content-length" and value.isdigit() and int(value[:20]) > LARGEST_POST:
            return _TOO_LARGE
    try:
        content = await _read(receive)
    except WebhookTooLarge:
        return _TOO_LARGE
    if content is None:
        return None  # the sender disconnected: nothing was stored, and there is no one to answer
    answer = await receive_webhook.receive(content, signature, org, world)
    if isinstance(answer, receive_webhook.WebhookAccepted):
        await send(_OK)
        await send(_OK_BODY)
        return None
    return _problem(answer)


def _problem(
    answer: receive_webhook.WebhookInvalidJson
    | receive_webhook.WebhookInvalidSignature
    | receive_webhook.WebhookUnknownNumber
    | receive_webhook.WebhookWrongOrg,
) -> Problem:
    match answer:
        case receive_webhook.WebhookInvalidJson():
            return Problem(400, "invalid_json", f"the body is not a JSON object: {answer.reason[:200]}")
        case receive_webhook.WebhookInvalidSignature():
            why = "X-Hub-Signature-256 is missing or invalid for the number's app secret"
            return Problem(401, "invalid_signature", why)
        case receive_webhook.WebhookUnknownNumber():
            return Problem(404, "unknown_number", "nothing in it is for a connected number")
        case receive_webhook.WebhookWrongOrg():
            return Problem(403, "wrong_org", "X-Org-Id is not the owner of the number", field="X-Org-Id")
        case _:
            assert_never(answer)


async def _read(receive: AsgiReceive) -> bytes | None:
    chunks: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        chunk = event.get("body", b"")
        size += len(chunk)
        if size > LARGEST_POST:
            raise WebhookTooLarge
        if not event.get("more_body", False) and not chunks:
            return bytes(chunk)
        chunks.append(chunk)
        if not event.get("more_body", False):
            return b"".join(chunks)


async def _verify(scope: AsgiScope, send: AsgiSend, world: World) -> Problem | None:
    asked = parse_qs(scope["query_string"].decode("latin-1"))
    mode, token, challenge = (asked.get(f"hub.{name}", [None])[0] for name in ("mode", "verify_token", "challenge"))
    if not await receive_webhook.verify(mode, token, world):
        return Problem(403, "wrong_verify_token", "hub.verify_token does not match a connected number")
    await _respond(send, 200, [(b"content-type", b"text/plain; charset=utf-8")], (challenge or "").encode())
    return None


async def _refuse(send: AsgiSend, problem: Problem) -> None:
    headers = [(b"content-type", MEDIA_TYPE.encode())]
    headers += [(name.encode(), value.encode()) for name, value in problem.headers.items()]
    await _respond(send, problem.status, headers, body(problem))


async def _respond(send: AsgiSend, status: int, headers: Iterable[tuple[bytes, bytes]], content: bytes) -> None:
    length = (b"content-length", str(len(content)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": content})
