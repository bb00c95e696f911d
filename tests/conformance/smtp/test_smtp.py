"""The contract of a channel on SMTP."""

from __future__ import annotations

import itertools
import json
import ssl
from collections.abc import AsyncIterator

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
from waypost.adapters.smtp.mailer import SmtpMailer
from waypost.model.email import Email, Security
from waypost.model.ids import Fence, MessageId
from waypost.model.outcome import Outcome
from waypost.model.time import Instant
from waypost.rules.content.email import write
from waypost_testing.contracts.sending.channel import ChannelContract, ChannelPeerMode

ANSWERS: dict[ChannelPeerMode, dict[str, str]] = {
    ChannelPeerMode.TAKE: {},
    ChannelPeerMode.REFUSE_FOR_GOOD: {"RCPT": f"550 5.1.1 no such user, {PASSWORD}"},
    ChannelPeerMode.REFUSE_FOR_NOW: {"END": f"451 4.7.1 greylisted, {PASSWORD}"},
    ChannelPeerMode.TAKE_AND_HANG_UP: {"END": HANG_UP},
    ChannelPeerMode.TAKE_AND_SAY_NOTHING: {"END": SAY_NOTHING},
}


class SmtpStage:
    def __init__(self, server: MailServer, trusting: ssl.SSLContext) -> None:
        self.codes = CODES
        self.secrets = (PASSWORD,)
        self.mailer = SmtpMailer(self.codes, timeout=0.5, tls=trusting)
        self._server = server
        self._ids = itertools.count(1)

    def be(self, mood: ChannelPeerMode) -> None:
        self._server.answers = dict(ANSWERS[mood])

    async def leave(self) -> None:
        await self._server.leave()

    async def send(self, text: str) -> Outcome:
        mailbox = mailbox_at(self._server, Security.TLS, username=USER, password=PASSWORD)
        letter = write(
            mailbox,
            message_id=MessageId(next(self._ids)),
            fence=Fence(1),
            recipient="ada@example.org",
            subject="Hello",
            payload=json.dumps({"text": text}),
            now=Instant(1_790_000_000_000_000),
        )
        assert isinstance(letter, Email)
        return await self.mailer.send(mailbox, letter)

    def arrived(self) -> list[str]:
        return [mail.get_content().strip() for mail in self._server.mails]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
async def stage(certificate: tuple[ssl.SSLContext, ssl.SSLContext]) -> AsyncIterator[SmtpStage]:
    serving, trusting = certificate
    async with mail_server(Security.TLS, serving) as server:
        stage = SmtpStage(server, trusting)
        yield stage
        await stage.mailer.close()


class TestSmtp(ChannelContract):
    pass
