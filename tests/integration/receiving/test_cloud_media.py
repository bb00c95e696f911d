"""The provider's side of customers' files: what its answers mean, and links that are not followed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.integration.receiving.test_media import CAT, a_file, comes
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.network import SANDBOX
from waypost.adapters.whatsapp.media import CloudMedia
from waypost.model.ids import NumberId
from waypost.ports.platform.http_transport import HttpReply, ReplyTimedOut
from waypost.ports.receiving.media import LinkExpired, MediaLink, MediaRefused
from waypost.ports.sending.provider import Sender
from waypost.rules.receiving.media_fetch import FetchFailure


class Provider:
    """Answers with what the test says, and notes who was asked."""

    def __init__(self, *replies: HttpReply | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []

    async def request(self, method: str, url: str, **call: Any) -> HttpReply:
        assert (method, call["headers"]["authorization"]) == ("GET", "Bearer EAA-secret")
        self.asked.append(url)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


SENDER = Sender(number=NumberId("1001"), token="EAA-secret", graph_url="https://graph.facebook.com/v25.0")
NO_OBJECT = {"error": {"code": 100, "message": "Object with ID '7' does not exist", "error_subcode": 33}}


def json_reply(body: object, status: int = 200) -> HttpReply:
    return HttpReply(status, {}, body if isinstance(body, bytes) else msgspec.json.encode(body))


async def test_an_id_is_asked_for_with_its_number() -> None:
    provider = Provider(json_reply({"url": "https://lookaside.fbsbx.com/x", "sha256": "ab", "file_size": 5}))
    link = await CloudMedia(provider, 5).find(SENDER, "7/../8?a")
    assert link == MediaLink("https://lookaside.fbsbx.com/x", "ab", 5)
    assert provider.asked == ["https://graph.facebook.com/v25.0/7%2F..%2F8%3Fa?phone_number_id=1001"]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (json_reply(NO_OBJECT, 400), MediaRefused("100", "Object with ID '7' does not exist")),
        (json_reply(b"<html>", 502), FetchFailure("the provider answered HTTP 502")),
        (json_reply(b"[]"), FetchFailure("the provider's answer cannot be read")),
        (json_reply({"url": 7}), FetchFailure("the provider's answer cannot be read")),
        (json_reply({"url": "u", "sha256": 7, "file_size": "x"}), MediaLink("u", None, None)),
        (ReplyTimedOut("no answer within 5 s"), FetchFailure("no answer within 5 s")),
    ],
)
async def test_what_is_no_link_is_told_apart(reply: Any, answer: object) -> None:
    assert await CloudMedia(Provider(reply), 5).find(SENDER, "7") == answer


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://localhost:8000/x",
        "https://evil.example/x",
        "https://graph.facebook.com@evil.example/x",
        "https://evil.example\\@lookaside.fbsbx.com/x",
        "https://evil.example#@lookaside.fbsbx.com/x",
        "https://lookaside.fbsbx.com:99999/x",
        "http://lookaside.fbsbx.com/x",
        "file:///etc/passwd",
        "//lookaside.fbsbx.com/x",
        "https://lookaside.fbsbx.com\r\nx: y/",
        "",
    ],
)
async def test_a_link_to_anywhere_else_is_never_followed(url: str) -> None:
    provider = Provider()
    answer = await CloudMedia(provider, 5).download(SENDER, MediaLink(url, None, None), 100)
    assert isinstance(answer, FetchFailure)
    assert answer.hopeless
    assert provider.asked == []


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (json_reply(b"bytes"), b"bytes"),
        (json_reply(b"URL signature expired", 404), LinkExpired()),
        (json_reply(b"", 302), FetchFailure("the provider answered HTTP 302")),
        (json_reply({"error": {"code": 190, "message": "expired"}}, 401), MediaRefused("190", "expired")),
    ],
)
async def test_what_a_link_brings_is_told_apart(reply: HttpReply, answer: object) -> None:
    link = MediaLink("https://lookaside.fbsbx.com/x", None, None)
    assert await CloudMedia(Provider(reply), 5).download(SENDER, link, 100) == answer


@ON_SQLITE
async def test_a_link_that_is_over_is_asked_for_anew(stage: Stage) -> None:
    class Late:
        """Its first link is over."""

        links = 0

        async def request(self, method: str, url: str, **call: Any) -> HttpReply:
            if url.startswith(f"{SANDBOX}/v25.0/"):
                self.links += 1
            elif self.links == 1:
                return json_reply(b"URL signature expired", 404)
            return await stage.network.request(method, url, **call)

    late = Late()
    stage.world.media._transport = late  # type: ignore[attr-defined]  # the test's own way to the sandbox
    assert (await comes(stage, await a_file(stage))).body == CAT
    assert late.links == 2
