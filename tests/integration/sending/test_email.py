"""Emails end to end: submitted over HTTP, queued like any message, sent to a real mail server."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import MESSAGES, ON_SQLITE, Stage
from tests.integration.stage.mail_server import (
    CODES,
    HANG_UP,
    PASSWORD,
    USER,
    MailServer,
    mail_server,
    make_certificate,
)
from waypost.adapters.smtp.mailer import SmtpMailer
from waypost.model.email import Security
from waypost.model.time import minutes, seconds

MAILBOXES = "/api/v1/mailboxes"
LETTER: dict[str, Any] = {
    "channel": "EMAIL",
    "to": "Ann@Example.COM",
    "subject": "Your order ☃",
    "payloadJson": {"text": "It arrives on Monday.", "html": "<p>Monday</p>", "replyTo": "help@example.com"},
}


async def connect(stage: Stage, server: MailServer, **changed: Any) -> dict[str, Any]:
    body = {"address": "shop@example.com", "host": "127.0.0.1", "port": server.port, "security": "none", **changed}
    answer = await stage.call("POST", MAILBOXES, body)
    assert answer.status == 201, answer
    found: dict[str, Any] = answer.json
    return found


async def test_a_letter_reaches_the_mail_server_with_our_id_and_fence(stage: Stage) -> None:
    async with mail_server() as server:
        mailbox = await connect(stage, server, name="The shop")
        posted = await stage.send(**LETTER)
        assert (posted["from"], posted["to"]) == (mailbox["mailbox_id"], "Ann@example.com")
        sent = await stage.becomes(posted["id"], "SENT")
        (mail,) = server.mails
    assert sent["providerMessageId"] == mail["Message-ID"] == f"<wp1.{posted['id']}.1@example.com>"
    assert (mail["From"], mail["To"], mail["Subject"]) == (
        "The shop <shop@example.com>",
        "Ann@example.com",
        "Your order ☃",
    )
    assert await stage.kinds(posted["id"]) == ["submitted", "claimed", "accepted"]
    assert stage.calls() == []
    listed = await stage.get(f"{MESSAGES}?to=Ann%40example.com")
    assert [message["id"] for message in listed] == [posted["id"]]
    assert await stage.metric('outbound_message_send_success_total{channel="email"}') == 1


@ON_SQLITE
async def test_the_same_key_sends_one_letter(stage: Stage) -> None:
    async with mail_server() as server:
        await connect(stage, server)
        first = await stage.send(**LETTER, idempotencyKey="order-7")
        again = await stage.send(200, **LETTER, idempotencyKey="order-7")
        assert first["id"] == again["id"]
        await stage.becomes(first["id"], "SENT")
        assert len(server.taken) == 1


@ON_SQLITE
@pytest.mark.parametrize(
    ("answers", "status", "code"),
    [
        ({"RCPT": "550 5.1.1 no such mailbox"}, "FAILED", "5.1.1"),
        ({"RCPT": "450 4.7.1 greylisted"}, "QUEUED", "4.7.1"),
        ({"CONNECT": HANG_UP}, "QUEUED", "CONNECTION_REFUSED"),
        ({"END": HANG_UP}, "SENDING", "UNSURE"),
    ],
)
async def test_a_refusal_is_judged_by_the_mail_servers_own_codes(
    answers: dict[str, str], status: str, code: str, stage: Stage
) -> None:
    async with mail_server() as server:
        server.answers = answers
        await connect(stage, server)
        posted = await stage.send(**LETTER)
        await stage.becomes(posted["id"], status, errorCode=code)


@ON_SQLITE
async def test_a_refused_letter_goes_when_its_wait_is_over(stage: Stage) -> None:
    async with mail_server() as server:
        server.answers = {"RCPT": "450 4.7.1 greylisted"}
        await connect(stage, server)
        posted = await stage.send(**LETTER)
        await stage.becomes(posted["id"], "QUEUED", errorCode="4.7.1")
        server.answers = {}
        await stage.pass_time(minutes(2))
        sent = await stage.becomes(posted["id"], "SENT")
        assert (sent["attemptCount"], sent["providerMessageId"]) == (2, f"<wp1.{posted['id']}.2@example.com>")


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return make_certificate(tmp_path)


@ON_SQLITE
async def test_letters_wait_for_the_right_password_and_cost_no_try(
    certificate: tuple[ssl.SSLContext, ssl.SSLContext], set_up: OpenStage
) -> None:
    serving, trusting = certificate
    stage = await set_up(mailer=SmtpMailer(CODES, timeout=5, tls=trusting))
    async with mail_server(Security.TLS, serving) as server:
        login = {"security": "tls", "username": USER, "password": "wrong"}
        mailbox = await connect(stage, server, **login)
        posted = [await stage.send(**LETTER) for _ in range(3)]
        held = await stage.becomes(posted[0]["id"], "QUEUED", errorCode="5.7.8")
        assert held["attemptCount"] == 0
        answer = await stage.call("PATCH", f"{MAILBOXES}/{mailbox['mailbox_id']}", {"password": PASSWORD})
        assert answer.status == 200
        assert PASSWORD.encode() not in answer.body
        for message in posted:
            await stage.pass_time(seconds(2))  # each at the mailbox's pace
            sent = await stage.becomes(message["id"], "SENT")
            assert sent["attemptCount"] == 1
        assert server.logged_in == [True] * 3


@ON_SQLITE
async def test_a_dead_mail_server_does_not_stop_whatsapp(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="ignore")
    async with mail_server() as server:
        mailbox = await connect(stage, server)
    for _ in range(12):
        await stage.send(**LETTER)
        await stage.pass_time(seconds(0.2))
    whatsapp = await stage.send()
    await stage.becomes(whatsapp["id"], "DELIVERED")

    async def closed() -> bool:
        found = await stage.database.run("SELECT name, kind FROM gate")
        return [tuple(row) for row in found] == [(f"number:{mailbox['mailbox_id']}", "breaker")]

    async def failed() -> bool:
        return len(await stage.get(f"{MESSAGES}?status=QUEUED")) == 12

    assert await stage.eventually(failed)
    assert await stage.eventually(closed)


@ON_SQLITE
@pytest.mark.parametrize(
    ("changed", "status", "code", "field"),
    [
        ({"to": "+16505551234"}, 422, "invalid_recipient", "to"),
        ({"to": "Ann <ann@example.com>"}, 422, "invalid_recipient", "to"),
        ({"to": "x" * 255}, 422, "invalid_payload", "to"),
        ({"subject": None}, 422, "invalid_payload", "subject"),
        ({"subject": "a\r\nBcc: eve@example.com"}, 422, "invalid_payload", "subject"),
        ({"payloadJson": {}}, 422, "invalid_payload", "payloadJson.text"),
        ({"payloadJson": {"text": "x", "attachments": []}}, 422, "invalid_payload", "payloadJson.attachments"),
        ({"payloadJson": {"text": "x", "headers": {"Bcc": "e@x.org"}}}, 422, "invalid_payload", None),
        ({"templateCode": "hello_world"}, 422, "invalid_payload", "templateCode"),
        ({"from": "1001"}, 404, "unknown_mailbox", "from"),
        ({"channel": "SMS"}, 422, "unsupported_channel", "channel"),
        ({"channel": "PHONE"}, 422, "unsupported_channel", "channel"),
    ],
)
async def test_what_cannot_be_sent_is_refused_with_its_field_and_not_stored(
    changed: dict[str, Any], status: int, code: str, field: str | None, stage: Stage
) -> None:
    async with mail_server() as server:
        await connect(stage, server)
        answer = await stage.call("POST", MESSAGES, {**LETTER, **changed})
        assert (answer.status, answer.code) == (status, code), answer
        assert field is None or answer.json["field"] == field
        assert await stage.get(MESSAGES) == []


@ON_SQLITE
async def test_an_unsupported_channel_says_what_is_supported(stage: Stage) -> None:
    answer = await stage.call("POST", MESSAGES, {**LETTER, "channel": "SMS"})
    assert answer.json["detail"] == "channel: 'SMS' cannot be sent: use WHATSAPP or EMAIL"


@ON_SQLITE
async def test_without_a_mailbox_there_is_no_email(stage: Stage) -> None:
    answer = await stage.call("POST", MESSAGES, LETTER)
    assert (answer.status, answer.code) == (404, "unknown_mailbox")


@ON_SQLITE
async def test_a_mailbox_is_listed_without_its_password_and_belongs_to_its_org(stage: Stage) -> None:
    async with mail_server() as server:
        secret = "never shown again"
        mailbox = await connect(stage, server, security="starttls", username="shop", password=secret)
        listed = await stage.call("GET", MAILBOXES)
        assert listed.json == [mailbox]
        assert secret.encode() not in listed.body
        assert await stage.get(MAILBOXES, stage.globex.key) == []
        path = f"{MAILBOXES}/{mailbox['mailbox_id']}"
        for method, body in (("PATCH", {"name": "Eve"}), ("DELETE", None)):
            assert (await stage.call(method, path, body, key=stage.globex.key)).status == 404
        assert (
            await stage.call("POST", MESSAGES, {**LETTER, "from": mailbox["mailbox_id"]}, key=stage.globex.key)
        ).status == 404
        again = await stage.call("POST", MAILBOXES, {"address": "shop@example.com", "host": "x.example.com"})
        assert (again.status, again.code) == (409, "already_connected")
        assert (await stage.call("DELETE", path)).status == 204
        assert await stage.get(MAILBOXES) == []


@ON_SQLITE
@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"address": "nobody"}, "address"),
        ({"host": "mail example"}, "host"),
        ({"port": 0}, "port"),
        ({"domain": "-"}, "domain"),
        ({"name": "a\nb"}, "name"),
        ({"username": "shop"}, "security"),
        ({"username": "shop", "security": "tls"}, "password"),
        ({"password": "x", "security": "tls"}, "username"),
        ({"pace": 0}, "pace"),
        ({"security": "maybe"}, "security"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_mailbox_that_could_not_work_is_refused(changed: dict[str, Any], field: str, stage: Stage) -> None:
    body = {"address": "shop@example.com", "host": "mail.example.com", "security": "none", **changed}
    answer = await stage.call("POST", MAILBOXES, body)
    assert (answer.status, answer.code, answer.json.get("field")) == (422, "invalid_payload", field), answer


@ON_SQLITE
async def test_letters_of_a_disconnected_mailbox_end(stage: Stage) -> None:
    async with mail_server() as server:
        mailbox = await connect(stage, server, enabled=False)
        posted = await stage.send(**LETTER)
        await stage.call("DELETE", f"{MAILBOXES}/{mailbox['mailbox_id']}")
        await stage.becomes(posted["id"], "FAILED", errorCode="MAILBOX_DISCONNECTED")
