"""The phones beside a demo's page: only for signed-in users, from no other page, and never without a demo."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.accounts.test_sign_in import OWN, SESSION, by, signed_in
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.live_devices import person

SAY = "/_sandbox/phones/15550001111/say"
SCREEN = "/_sandbox/phones/15550001111/screen"
HELLO = {"text": "hello", "name": "Ada"}

pytestmark = ON_SQLITE


@pytest.fixture
def demo(stage: Stage) -> Stage:
    """Its server has phones."""
    stage.servers[0].phones = stage.sandbox
    return stage


async def test_who_is_signed_in_plays_the_customer(demo: Stage) -> None:
    cookie = await signed_in(demo, await person(demo))
    said = await by(demo, cookie, "POST", SAY, HELLO, **OWN)
    assert (said.status, list(said.json)) == (200, ["wamid"])
    assert [wamid for wamid, _ in await demo.customer_messages()] == [said.json["wamid"]], "it came by the webhook"
    shown = await by(demo, cookie, "GET", f"{SCREEN}?after=0&wait=5", **OWN)
    assert [line["text"] for line in shown.json["messages"]] == ["hello"]
    made = await by(demo, cookie, "POST", "/_sandbox/faults", {"delay_ms": 1}, **OWN)
    assert (await by(demo, cookie, "DELETE", f"/_sandbox/faults/{made.json['id']}", **OWN)).status == 200


@pytest.mark.parametrize(
    ("told", "posts", "reads"),
    [
        (OWN, 200, 200),
        ({"origin": "http://waypost.test"}, 200, 200),
        ({}, 403, 200),
        ({"sec-fetch-site": "cross-site"}, 403, 403),
        ({"sec-fetch-site": "same-site"}, 403, 403),
        ({"origin": "http://evil.test"}, 403, 403),
        ({"origin": "null"}, 403, 403),
    ],
)
async def test_another_sites_page_is_refused(demo: Stage, told: dict[str, str], posts: int, reads: int) -> None:
    cookie = await signed_in(demo, await person(demo))
    assert (await by(demo, cookie, "POST", SAY, HELLO, **told)).status == posts
    assert (await by(demo, cookie, "GET", SCREEN, **told)).status == reads
    assert len(await demo.customer_messages()) == (1 if posts == 200 else 0)


async def test_who_is_not_signed_in_is_refused(demo: Stage) -> None:
    ann = await person(demo)
    cookie = await signed_in(demo, ann)
    for key, headers in (("", {}), (demo.acme.key, {}), (ann.token, {}), ("", {"cookie": "waypost_session=x"})):
        answer = await demo.call("GET", SCREEN, key=key, headers=headers)
        assert (answer.status, answer.json["code"]) == (401, "not_authenticated")
    await demo.call("POST", f"/api/v1/users/{ann.user_id}/token")
    assert (await by(demo, cookie, "POST", SAY, HELLO, **OWN)).status == 401
    assert await demo.customer_messages() == []


@pytest.mark.parametrize(
    "path",
    ["/_sandbox/numbers", "/_sandbox/calls", "/_sandbox/health", "/_sandbox/updates", "/_sandbox/", "/_sandbox/x"],
)
async def test_secrets_and_everything_that_the_page_does_not_need_stay_away(demo: Stage, path: str) -> None:
    cookie = await signed_in(demo, await person(demo))
    answer = await by(demo, cookie, "GET", path, **OWN)
    assert answer.status == 404
    assert demo.acme.number.token not in answer.body.decode()


@pytest.mark.parametrize(("method", "path"), [("GET", SCREEN), ("POST", SAY), ("DELETE", "/_sandbox/faults")])
async def test_a_server_that_is_no_demo_has_none_of_it(stage: Stage, method: str, path: str) -> None:
    cookie = await signed_in(stage, await person(stage))
    body: Any = HELLO if method == "POST" else None
    assert (await by(stage, cookie, method, path, body, **OWN)).status == 404


async def test_the_session_says_whether_there_are_phones_and_a_bot(demo: Stage) -> None:
    ann = await person(demo)
    first = await demo.call("POST", SESSION, {"token": ann.token}, key="")
    asked = await by(demo, first.headers["set-cookie"].partition(";")[0], "GET", SESSION)
    for told in (first.json, asked.json):
        assert (told["sandbox"], told["bot"]) == (True, False)
    demo.servers[0].phones = None
    assert (await by(demo, await signed_in(demo, ann), "GET", SESSION)).json["sandbox"] is False
