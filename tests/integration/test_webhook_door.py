"""The webhook's door: who may come in, what is taken, and that no item ever costs its neighbours."""

from __future__ import annotations

import asyncio
import hmac
import json
import string
import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.harness import (
    DOOR,
    Account,
    Stage,
    a_number,
    a_text,
    change,
    envelope,
    settle_in,
    status,
    told,
)
from waypost.flow import confirm
from waypost.rules.webhook import LARGEST_POST
from waypost.runtime.serving import address, listen, web_server
from waypost.sandbox.webhooks import escaped, signature

ON_SQLITE = pytest.mark.parametrize("ledger", ["sqlite"], indirect=True)
TABLES = ("report", "journal", "wamid", "event", "attempt", "delivery")


async def sent(stage: Stage) -> tuple[int, str]:
    """A message that the provider has; its id and its wamid."""
    await stage.fault(statuses="never", times=1)
    posted = await stage.send()
    return posted["id"], (await stage.becomes(posted["id"], "SENT"))["providerMessageId"]


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

    class Watched:
        compare_digest = staticmethod(watched)
        new = staticmethod(hmac.new)

    monkeypatch.setattr(confirm, "hmac", Watched)
    await stage.call("GET", asked("wrong"), key="")
    assert {other for _, other in compared} == {b"wrong"}
    assert len(compared) == 2, "every number's token is compared, whichever fits"
    compared.clear()
    assert (await stage.post(told(stage.acme, status("wamid.x", "sent")), signed="sha256=00")).status == 401
    assert [other for _, other in compared] == [b"00"]


# Who may come in


async def test_a_signed_post_is_taken_however_it_is_written(stage: Stage) -> None:
    message_id, wamid = await sent(stage)
    contents = [
        escaped(told(stage.acme, status(wamid, "sent"), status("wamid/ä😀", "sent"))),
        json.dumps(told(stage.acme, status(wamid, "delivered")), indent=4).encode(),
        b" \n" + json.dumps(told(stage.acme, status(wamid, "read"))).encode() + b"\r\n\t ",
        json.dumps(told(stage.acme, status("wamid.ö", "sent")), ensure_ascii=False).encode(),
    ]
    for content in contents:
        answer = await stage.post(content)
        assert (answer.status, answer.body) == (200, b"{}")
    assert (await stage.message(message_id))["readAt"] is not None


async def test_without_the_numbers_own_signature_nothing_is_taken(stage: Stage) -> None:
    _, wamid = await sent(stage)
    body = json.dumps(told(stage.acme, status(wamid, "delivered"))).encode()
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
        told(stranger, status("wamid.x", "sent")),
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
    _, wamid = await sent(stage)
    body = told(stage.acme, status(wamid, "delivered"))
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
    body = told(number, status("wamid.x", "sent"))
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
    body = json.dumps(told(account, status("wamid.x", "sent"))).encode()
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
        answers.append(event)

    for length in (str(LARGEST_POST + 1), "9" * 400):
        scope = {"type": "http", "method": "POST", "path": DOOR, "headers": [(b"content-length", length.encode())]}
        await stage.server.app(scope, receive, send)
        assert answers[-2]["status"] == 413
    assert read == 0


@ON_SQLITE
async def test_a_sender_who_goes_away_in_the_middle_leaves_nothing(stage: Stage) -> None:
    body = json.dumps(told(stage.acme, status("wamid.x", "sent"))).encode()
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
    body = json.dumps(told(stage.acme, status("wamid.x", "sent"))).encode()
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


@pytest.fixture
async def initech(stage: Stage) -> Account:
    """An org of its own behind the same Meta app as acme: the same app secret."""
    account = Account("initech", "", a_number("3001", app_secret=stage.acme.number.app_secret))
    await settle_in(stage, account)
    return account


async def test_a_thousand_updates_of_several_orgs_in_one_post(stage: Stage, initech: Account) -> None:
    def of(account: Account, count: int) -> list[dict[str, Any]]:
        statuses = [status(f"wamid.{account.org}.{n}", "sent") for n in range(count)]
        messages = [a_text(f"wamid.{account.org}.in.{n}") for n in range(100)]
        return [change(account, statuses=statuses[::2]), change(account, statuses=statuses[1::2], messages=messages)]

    message_id, wamid = await sent(stage)
    body = envelope((stage.acme, of(stage.acme, 300)), (stage.globex, of(stage.globex, 200)))
    body["entry"] += envelope(
        (initech, of(initech, 200)), (stage.acme, [change(stage.acme, statuses=[status(wamid, "read")])])
    )["entry"]
    assert (await stage.post(body)).status == 200
    counted = await stage.database.run("SELECT org_id, count(*) FROM report GROUP BY org_id ORDER BY org_id")
    assert counted == [("acme", 301), ("initech", 200)], "globex did not sign this"
    assert len(await stage.journal()) == len(await stage.journal(initech)) == 100
    assert await stage.journal(stage.globex) == []
    assert (await stage.message(message_id))["readAt"] is not None
    assert (await stage.post(body, stage.globex)).status == 200
    assert len(await stage.journal(stage.globex)) == 100


async def test_no_org_can_sign_for_another(stage: Stage) -> None:
    message_id, wamid = await sent(stage)
    echo = f"wp1.{message_id}.1"
    error = {"errors": [{"code": 131026}]}
    forged = [
        told(stage.globex, status(wamid, "delivered")),
        told(stage.globex, status(wamid, "failed", **error)),
        told(stage.globex, status("wamid.other", "delivered", biz_opaque_callback_data=echo)),
        told(stage.globex, status(wamid, "failed", biz_opaque_callback_data=echo, **error)),
    ]
    before = await stage.database.run("SELECT * FROM delivery")
    for body in forged:
        assert (await stage.post(body, stage.globex)).status == 200
    assert (await stage.post(told(stage.acme, status(wamid, "delivered")), stage.globex)).status == 401
    assert await stage.database.run("SELECT * FROM delivery") == before
    assert await stage.kinds(message_id) == ["submitted", "claimed", "accepted"]
    assert (await stage.post(told(stage.acme, status(wamid, "delivered")))).status == 200
    await stage.becomes(message_id, "DELIVERED")


async def test_a_post_with_parts_of_two_orgs_takes_only_the_signers(stage: Stage) -> None:
    message_id, wamid = await sent(stage)
    body = envelope(
        (stage.acme, [change(stage.acme, statuses=[status(wamid, "delivered")])]),
        (stage.globex, [change(stage.globex, messages=[a_text("wamid.in")])]),
    )
    assert (await stage.post(body, stage.globex)).status == 200
    assert (await stage.message(message_id))["status"] == "SENT"
    assert [item["key"] for item in await stage.journal(stage.globex)] == ["wamid.in"]


async def test_an_echo_counts_only_on_the_number_that_sent_the_message(stage: Stage) -> None:
    second = Account("acme", stage.acme.key, a_number("1002"))
    assert (await stage.call("POST", "/api/v1/numbers", second.as_connected)).status == 201
    message_id, _ = await sent(stage)
    forged = told(second, status("wamid.other", "failed", biz_opaque_callback_data=f"wp1.{message_id}.1"))
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


# What is kept


async def test_the_same_body_twice_changes_nothing_the_second_time(stage: Stage) -> None:
    _, wamid = await sent(stage)
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
    (kept,) = await stage.journal()
    assert (kept["kind"], kept["key"], kept["state"], kept["number"]) == ("message", "wamid.in", "pending", "1001")
    assert json.loads(kept["body"]) == {"message": message, "contacts": contacts}


async def test_the_same_wamid_on_two_numbers_is_two_messages(stage: Stage, initech: Account) -> None:
    parts = [(account, [change(account, messages=[a_text("wamid.same")])]) for account in (stage.acme, initech)]
    assert (await stage.post(envelope(*parts))).status == 200
    assert len(await stage.journal()) == len(await stage.journal(initech)) == 1


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
    kept = await stage.journal()
    assert kept
    inner: Any = next(iter(UNKNOWN[what].values()), [{}])[0]
    assert all(json.dumps(inner, separators=(",", ":"))[1:-1] in item["body"] for item in kept)


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
        journaled = {key for (key,) in await stage.database.run("SELECT key FROM journal WHERE kind = 'message'")}
        assert {one["id"] for one in good} <= stored, bad
        assert {one["id"] for one in messages} <= journaled, bad


async def test_a_status_that_says_what_it_must_counts_though_the_rest_is_malformed(stage: Stage) -> None:
    message_id, wamid = await sent(stage)
    malformed = status(wamid, "delivered", errors="none", recipient_id=5, recipient_participant_id=[], pricing=1)
    assert (await stage.post(told(stage.acme, malformed))).status == 200
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
        assert "wamid.in" in {item["key"] for item in await stage.journal()}


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
    message_id, wamid = await sent(stage)
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
    kept = await stage.journal()
    assert "in.good" in {item["key"] for item in kept}
    assert await stage.kinds(message_id)
    before = await everything(stage)
    assert (await stage.post(content)).status == 200
    assert await everything(stage) == before


async def test_bytes_that_are_no_utf8_cost_nobody_anything(stage: Stage) -> None:
    message_id, wamid = await sent(stage)
    statuses = [status(f"wamid.{n}", "failed", errors=[{"code": 1, "title": "HERE"}]) for n in range(2)]
    messages = [a_text("in.HERE", "HERE"), a_text("in.good")]
    body = envelope((stage.acme, [change(stage.acme, statuses=[*statuses, status(wamid, "read")], messages=messages)]))
    for broken in (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x9f\x98"):
        content = json.dumps(body).encode().replace(b"HERE", broken)
        assert (await stage.post(content)).status == 200
    assert (await stage.message(message_id))["readAt"] is not None
    assert "in.good" in {item["key"] for item in await stage.journal()}


async def test_of_a_key_that_is_there_twice_the_last_one_counts(stage: Stage) -> None:
    _, wamid = await sent(stage)
    body = json.dumps(told(stage.acme, status(wamid, "delivered"))).encode()
    doubled = body.replace(b'"status": "delivered"', b'"status": "failed", "status": "delivered"')
    doubled = doubled.replace(b'"entry":', b'"entry": [], "entry":')
    assert (await stage.post(doubled)).status == 200
    assert await stage.database.run("SELECT kind FROM report") == [("delivered",)]


# Shapes that a server may not like


@pytest.mark.parametrize("depth", [50, 500, 900, 1000, 5000, 100_000])
@ON_SQLITE
async def test_deep_nesting_is_answered(stage: Stage, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    message_id, wamid = await sent(stage)
    places = [
        told(stage.acme, status(wamid, "sent", deep="HERE")),
        told(stage.acme, status(wamid, "failed", errors=[{"code": 1, "error_data": "HERE"}])),
        envelope((stage.acme, [change(stage.acme, messages=[a_text("in", context="HERE")])])),
        envelope((stage.acme, [change(stage.acme, contacts="HERE")])),
        envelope((stage.acme, [change(stage.acme) | {"value": "HERE"}])),
    ]
    for place in places:
        content = json.dumps(place).replace('"HERE"', deep).encode()
        assert (await stage.post(content)).status in (200, 400)
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
    assert time.process_time() - started < 3
    assert answer.status in (200, 400)
    if answer.status == 200:
        assert await stage.database.run("SELECT wamid FROM report") == [("wamid.good",)]
        assert len(await stage.journal()) <= 1


# Fuzz


TEXTS = st.one_of(st.text(max_size=20), st.text(alphabet="\u0000\ud83d\ude00\\u/\"'", max_size=6), st.just("x" * 3000))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
JUNK = st.recursive(
    st.one_of(SCALARS, st.just(10**30), st.just(-(10**30)), st.just(2**63)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
PATH = st.lists(st.integers(0, 30), max_size=9)
ACME = Account("acme", "", a_number("1001"))
SHAPES: list[Any] = [
    told(ACME, status("wamid.1", "sent", biz_opaque_callback_data="wp1.1.1", pricing={"category": "service"})),
    told(ACME, status("wamid.1", "failed", errors=[{"code": 131026, "title": "x", "error_data": {"details": "y"}}])),
    told(ACME, status("wamid.1", "read", recipient_participant_id="p", recipient_type="group")),
    envelope((ACME, [change(ACME, messages=[a_text("wamid.in")], contacts=[{"profile": {"name": "x"}}])])),
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
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
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
    good = told(stage.acme, status(f"wamid.good.{number % 10**12}", "sent"))["entry"][0]
    if isinstance(body, dict) and isinstance(body.get("entry"), list):
        body = body | {"entry": [*body["entry"], good]}
        content = json.dumps(body).encode()
        answer = await stage.post(content)
        assert answer.status == 200, answer
        found = await stage.database.run(f"SELECT count(*) FROM report WHERE wamid = 'wamid.good.{number % 10**12}'")
        assert found == [(1,)]
    else:
        answer = await stage.post(json.dumps(body).encode())
        assert answer.status in (200, 400, 404), answer


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.one_of(st.binary(max_size=200), JUNK.map(lambda value: json.dumps(value).encode())))
@ON_SQLITE
async def test_whatever_comes_unsigned_is_never_answered_5xx(stage: Stage, body: bytes) -> None:
    assert (await stage.post(body, signed="sha256=00")).status in (400, 401, 404)
