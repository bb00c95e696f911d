"""GET /error-codes: the catalogue in force, or the one asked for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.stage.harness import ON_SQLITE, Stage

pytestmark = ON_SQLITE
PATH = "/api/v1/outbound/error-codes"


def row(listed: list[dict[str, Any]], code: str) -> dict[str, Any]:
    (found,) = (each for each in listed if each["code"] == code)
    return found


def code_view(code: str, title: str, action: str, scope: str | None = None) -> dict[str, Any]:
    retryable, limit = action in ("retry", "wait"), action == "wait"
    return {
        "code": code,
        "title": title,
        "action": action,
        "retryable": retryable,
        "rateLimit": limit,
        "scope": scope,
    }


async def test_each_catalogue_is_shown_whole(stage: Stage) -> None:
    meta, seed = await stage.get(f"{PATH}?catalogue=meta"), await stage.get(f"{PATH}?catalogue=seed")
    assert (len(meta), len(seed)) == (131, 47)
    assert row(meta, "131056") == code_view(
        "131056", "(Business Account, Consumer Account) pair rate limit hit", "wait", "pair"
    )
    assert row(meta, "200-299") == code_view("200-299", "API Permission", "hold", "account")
    assert row(meta, "131000") == code_view("131000", "Something went wrong", "retry")
    assert row(seed, "131000") == code_view("131000", "Generic user error", "fail")


async def test_without_a_name_it_is_that_of_the_first_number(stage: Stage) -> None:
    assert len(await stage.get(PATH)) == 131
    assert (await stage.call("PATCH", "/api/v1/numbers/1001", {"error_catalogue": "seed"})).status == 200
    assert len(await stage.get(PATH)) == 47
    assert len(await stage.get(PATH, stage.globex.key)) == 131


async def test_an_org_without_a_number_sees_metas(stage: Stage) -> None:
    assert (await stage.call("DELETE", "/api/v1/numbers/1001")).status == 204
    assert len(await stage.get(PATH)) == 131


async def test_a_readonly_key_may_look(stage: Stage) -> None:
    key = (await stage.call("POST", "/api/v1/keys", {"role": "readonly"})).json["key"]
    assert len(await stage.get(PATH, key)) == 131
    assert (await stage.call("GET", PATH, key="")).code == "not_authenticated"


@pytest.mark.parametrize("name", ["META", "mine", "", "meta%00", "meta,seed"])
async def test_another_name_is_refused(stage: Stage, name: str) -> None:
    answer = await stage.call("GET", f"{PATH}?catalogue={name}")
    assert (answer.status, answer.code, answer.json["field"]) == (400, "invalid_parameter", "catalogue")
