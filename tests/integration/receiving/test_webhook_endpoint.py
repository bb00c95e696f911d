"""The webhook's door: who may come in, what is taken, and that no item ever costs its neighbours."""

from __future__ import annotations

import asyncio
import hmac
import json
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import DOOR, Account, a_number, a_text, change, envelope, status, status_post
from waypost.flow.receiving import receive_webhook
from waypost.rules.receiving.envelope import LARGEST_POST
from waypost.runtime.process.uvicorn_runner import address, listen, web_server
from waypost.sandbox.webhooks.sender import escaped, signature

TABLES = ("report", "journal", "wamid", "event", "attempt", "delivery")


async def everything(stage: Stage) -> dict[str, list[tuple[Any, ...]]]:
    return {table: sorted(await stage.database.run(f"SELECT * FROM {table}"), key=repr) for table in TABLES}


# The question that Meta asks


def asked(token: str | None, mode: str | None = "subscribe", challenge: str | None = "1158201444") -> str:
    named = {"hub.mode": mode, "hub.verify_token": token, "hub.challenge": challenge}
    return DOOR + "?" + "&".join(f"{name}={quote(value)}" for name, value in named.items() if value is not None)


async def test_the_challenge_comes_back_for_any_connected_numbers_token(stage: Stage) -> None:
    for account in (stage.acme, stage.globex):
        answer = await stage.call("GET", asked(account.number.verify_token), key="")
        assert (answer.status, answer.body) == (200, b"1158201444")
        assert answer.headers["content-type"].startswith("text/plain")


@ON_SQLITE
async def test_without_the_right_token_there_is_no_challenge(stage: Stage) -> None:
    right = stage.acme.number.verify_token
    wrong = [
        asked("wrong"),
        asked(None),
        asked(""),
        asked(right + "x"),
        asked(right[:-1]),
        asked(stage.acme.number.app_secret),
        asked(right, mode=None),
        asked(right, mode="unsubscribe"),
        DOOR,
        DOOR + "?hub.verify_token=%00%ff",
    ]
    for path in wrong:
        answer = await stage.call("GET", path, key="")
        assert (answer.status, answer.code) == (403, "wrong_verify_token"), path
        assert b"1158201444" not in answer.body


@ON_SQLITE
async def test_the_sandbox_can_verify_us_as_meta_does(stage: Stage) -> None:
    assert (await stage._control("POST", "numbers/1001/verify")).body == b'{"verified":true}'


@ON_SQLITE
async def test_a_challenge_is_given_back_byte_for_byte(stage: Stage) -> None:
    for challenge in ("", "ä😀", "<b>&", "a b+c"):
        answer = await stage.call("GET", asked(stage.acme.number.verify_token, challenge=challenge), key="")
        assert (answer.status, answer.body.decode()) == (200, challenge)


@ON_SQLITE
async def test_secrets_are_compared_in_constant_time(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def watched(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    shim = SimpleNamespace(**{**vars(hmac), "compare_digest": watched})
    monkeypatch.setattr(receive_webhook, "hmac", shim)
    await stage.call("GET", asked("wrong"), key="")
    assert {other for _, other in compared} == {b"wrong"}
    assert len(compared) == 2, "every number's token is compared, whichever fits"
    compared.clear()
    assert (await stage.post(status_post(stage.acme, status("wamid.x", "sent")), signed="sha256=00")).status == 401
    assert [other for _, other in compared] == [b"00"]


# Who may come in


async def test_a_signed_post_is_taken_however_it_is_written(stage: Stage) -> None:
    message_id, wamid = await stage.sent_silently()
    contents = [
        escaped(status_post(stage.acme, status(wamid, "sent"), status("wamid/ä😀", "sent"))),
        json.dumps(status_post(stage.acme, status(wamid, "delivered")), indent=4).encode(),
        b" \n" + json.dumps(status_post(stage.acme, status(wamid, "read"))).encode() + b"\r\n\t ",
        json.dumps(status_post(stage.acme, status("wamid.ö", "sent")), ensure_ascii=False).encode(),
    ]
    for content in contents:
        answer = await stage.post(content)
        assert (answer.status, answer.body) == (200, b"{}")
    assert (await stage.message(message_id))["readAt"] is not None


async def test_without_the_numbers_own_signature_nothing_is_taken(stage: Stage) -> None:
    _, wamid = await stage.sent_silently()
    body = json.dumps(status_post(stage.acme, status(wamid, "delivered"))).encode()
    right = signature(stage.acme.number.app_secret, body)
    before = await everything(stage)
    wrong = [
        "",
        "sha256=",
        right.removeprefix("sha256="),
        right.replace("sha256", "sha1"),
        right[:-1],
        right + "0",
        right.upper(),
        "sha256=ä",
        signature(stage.acme.number.app_secret, body + b" "),
        signature(stage.acme.number.verify_token, body),
        signature(stage.acme.number.token, body),
        signature(stage.globex.number.app_secret, body),
        signature("", body),
    ]
    for signed in wrong:
        answer = await stage.post(body, signed=signed)
        assert (answer.status, answer.code) == (401, "invalid_signature"), signed
    assert await everything(stage) == before


@ON_SQLITE
async def test_what_is_no_json_object_is_refused(stage: Stage) -> None:
    for body in (b"", b"{", b"[]", b'"text"', b"null", b"5", b"{}{}", b"\xff", b"\x00", b"[" * 100_000, b"{'a':1}"):
        answer = await stage.post(body)
        assert (answer.status, answer.code) == (400, "invalid_json"), body[:20]
        assert len(answer.body) < 1000


@ON_SQLITE
async def test_what_is_for_no_number_of_ours_is_not_found(stage: Stage) -> None:
    stranger = Account("nobody", "", a_number("9009"))
    bodies: list[Any] = [
        status_post(stranger, status("wamid.x", "sent")),
        {},
        {"entry": []},
        {"entry": 5},
        {"entry": [5, None, {}]},
        {"entry": [{"id": "unknown", "changes": [{"field": "account_update", "value": {}}]}]},
        {"object": "page", "entry": [{"id": "1", "messaging": []}]},
    ]
    for body in bodies:
        answer = await stage.post(body)
        assert (answer.status, answer.code) == (404, "unknown_number"), body


async def test_an_org_that_is_named_must_be_the_owner(stage: Stage) -> None:
    _, wamid = await stage.sent_silently()
    body = status_post(stage.acme, status(wamid, "delivered"))
    before = await everything(stage)
    for org in ("globex", "", "ACME"):
        answer = await stage.post(body, headers={"x-org-id": org})
        assert (answer.status, answer.code) == (403, "wrong_org")
    assert await everything(stage) == before
    assert (await stage.post(body, headers={"x-org-id": "acme"})).status == 200


@ON_SQLITE
async def test_the_door_knows_two_methods(stage: Stage) -> None:
    for method in ("PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"):
        answer = await stage.call(method, DOOR, key="")
        assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")


async def test_a_number_is_known_as_soon_as_it_is_connected_and_no_longer(stage: Stage) -> None:
    number = Account("acme", stage.acme.key, a_number("1002"))
    body = status_post(number, status("wamid.x", "sent"))
    assert (await stage.post(body, number)).status == 404
    assert (await stage.call("POST", "/api/v1/numbers", number.as_connected)).status == 201
    assert (await stage.post(body, number)).status == 200
    changed = await stage.call("PATCH", "/api/v1/numbers/1002", {"app_secret": "rotated"})
    assert changed.status == 200
    assert (await stage.post(body, number)).status == 401
    assert (await stage.call("DELETE", "/api/v1/numbers/1002")).status == 204
    assert (await stage.post(body, number)).status == 404


# Size


def padded(account: Account, size: int) -> bytes:
    body = json.dumps(status_post(account, status("wamid.x", "sent"))).encode()
    return body + b" " * (size - len(body))


@ON_SQLITE
async def test_three_megabytes_are_taken_and_one_byte_more_is_not(stage: Stage) -> None:
    assert (await stage.post(padded(stage.acme, LARGEST_POST))).status == 200
    answer = await stage.post(padded(stage.acme, LARGEST_POST + 1))
    assert (answer.status, answer.code) == (413, "too_large")


@ON_SQLITE
async def test_a_length_that_is_announced_is_believed_before_anything_is_read(stage: Stage) -> None:
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b"", "more_body": True}

    answers: list[Any] = []

    async def send(event: Any) -> None:
        answers.append((read, event.get("status")))

    for length in (str(LARGEST_POST + 1), "9" * 400):
        scope = {"type": "http", "method": "POST", "path": DOOR, "headers": [(b"content-length", length.encode())]}
        await stage.server.app(scope, receive, send)
        assert answers[0] == (0, 413)
        read, answers = 0, []


@ON_SQLITE
async def test_a_sender_who_goes_away_in_the_middle_leaves_nothing(stage: Stage) -> None:
    body = json.dumps(status_post(stage.acme, status("wamid.x", "sent"))).encode()
    signed = signature(stage.acme.number.app_secret, body).encode()
    events: list[dict[str, Any]] = [
        {"type": "http.request", "body": body, "more_body": True},
        {"type": "http.disconnect"},
    ]
    scope = {"type": "http", "method": "POST", "path": DOOR, "headers": [(b"x-hub-signature-256", signed)]}
    answers: list[Any] = []

    async def receive() -> dict[str, Any]:
        return events.pop(0)

    async def send(event: Any) -> None:
        answers.append(event)

    await stage.server.app(scope, receive, send)
    assert (answers, await stage.database.run("SELECT * FROM report")) == ([], [])


async def over_a_socket(stage: Stage, *chunks: bytes) -> bytes:
    """The start of what a real web server answers to these bytes."""
    sock = listen("127.0.0.1", 0)
    server = web_server(stage.server.app)
    serving = asyncio.ensure_future(server.serve(sockets=[sock]))
    try:
        host, port = address(sock).removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for chunk in chunks:
            writer.write(chunk)
        answer = await asyncio.wait_for(reader.read(2000), 10)
        writer.close()
    finally:
        server.should_exit = True
        await serving
        sock.close()
    return answer


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


@ON_SQLITE
async def test_over_a_socket_a_body_in_chunks_is_taken(stage: Stage) -> None:
    body = json.dumps(status_post(stage.acme, status("wamid.x", "sent"))).encode()
    head = (
        f"POST {DOOR} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
        f"x-hub-signature-256: {signature(stage.acme.number.app_secret, body)}\r\n\r\n"
    )
    answer = await over_a_socket(stage, head.encode(), chunked(body[:50], body[50:], b""))
    assert answer.startswith(b"HTTP/1.1 200")
    assert len(await stage.database.run("SELECT * FROM report")) == 1


@ON_SQLITE
async def test_over_a_socket_too_much_is_refused_with_and_without_its_length(stage: Stage) -> None:
    head = f"POST {DOOR} HTTP/1.1\r\nhost: x\r\n".encode()
    announced = head + b"content-length: 99999999\r\n\r\n"
    assert (await over_a_socket(stage, announced)).startswith(b"HTTP/1.1 413")
    endless = [chunked(b" " * 65536) for _ in range(LARGEST_POST // 65536 + 2)]
    answer = await over_a_socket(stage, head + b"transfer-encoding: chunked\r\n\r\n", *endless)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"application/problem+json" in answer


# Whose is what


async def test_a_thousand_updates_of_several_orgs_in_one_post(stage: Stage, initech: Account) -> None:
    def of(account: Account, count: int) -> list[dict[str, Any]]:
        statuses = [status(f"wamid.{account.org}.{n}", "sent") for n in range(count)]
        messages = [a_text(f"wamid.{account.org}.in.{n}") for n in range(100)]
        return [change(account, statuses=statuses[::2]), change(account, statuses=statuses[1::2], messages=messages)]

    message_id, wamid = await stage.sent_silently()
    body = envelope((stage.acme, of(stage.acme, 300)), (stage.globex, of(stage.globex, 200)))
    body["entry"] += envelope(
        (initech, of(initech, 200)), (stage.acme, [change(stage.acme, statuses=[status(wamid, "read")])])
    )["entry"]
    assert (await stage.post(body)).status == 200
    counted = await stage.database.run("SELECT org_id, count(*) FROM report GROUP BY org_id ORDER BY org_id")
    assert counted == [("acme", 301), ("initech", 200)], "globex did not sign this"
    assert len(await stage.customer_messages()) == len(await stage.customer_messages(initech)) == 100
    assert await stage.customer_messages(stage.globex) == []
    assert (await stage.message(message_id))["readAt"] is not None
    assert (await stage.post(body, stage.globex)).status == 200
    assert len(await stage.customer_messages(stage.globex)) == 100


async def test_no_org_can_sign_for_another(stage: Stage) -> None:
    message_id, wamid = await stage.sent_silently()
    echo = f"wp1.{message_id}.1"
    error = {"errors": [{"code": 131026}]}
    forged = [
        status_post(stage.globex, status(wamid, "delivered")),
        status_post(stage.globex, status(wamid, "failed", **error)),
        status_post(stage.globex, status("wamid.other", "delivered", biz_opaque_callback_data=echo)),
        status_post(stage.globex, status(wamid, "failed", biz_opaque_callback_data=echo, **error)),
    ]
    before = await stage.database.run("SELECT * FROM delivery")
    for body in forged:
        assert (await stage.post(body, stage.globex)).status == 200
    assert (await stage.post(status_post(stage.acme, status(wamid, "delivered")), stage.globex)).status == 401
    assert await stage.database.run("SELECT * FROM delivery") == before
    assert await stage.kinds(message_id) == ["submitted", "claimed", "accepted"]
    assert (await stage.post(status_post(stage.acme, status(wamid, "delivered")))).status == 200
    await stage.becomes(message_id, "DELIVERED")


async def test_a_post_with_parts_of_two_orgs_takes_only_the_signers(stage: Stage) -> None:
    message_id, wamid = await stage.sent_silently()
    body = envelope(
        (stage.acme, [change(stage.acme, statuses=[status(wamid, "delivered")])]),
        (stage.globex, [change(stage.globex, messages=[a_text("wamid.in")])]),
    )
    assert (await stage.post(body, stage.globex)).status == 200
    assert (await stage.message(message_id))["status"] == "SENT"
    assert [wamid for wamid, _ in await stage.customer_messages(stage.globex)] == ["wamid.in"]


async def test_an_echo_counts_only_on_the_number_that_sent_the_message(stage: Stage) -> None:
    second = Account("acme", stage.acme.key, a_number("1002"))
    assert (await stage.call("POST", "/api/v1/numbers", second.as_connected)).status == 201
    message_id, _ = await stage.sent_silently()
    forged = status_post(second, status("wamid.other", "failed", biz_opaque_callback_data=f"wp1.{message_id}.1"))
    assert (await stage.post(forged, second)).status == 200
    assert (await stage.message(message_id))["status"] == "SENT"


async def test_account_items_belong_to_the_business_account(stage: Stage) -> None:
    value = {"event": "APPROVED", "message_template_id": 12, "message_template_name": "hello"}
    item = {"field": "message_template_status_update", "value": value}
    body = {"entry": [{"id": stage.acme.number.waba_id, "time": 1739321024, "changes": [item, item]}]}
    for _ in range(2):
        assert (await stage.post(body)).status == 200
    (kept,) = await stage.journal()
    assert kept["kind"] == "account:message_template_status_update"
    assert json.loads(kept["body"]) == value
    later = {"entry": [body["entry"][0] | {"time": 1739321025}]}
    assert (await stage.post(later)).status == 200
    assert len(await stage.journal()) == 2
    assert (await stage.post(body, stage.globex)).status == 401
