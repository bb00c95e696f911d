"""Email by SMTP against a real server: every way to connect, every failure, and kept connections."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

import pytest

from tests.integration.stage.mail_server import (
    CODES,
    HANG_UP,
    PASSWORD,
    SAY_NOTHING,
    USER,
    MailServer,
    mail_server,
    mailbox_at,
    make_certificate,
)
from waypost.adapters.smtp.connection import as_data
from waypost.adapters.smtp.mailer import SmtpMailer
from waypost.adapters.smtp.pool import SmtpPoolLimits
from waypost.model.email import Email, Mailbox, Security
from waypost.model.ids import Fence, MessageId, Wamid
from waypost.model.outcome import Accepted, ProviderRejected, Unreached, Unsure
from waypost.model.time import Instant
from waypost.rules.content.email import LARGEST_CONTENT, write
from waypost.rules.limits.error_catalogue import ErrorAction

Certificate: TypeAlias = tuple[ssl.SSLContext, ssl.SSLContext]
MakeMailer: TypeAlias = Callable[..., SmtpMailer]
BOTH = [Security.STARTTLS, Security.TLS]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("elsewhere"), "127.0.0.9")


@pytest.fixture
async def make_mailer(certificate: Certificate) -> AsyncIterator[MakeMailer]:
    made: list[SmtpMailer] = []

    def make(*, timeout: float = 10, tls: ssl.SSLContext = certificate[1], **limits: Any) -> SmtpMailer:
        made.append(SmtpMailer(CODES, timeout=timeout, tls=tls, limits=SmtpPoolLimits(**limits)))
        return made[-1]

    yield make
    for mailer in made:
        await mailer.close()


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with mail_server() as server:
        yield server


def a_letter(mailbox: Mailbox, number: int = 1, subject: str = "Hello", **payload: Any) -> Email:
    letter = write(
        mailbox,
        message_id=MessageId(number),
        fence=Fence(1),
        recipient="ada@example.org",
        subject=subject,
        payload=json.dumps(payload or {"text": f"letter {number}"}),
        now=Instant(1_790_000_000_000_000),
    )
    assert isinstance(letter, Email), letter
    return letter


# Ways to connect


async def test_a_letter_goes_in_the_clear_without_a_password(server: MailServer, make_mailer: MakeMailer) -> None:
    mailbox = mailbox_at(server)
    outcome = await make_mailer().send(mailbox, a_letter(mailbox))
    assert outcome == Accepted(Wamid("<wp1.1.1@mail.example.com>"), "250 2.0.0 kept as 1")
    (envelope,), (mail,) = server.taken, server.mails
    assert (envelope.mail_from, envelope.rcpt_tos) == ("shop@example.com", ["ada@example.org"])
    assert (mail["Message-ID"], mail.get_content().strip()) == ("<wp1.1.1@mail.example.com>", "letter 1")


@pytest.mark.parametrize("security", BOTH)
async def test_a_letter_goes_encrypted_and_logged_in(
    security: Security, certificate: Certificate, make_mailer: MakeMailer
) -> None:
    async with mail_server(security, certificate[0]) as server:
        mailbox = mailbox_at(server, security, username=USER, password=PASSWORD)
        assert isinstance(await make_mailer().send(mailbox, a_letter(mailbox)), Accepted)
    assert (server.secured, server.logged_in) == ([True], [True])


@pytest.mark.parametrize("security", BOTH)
async def test_a_wrong_password_is_refused_and_not_shown(
    security: Security, certificate: Certificate, make_mailer: MakeMailer
) -> None:
    async with mail_server(security, certificate[0]) as server:
        mailbox = mailbox_at(server, security, username=USER, password="wr0ng")
        outcome = await make_mailer().send(mailbox, a_letter(mailbox))
    assert isinstance(outcome, ProviderRejected)
    assert (outcome.code, outcome.subcode, CODES.action(outcome.code)) == ("5.7.8", 535, ErrorAction.HOLD)
    assert "wr0ng" not in repr(outcome)
    assert server.taken == []


@pytest.mark.parametrize("security", BOTH)
async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(
    security: Security, certificate: Certificate, elsewhere: Certificate, make_mailer: MakeMailer
) -> None:
    async with mail_server(security, certificate[0]) as server:
        mailbox = mailbox_at(server, security, username=USER, password=PASSWORD)
        outcome = await make_mailer(tls=elsewhere[1]).send(mailbox, a_letter(mailbox))
    assert isinstance(outcome, Unreached)
    assert "certificate" in outcome.reason.lower()
    assert "MAIL" not in server.said


@pytest.mark.parametrize("security", BOTH)
async def test_a_certificate_for_another_host_is_not_trusted(
    security: Security, elsewhere: Certificate, make_mailer: MakeMailer
) -> None:
    serving, trusting = elsewhere
    async with mail_server(security, serving) as server:
        mailbox = mailbox_at(server, security)
        assert isinstance(await make_mailer(tls=trusting).send(mailbox, a_letter(mailbox)), Unreached)
    assert "MAIL" not in server.said


async def test_a_server_without_starttls_gets_nothing_in_the_clear(server: MailServer, make_mailer: MakeMailer) -> None:
    mailbox = mailbox_at(server, Security.STARTTLS, username=USER, password=PASSWORD)
    outcome = await make_mailer().send(mailbox, a_letter(mailbox))
    assert isinstance(outcome, Unreached)
    assert "STARTTLS" in outcome.reason
    assert "MAIL" not in server.said


async def test_a_password_is_never_sent_in_the_clear(server: MailServer, make_mailer: MakeMailer) -> None:
    mailbox = mailbox_at(server)
    insecure = mailbox_at(server, username=USER, password=PASSWORD)
    outcome = await make_mailer().send(insecure, a_letter(mailbox))
    assert isinstance(outcome, ProviderRejected)
    assert (outcome.code, CODES.action(outcome.code)) == ("BAD_MAILBOX", ErrorAction.HOLD)
    assert server.sessions == []


# Refusals


@pytest.mark.parametrize("point", ["CONNECT", "MAIL", "RCPT", "DATA", "END"])
@pytest.mark.parametrize(
    ("reply", "code", "action"),
    [
        ("421 4.3.2 going down", "4.3.2", ErrorAction.RETRY),
        ("450 try later", "450", ErrorAction.RETRY),
        ("451 4.7.1 greylisted", "4.7.1", ErrorAction.RETRY),
        ("550 5.1.1 no such user", "5.1.1", ErrorAction.FAIL),
        ("554 no", "554", ErrorAction.FAIL),
    ],
)
async def test_a_refusal_at_any_point_is_read(
    point: str, reply: str, code: str, action: ErrorAction, server: MailServer, make_mailer: MakeMailer
) -> None:
    server.answers[point] = reply
    mailbox = mailbox_at(server)
    outcome = await make_mailer().send(mailbox, a_letter(mailbox))
    assert isinstance(outcome, ProviderRejected), outcome
    assert (outcome.code, outcome.subcode, outcome.response) == (code, int(reply[:3]), reply)
    assert CODES.action(outcome.code) is action
    assert server.taken == []


async def test_a_refusal_of_many_lines_is_read_whole(server: MailServer, make_mailer: MakeMailer) -> None:
    server.answers["RCPT"] = "550-5.7.1 we do not\r\n550 5.7.1 want this"
    mailbox = mailbox_at(server)
    outcome = await make_mailer().send(mailbox, a_letter(mailbox))
    assert isinstance(outcome, ProviderRejected)
    assert (outcome.code, outcome.message) == ("5.7.1", "5.7.1 we do not\n5.7.1 want this")


async def test_what_is_kept_of_an_answer_can_be_stored(server: MailServer, make_mailer: MakeMailer) -> None:
    server.answers["RCPT"] = "550 a\0b " + "x" * 7_000
    mailbox = mailbox_at(server)
    outcome = await make_mailer().send(mailbox, a_letter(mailbox))
    assert isinstance(outcome, ProviderRejected)
    assert outcome.message.startswith("a\ufffdb xxx")
    assert len(outcome.message) == 4_000


# Losses


@pytest.mark.parametrize("point", ["CONNECT", "MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize("trouble", [HANG_UP, SAY_NOTHING, "nonsense", "299 odd"])
async def test_a_loss_before_the_letter_left_is_unreached(
    point: str, trouble: str, server: MailServer, make_mailer: MakeMailer
) -> None:
    server.answers[point] = trouble
    mailbox = mailbox_at(server)
    outcome = await make_mailer(timeout=0.3).send(mailbox, a_letter(mailbox))
    assert isinstance(outcome, Unreached), outcome
    assert outcome.reason
    assert server.taken == []


@pytest.mark.parametrize("trouble", [HANG_UP, SAY_NOTHING])
async def test_a_loss_after_the_final_dot_is_unsure(trouble: str, server: MailServer, make_mailer: MakeMailer) -> None:
    server.answers["END"] = trouble
    mailbox = mailbox_at(server)
    assert isinstance(await make_mailer(timeout=0.3).send(mailbox, a_letter(mailbox)), Unsure)
    assert len(server.taken) == 1


@pytest.mark.parametrize("reply", ["nonsense", "354 go on", "999 odd"])
async def test_an_answer_without_sense_to_a_whole_letter_is_unsure(
    reply: str, server: MailServer, make_mailer: MakeMailer
) -> None:
    server.answers["END"] = reply
    mailbox = mailbox_at(server)
    assert isinstance(await make_mailer().send(mailbox, a_letter(mailbox)), Unsure)


async def test_nobody_listens_is_unreached(make_mailer: MakeMailer) -> None:
    with socket.socket() as bound:  # bound, but not listening
        bound.bind(("127.0.0.1", 0))
        server = MailServer()
        server.port = bound.getsockname()[1]
        mailbox = mailbox_at(server)
        assert isinstance(await make_mailer().send(mailbox, a_letter(mailbox)), Unreached)


@pytest.mark.parametrize("host", ["nobody.invalid", "a..b", ":"])
async def test_a_host_that_does_not_exist_is_unreached(host: str, make_mailer: MakeMailer) -> None:
    mailbox = mailbox_at(MailServer(), host=host, port=25)
    assert isinstance(await make_mailer().send(mailbox, a_letter(mailbox)), Unreached)


async def test_a_send_that_is_cancelled_leaves_no_connection(server: MailServer, make_mailer: MakeMailer) -> None:
    server.answers["END"] = SAY_NOTHING
    mailbox = mailbox_at(server)
    sending = asyncio.ensure_future(make_mailer().send(mailbox, a_letter(mailbox)))
    while not server.taken:
        await server.reached.wait()
        server.reached.clear()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    (session,) = server.sessions
    await session.gone.wait()


# Connections between emails


async def test_letters_share_a_connection_also_after_a_refusal(server: MailServer, make_mailer: MakeMailer) -> None:
    mailer, mailbox = make_mailer(), mailbox_at(server)
    assert isinstance(await mailer.send(mailbox, a_letter(mailbox, 1)), Accepted)
    server.answers["RCPT"] = "550 5.1.1 no"
    assert isinstance(await mailer.send(mailbox, a_letter(mailbox, 2)), ProviderRejected)
    server.answers.clear()
    assert isinstance(await mailer.send(mailbox, a_letter(mailbox, 3)), Accepted)
    assert len(server.sessions) == 1
    assert [taken.rcpt_tos for taken in server.taken] == [["ada@example.org"]] * 2


async def test_a_connection_that_was_ended_meanwhile_is_replaced(server: MailServer, make_mailer: MakeMailer) -> None:
    mailer, mailbox = make_mailer(), mailbox_at(server)
    await mailer.send(mailbox, a_letter(mailbox, 1))
    server.sessions[0].hang_up()
    assert isinstance(await mailer.send(mailbox, a_letter(mailbox, 2)), Accepted)
    assert len(server.sessions) == 2


async def test_a_connection_is_left_after_its_share_of_letters(server: MailServer, make_mailer: MakeMailer) -> None:
    mailer, mailbox = make_mailer(emails=2), mailbox_at(server)
    for number in range(1, 6):
        assert isinstance(await mailer.send(mailbox, a_letter(mailbox, number)), Accepted)
    assert len(server.sessions) == 3
    await server.sessions[0].gone.wait()


async def test_an_idle_connection_is_closed_and_its_mailbox_forgotten(
    server: MailServer, make_mailer: MakeMailer
) -> None:
    mailer, mailbox = make_mailer(idle=0.01), mailbox_at(server)
    await mailer.send(mailbox, a_letter(mailbox))
    await server.sessions[0].gone.wait()
    assert mailer._pools == {}


async def test_a_new_password_does_not_meet_an_old_connection(
    certificate: Certificate, make_mailer: MakeMailer
) -> None:
    async with mail_server(Security.TLS, certificate[0]) as server:
        mailer = make_mailer()
        old = mailbox_at(server, Security.TLS, username=USER, password=PASSWORD)
        new = mailbox_at(server, Security.TLS, username=USER, password="new")
        assert isinstance(await mailer.send(old, a_letter(old)), Accepted)
        assert isinstance(await mailer.send(new, a_letter(new)), ProviderRejected)


async def test_two_letters_go_at_the_same_time(server: MailServer, make_mailer: MakeMailer) -> None:
    mailer, mailbox = make_mailer(), mailbox_at(server)
    server.go_on.clear()
    sending = [asyncio.ensure_future(mailer.send(mailbox, a_letter(mailbox, number))) for number in (1, 2)]
    while server.said.count("RCPT") < 2:  # both are under way before either is accepted
        await server.reached.wait()
        server.reached.clear()
    server.go_on.set()
    outcomes = await asyncio.gather(*sending)
    assert {outcome.wamid for outcome in outcomes if isinstance(outcome, Accepted)} == {
        "<wp1.1.1@mail.example.com>",
        "<wp1.2.1@mail.example.com>",
    }
    assert sorted(mail.get_content().strip() for mail in server.mails) == ["letter 1", "letter 2"]
    assert len(server.sessions) == 2


async def test_many_letters_wait_for_the_few_connections(server: MailServer, make_mailer: MakeMailer) -> None:
    mailer, mailbox = make_mailer(connections=3), mailbox_at(server)
    outcomes = await asyncio.gather(*(mailer.send(mailbox, a_letter(mailbox, number)) for number in range(1, 41)))
    assert all(isinstance(outcome, Accepted) for outcome in outcomes)
    assert len({mail["Message-ID"] for mail in server.mails}) == 40
    assert len(server.sessions) == 3


async def test_a_letter_that_finds_no_free_connection_in_time_is_unreached(
    server: MailServer, make_mailer: MakeMailer
) -> None:
    server.answers["END"] = SAY_NOTHING
    mailer, mailbox = make_mailer(connections=1, timeout=0.3), mailbox_at(server)
    outcomes = await asyncio.gather(*(mailer.send(mailbox, a_letter(mailbox, number)) for number in (1, 2)))
    assert [type(outcome) for outcome in outcomes] == [Unsure, Unreached]
    assert len(server.taken) == 1


async def test_a_closed_mailer_has_hung_up(server: MailServer, make_mailer: MakeMailer) -> None:
    mailer, mailbox = make_mailer(), mailbox_at(server)
    await mailer.send(mailbox, a_letter(mailbox))
    await mailer.close()
    await server.sessions[0].gone.wait()


# Contents


async def test_every_script_arrives(server: MailServer, make_mailer: MakeMailer) -> None:
    mailbox = mailbox_at(server, name="Jürgen & Søn")
    text = "Grüße, 世界 👩‍👩‍👧\r\n.\r\n..\r\nFrom me"
    letter = a_letter(mailbox, subject="Ваш заказ №5 👍 " + "длинный " * 20, text=text, html=f"<p>{text}</p>")
    assert isinstance(await make_mailer().send(mailbox, letter), Accepted)
    (mail,) = server.mails
    plain, html = mail.iter_parts()
    assert mail["Subject"] == "Ваш заказ №5 👍 " + "длинный " * 20
    assert mail["From"].addresses[0].display_name == "Jürgen & Søn"
    assert plain.get_content() == text
    assert html.get_content() == f"<p>{text}</p>"
    assert server.taken[0].original_content == letter.content + b"\r\n" * (not letter.content.endswith(b"\r\n"))


async def test_the_biggest_letter_arrives_whole(server: MailServer, make_mailer: MakeMailer) -> None:
    mailbox = mailbox_at(server)
    text = ("ä" * 70 + "\r\n") * (LARGEST_CONTENT // 72)
    assert isinstance(await make_mailer(timeout=60).send(mailbox, a_letter(mailbox, text=text)), Accepted)
    assert server.mails[0].get_content() == text


async def test_a_letter_bigger_than_the_server_takes_is_refused_before_it_is_sent(make_mailer: MakeMailer) -> None:
    async with mail_server(data_size_limit=1_000) as server:
        mailbox = mailbox_at(server)
        outcome = await make_mailer().send(mailbox, a_letter(mailbox, text="x" * 2_000))
    assert isinstance(outcome, ProviderRejected)
    assert (outcome.code, CODES.action(outcome.code)) == ("552", ErrorAction.FAIL)
    assert "RCPT" not in server.said


@pytest.mark.parametrize("field", ["sender", "recipient"])
@pytest.mark.parametrize(
    "forged",
    ["a@b.cc>\r\nRCPT TO:<eve@example.org", "a@b.cc\nDATA", "a@b.cc\0", "a@b.cc> SIZE=1", "a@b.cc,eve@example.org", ""],
)
async def test_a_forged_address_reaches_no_server(
    field: str, forged: str, server: MailServer, make_mailer: MakeMailer
) -> None:
    addresses = {"sender": "shop@example.com", "recipient": "ada@example.org"} | {field: forged}
    letter = Email(id=Wamid("<x@y.zz>"), content=b"Subject: x\r\n\r\nx\r\n", **addresses)
    outcome = await make_mailer().send(mailbox_at(server), letter)
    assert isinstance(outcome, ProviderRejected)
    assert CODES.action(outcome.code) is ErrorAction.FAIL
    assert server.sessions == []


@pytest.mark.parametrize("end", [b"\n.\n", b"\r.\r", b"\r\n.\r\n", b"\n.\r\n", b"\r\n.\n", b"\r\n.\r"])
async def test_a_body_cannot_smuggle_a_second_letter(end: bytes, server: MailServer, make_mailer: MakeMailer) -> None:
    content = b"Subject: one\r\n\r\none" + end + b"MAIL FROM:<eve@example.org>\r\n"
    letter = Email(id=Wamid("<x@y.zz>"), sender="a@b.cc", recipient="ada@example.org", content=content)
    assert isinstance(await make_mailer().send(mailbox_at(server), letter), Accepted)
    assert server.said.count("MAIL") == len(server.taken) == 1
    assert as_data(content).count(b"\r\n.\r\n") == 1
    assert b"eve@example.org" in (server.taken[0].original_content or b"")
