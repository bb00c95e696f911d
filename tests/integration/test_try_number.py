"""A number is tried: what the provider says of it, told in words, and what is known to have worked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.integration.harness import ON_SQLITE, Stage
from tests.integration.test_cloud_media import NO_OBJECT, SENDER, Provider, said
from tests.integration.webhooks import DOOR, a_text, change, envelope
from waypost.adapters.whatsapp.extras import CloudExtras
from waypost.model.outcome import NumberRecord, Rejected, Unreached, Unsure
from waypost.model.time import seconds
from waypost.ports.wire import Refused, TimedOut

TRY = "/api/v1/numbers/1001/try"


async def tried(stage: Stage) -> dict[str, Any]:
    answer = await stage.call("POST", TRY)
    assert answer.status == 200, answer
    assert "EAA-token" not in answer.body.decode(), "no token is ever shown"
    told: dict[str, Any] = answer.json
    return told


async def number(stage: Stage) -> dict[str, Any]:
    (found,) = await stage.get("/api/v1/numbers")
    return {name: found[name] for name in ("has_sent", "has_heard", "tried_at")}


async def test_a_number_that_works_says_what_the_provider_has_on_file(stage: Stage) -> None:
    assert await number(stage) == {"has_sent": False, "has_heard": False, "tried_at": None}
    told = await tried(stage)
    assert told["said"] == "the provider knows it as Sandbox 15550783881, quality GREEN, messaging limit TIER_UNLIMITED"
    assert (told["state"], told["remedy"], told["code"], told["status"]) == ("works", None, None, "CONNECTED")
    assert told["webhook_url"].endswith(DOOR)
    assert (told["has_sent"], told["has_heard"], told["heard_at"]) == (False, False, None)
    assert await number(stage) == {"has_sent": False, "has_heard": False, "tried_at": told["at"]}


async def test_what_was_sent_and_heard_is_known_without_a_try(stage: Stage) -> None:
    said_hello = envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.in")])]))
    assert (await stage.post(said_hello)).status == 200
    assert await number(stage) == {"has_sent": False, "has_heard": True, "tried_at": None}
    sent = await stage.send()
    await stage.becomes(sent["id"], "DELIVERED")
    assert (await number(stage))["has_sent"]
    assert (await tried(stage))["heard_at"] == stage.moment(seconds(0))


async def test_a_status_is_a_webhook_too(stage: Stage) -> None:
    sent = await stage.send()
    await stage.becomes(sent["id"], "DELIVERED")
    told = await tried(stage)
    assert (told["has_sent"], told["has_heard"]) == (True, True)
    assert told["heard_at"] is not None


async def test_a_wrong_token_is_told_from_a_number_that_it_does_not_know(stage: Stage) -> None:
    await tried(stage)
    await stage.call("PATCH", "/api/v1/numbers/1001", {"token": "EAA-token-wrong"})
    assert (await number(stage))["tried_at"] is None, "nobody has asked with the new one"
    told = await tried(stage)
    assert (told["state"], told["code"]) == ("token_refused", "190")
    assert told["said"].startswith("the provider refuses the token: 190 Invalid OAuth access token")
    assert "waypost admin change-number acme 1001 --token TOKEN" in told["remedy"]
    await stage.call("PATCH", "/api/v1/numbers/1001", {"token": stage.globex.number.token})
    told = await tried(stage)
    assert (told["state"], told["code"]) == ("unknown_number", "100")
    assert "check the phone number ID" in told["remedy"]
    assert (await number(stage))["tried_at"] is None


async def test_a_provider_that_is_away_is_told_in_words(stage: Stage) -> None:
    stage.network.unreachable.add("sandbox.test")
    told = await tried(stage)
    assert (told["state"], told["said"]) == ("unreachable", "the provider does not answer: no connection could be made")
    assert told["remedy"] == "is http://sandbox.test/v25.0 reachable from this server?"


@ON_SQLITE
async def test_secrets_under_another_key_are_no_fault_of_the_provider(stage: Stage) -> None:
    stage.settings = msgspec.structs.replace(stage.settings, secret_key="another one")
    other = await stage.add_server()
    stage.network.hosts["other.test"] = other.app
    answer = await stage.call("POST", TRY, host="other.test")
    assert (answer.status, answer.json["state"]) == (200, "sealed")


@ON_SQLITE
async def test_only_admins_try_and_only_their_own(stage: Stage) -> None:
    key = (await stage.call("POST", "/api/v1/keys", {"role": "sender"})).json["key"]
    assert (await stage.call("POST", TRY, key=key)).status == 403
    assert (await stage.call("POST", TRY, key=stage.globex.key)).status == 404
    assert (await stage.call("POST", "/api/v1/numbers/none/try")).status == 404


NO_FIELD = {"error": {"code": 100, "message": "(#100) Tried accessing nonexisting field (status)"}}
OLD_TOKEN = {"error": {"code": 190, "message": "The token EAA-secret has expired", "error_subcode": 463}}


async def test_an_api_without_a_field_is_asked_for_what_it_gives_by_itself() -> None:
    provider = Provider(said(NO_FIELD, 400), said({"id": "1001", "verified_name": "Shop", "quality_rating": 7}))
    assert await CloudExtras(provider, 5).look_up(SENDER) == NumberRecord(verified_name="Shop")
    assert provider.asked[1] == "https://graph.facebook.com/v25.0/1001"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (said(b"<html>", 502), Unsure("HTTP 502 without an error of the Graph API", "<html>")),
        (said(b"[]"), Unsure("HTTP 200 without a number's record", "[]")),
        (said({"id": "1", "verified_name": "EAA-secret\n"}), NumberRecord(verified_name="[token]")),
        (said({"id": "1", "webhook_configuration": {"application": "https://a.b/c"}}), NumberRecord(webhook_url="https://a.b/c")),
        (TimedOut("no answer within 5 s"), Unsure("no answer within 5 s")),
        (Refused("no connection"), Unreached("no connection")),
    ],
)  # fmt: skip
async def test_whatever_comes_back_is_an_answer(reply: Any, answer: Any) -> None:
    assert await CloudExtras(Provider(reply), 5).look_up(SENDER) == answer


@pytest.mark.parametrize(("body", "code"), [(NO_OBJECT, "100"), (OLD_TOKEN, "190")])
async def test_a_refusal_is_final_and_hides_the_token(body: Any, code: str) -> None:
    answer = await CloudExtras(Provider(said(body, 400)), 5).look_up(SENDER)
    assert isinstance(answer, Rejected)
    assert (answer.code, "EAA-secret" in answer.message) == (code, False)
