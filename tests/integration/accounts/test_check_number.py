"""Checking a number: what the provider reports, shown in words, and what is known to have worked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.integration.receiving.test_cloud_media import NO_OBJECT, SENDER, Provider, json_reply
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import DOOR
from waypost.adapters.whatsapp.extras import CloudExtras
from waypost.model.outcome import NumberRecord, ProviderRejected, Unreached, Unsure
from waypost.ports.platform.http_transport import ConnectFailed, ReplyTimedOut

TRY = "/api/v1/numbers/1001/try"


async def tried(stage: Stage) -> dict[str, Any]:
    answer = await stage.call("POST", TRY)
    assert answer.status == 200, answer
    assert "EAA-token" not in answer.body.decode(), "no token is ever shown"
    told: dict[str, Any] = answer.json
    return told


async def tried_at(stage: Stage) -> str | None:
    (found,) = await stage.get("/api/v1/numbers")
    at: str | None = found["tried_at"]
    return at


async def test_a_number_that_works_says_what_the_provider_has_on_file(stage: Stage) -> None:
    assert await tried_at(stage) is None
    told = await tried(stage)
    assert told["said"] == "the provider knows it as Sandbox 15550783881, quality GREEN, messaging limit TIER_UNLIMITED"
    assert (told["state"], told["remedy"], told["code"], told["status"]) == ("works", None, None, "CONNECTED")
    assert told["webhook_url"].endswith(DOOR)
    assert await tried_at(stage) == told["at"]


async def test_the_id_of_the_business_account_is_no_number(stage: Stage) -> None:
    body = {"phone_number_id": stage.acme.number.waba_id, "waba_id": "2", "token": stage.acme.number.token}
    secrets = {"app_secret": "app-secret", "verify_token": "verify"}
    await stage.call("POST", "/api/v1/numbers", {**body, **secrets, "graph_url": "http://sandbox.test/v25.0"})
    told = (await stage.call("POST", f"/api/v1/numbers/{stage.acme.number.waba_id}/try")).json
    assert (told["state"], "business account" in told["remedy"]) == ("unknown_number", True)


async def test_a_wrong_token_is_told_from_a_number_that_it_does_not_know(stage: Stage) -> None:
    await tried(stage)
    await stage.call("PATCH", "/api/v1/numbers/1001", {"token": "EAA-token-wrong"})
    assert await tried_at(stage) is None, "nobody has asked with the new one"
    told = await tried(stage)
    assert (told["state"], told["code"]) == ("token_refused", "190")
    assert told["said"].startswith("the provider refuses the token: 190 Invalid OAuth access token")
    assert "waypost admin change-number acme 1001 --token TOKEN" in told["remedy"]
    await stage.call("PATCH", "/api/v1/numbers/1001", {"token": stage.globex.number.token})
    told = await tried(stage)
    assert (told["state"], told["code"]) == ("unknown_number", "100")
    assert "check the phone number ID" in told["remedy"]
    assert await tried_at(stage) is None


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
    provider = Provider(
        json_reply(NO_FIELD, 400), json_reply({"id": "1001", "verified_name": "Shop", "quality_rating": 7})
    )
    assert await CloudExtras(provider, 5).look_up(SENDER) == NumberRecord(verified_name="Shop")
    assert provider.asked[1] == "https://graph.facebook.com/v25.0/1001"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (json_reply(b"<html>", 502), Unsure("HTTP 502 without an error of the Graph API", "<html>")),
        (json_reply(b"[]"), Unsure("HTTP 200 without a record", "[]")),
        (json_reply({"id": "1"}), Unsure("HTTP 200 with the record of something else", '{"id":"1"}')),
        (json_reply({"id": "1001", "verified_name": "EAA-secret\n"}), NumberRecord(verified_name="[token]")),
        (json_reply({"id": "1001", "webhook_configuration": {"application": "https://a.b/c"}}), NumberRecord(webhook_url="https://a.b/c")),
        (ReplyTimedOut("no answer within 5 s"), Unsure("no answer within 5 s")),
        (ConnectFailed("no connection"), Unreached("no connection")),
    ],
)  # fmt: skip
async def test_whatever_comes_back_is_an_answer(reply: Any, answer: Any) -> None:
    assert await CloudExtras(Provider(reply), 5).look_up(SENDER) == answer


@pytest.mark.parametrize(("body", "code"), [(NO_OBJECT, "100"), (OLD_TOKEN, "190")])
async def test_a_refusal_is_final_and_hides_the_token(body: Any, code: str) -> None:
    answer = await CloudExtras(Provider(json_reply(body, 400)), 5).look_up(SENDER)
    assert isinstance(answer, ProviderRejected)
    assert (answer.code, "EAA-secret" in answer.message) == (code, False)
