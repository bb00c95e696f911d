"""A browser signs in: a cookie that no script reads, that no other site can use, and that ends with its token."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Answer, Stage
from tests.integration.stage.live_devices import Device, Person, house, person
from waypost.flow.accounts import sign_in
from waypost.flow.accounts.sign_in import CODE_LASTS, LASTS
from waypost.http.edge.cookies import NAME

SESSION = "/api/v1/session"
OWN = {"sec-fetch-site": "same-origin"}
NOTES = {"kind": "group", "members": [], "title": "us"}


async def signed_in(stage: Stage, who: Person) -> str:
    answer = await stage.call("POST", SESSION, {"token": who.token}, key="")
    assert answer.status == 200, answer
    return str(answer.headers["set-cookie"].partition(";")[0])


async def by(stage: Stage, cookie: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    return await stage.call(method, path, body, key="", headers={"cookie": cookie, **headers})


async def test_a_token_becomes_a_cookie_that_says_who_asks(stage: Stage) -> None:
    ann = await person(stage)
    answer = await stage.call("POST", SESSION, {"token": ann.token}, key="")
    kept, *attributes = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} == set(attributes)
    assert ann.token not in answer.body.decode() + kept
    assert (answer.json["user_id"], answer.json["role"], answer.json["name"]) == (ann.user_id, "agent", "Ann")
    asked = await by(stage, f"theme=dark; {kept}", "GET", SESSION)
    assert (asked.status, asked.json["user_id"]) == (200, ann.user_id)


@pytest.mark.parametrize("beside", ['prefs={"a":1}', "a=b c", "x=é", "flag", "tok=[1, 2]", "=", ""])
@ON_SQLITE
async def test_whatever_cookies_others_have_ours_is_found(stage: Stage, beside: str) -> None:
    """A browser brings those of every server on this host, whatever its port."""
    cookie = await signed_in(stage, await person(stage))
    for header in (f"{beside}; {cookie}", f"{cookie}; {beside}"):
        assert (await by(stage, header, "GET", SESSION)).status == 200


async def test_behind_tls_the_cookie_stays_behind_it(stage: Stage) -> None:
    ann = await person(stage)
    answer = await stage.call("POST", SESSION, {"token": ann.token}, key="", headers={"x-forwarded-proto": "https"})
    assert "Secure" in answer.headers["set-cookie"].split("; ")


@pytest.mark.parametrize("token", ["nonsense", "wpu_" + "x" * 43])
async def test_who_has_no_token_gets_no_cookie(stage: Stage, token: str) -> None:
    answer = await stage.call("POST", SESSION, {"token": token}, key="")
    assert (answer.status, answer.json["code"]) == (401, "not_authenticated")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("told", "status"),
    [
        (OWN, 200),
        ({"origin": "http://waypost.test"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": "http://evil.test"}, 403),
        ({"origin": "null"}, 403),
    ],
)
async def test_another_sites_page_signs_nobody_in(stage: Stage, told: dict[str, str], status: int) -> None:
    """Otherwise a user could be signed in to a stranger's org."""
    ann = await person(stage)
    answer = await stage.call("POST", SESSION, {"token": ann.token}, key="", headers=told)
    assert answer.status == status, answer
    assert ("set-cookie" in answer.headers) == (status == 200)


async def test_a_key_is_nobody_and_signs_nobody_in(stage: Stage) -> None:
    assert (await stage.call("POST", SESSION, {"token": stage.acme.key}, key="")).status == 401
    answer = await stage.call("GET", SESSION)
    assert (answer.status, answer.json["code"]) == (403, "key_is_nobody")


@pytest.mark.parametrize(
    ("told", "status"),
    [
        (OWN, 201),
        ({"origin": "http://waypost.test"}, 201),
        ({}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "http://waypost.test"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://evil.test"}, 403),
        ({"origin": "null"}, 403),
    ],
)
async def test_a_cookie_changes_things_only_from_our_own_page(stage: Stage, told: dict[str, str], status: int) -> None:
    cookie = await signed_in(stage, await person(stage))
    answer = await by(stage, cookie, "POST", "/api/v1/conversations", NOTES, **told)
    assert answer.status == status, answer
    if status == 403:
        assert answer.json["code"] == "foreign_page"
        assert (await by(stage, cookie, "GET", "/api/v1/conversations")).json["conversations"] == []


async def test_a_code_signs_in_once(stage: Stage) -> None:
    ann = await person(stage)
    code = sign_in.offer(ann.token, stage.world)
    answer = await stage.call("POST", SESSION, {"code": code}, key="")
    assert (answer.status, answer.json["user_id"]) == (200, ann.user_id)
    asked = await by(stage, answer.headers["set-cookie"].partition(";")[0], "GET", SESSION)
    assert asked.status == 200
    again = await stage.call("POST", SESSION, {"code": code}, key="")
    assert (again.status, again.json["code"]) == (401, "not_authenticated")
    assert ann.token not in repr(stage.world.offered_codes)


async def test_a_code_ends_after_ten_minutes(set_up: OpenStage) -> None:
    stage = await set_up()
    code = sign_in.offer((await person(stage)).token, stage.world)
    stage.manual.advance(CODE_LASTS)
    assert (await stage.call("POST", SESSION, {"code": code}, key="")).status == 401


@pytest.mark.parametrize("body", [{}, {"token": "x", "code": "y"}, {"code": ""}, {"code": 7}])
async def test_who_signs_in_says_one_thing(stage: Stage, body: dict[str, Any]) -> None:
    answer = await stage.call("POST", SESSION, body, key="")
    assert answer.status in (400, 422), answer


async def test_a_role_is_respected(stage: Stage) -> None:
    agent = await signed_in(stage, await person(stage))
    assert (await by(stage, agent, "GET", "/api/v1/users")).json["code"] == "wrong_role"
    boss = await signed_in(stage, await person(stage, "Boss", "admin"))
    assert (await by(stage, boss, "GET", "/api/v1/users")).status == 200


async def test_signing_out_takes_the_cookie_back(stage: Stage) -> None:
    answer = await stage.call("DELETE", SESSION, key="")
    assert answer.status == 204
    assert answer.headers["set-cookie"].startswith(f"{NAME}=; Max-Age=0")


async def test_a_cookie_ends_by_itself_and_with_its_token(set_up: OpenStage) -> None:
    stage = await set_up()
    ann, bob = await person(stage), await person(stage, "Bob")
    anns, bobs = await signed_in(stage, ann), await signed_in(stage, bob)
    assert (await stage.call("POST", f"/api/v1/users/{ann.user_id}/token")).status in (200, 201)
    assert (await by(stage, anns, "GET", SESSION)).status == 401
    assert (await by(stage, bobs, "GET", SESSION)).status == 200
    stage.manual.advance(LASTS)
    assert (await by(stage, bobs, "GET", SESSION)).status == 401


@pytest.mark.parametrize("cookie", ["", "x", "é", "A" * 2000, "AAAA" * 20, '"', "a b; c"])
async def test_a_cookie_that_is_not_ours_is_nobodys(stage: Stage, cookie: str) -> None:
    answer = await by(stage, f"{NAME}={cookie}".encode().decode("latin-1"), "GET", SESSION)
    assert (answer.status, answer.json["code"]) == (401, "not_authenticated")


async def test_another_servers_key_opens_no_cookie_of_ours(stage: Stage) -> None:
    ann = await person(stage)
    signed = await sign_in.sign_in(ann.token, stage.world)
    assert signed is not None
    assert signed.cookie not in repr(signed)
    changed = signed.cookie[:-4] + ("AAAA" if signed.cookie[-4:] != "AAAA" else "BBBB")
    assert sign_in.token_in(signed.cookie, stage.world) == ann.token
    assert sign_in.token_in(changed, stage.world) is None


async def test_a_socket_takes_the_cookie_of_its_handshake(stage: Stage) -> None:
    ann = await person(stage)
    cookie = await signed_in(stage, ann)
    async with house(stage) as here:
        phone = Device(ann)
        await phone.connect(here, headers={"Cookie": cookie})
        await phone.say("hello", device_id="tab")
        await phone.until("live")
