"""Finding messages again: by id, by filter, by page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.stage.harness import MESSAGES, ON_SQLITE, Stage
from waypost.model.time import minutes

MINUTE = minutes(1)


async def test_the_list_filters_by_status_and_recipient(stage: Stage) -> None:
    await stage.fault(error_code=131026, to="+16505550000")
    failed = await stage.send(to="+16505550000")
    sent = await stage.send()
    waiting = await stage.send(scheduledAt=stage.moment(MINUTE))
    await stage.becomes(failed["id"], "FAILED")
    await stage.becomes(sent["id"], "DELIVERED")

    async def ids(query: str) -> list[int]:
        return [message["id"] for message in await stage.get(f"{MESSAGES}?{query}")]

    assert await ids("") == [waiting["id"], sent["id"], failed["id"]]
    assert await ids("limit=2") == [waiting["id"], sent["id"]]
    assert await ids("status=FAILED") == [failed["id"]]
    assert await ids("status=SENT") == []
    assert await ids("to=%2B16505551234") == [waiting["id"], sent["id"]]
    assert await ids("to=+16505551234") == [waiting["id"], sent["id"]]
    assert await ids("to=1-650-555-1234&status=QUEUED") == [waiting["id"]]
    assert await ids("to=%2B16505551234&status=DELIVERED&limit=1") == [sent["id"]]
    assert await ids(f"before={waiting['id']}&limit=1") == [sent["id"]]
    assert await ids(f"to=%2B16505551234&before={sent['id']}") == []
    assert await ids("dossierId=7") == []
    assert await ids("dossierId=7&status=FAILED&to=%2B16505551234") == []


@ON_SQLITE
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?limit=0", "limit"),
        ("?limit=1001", "limit"),
        ("?limit=many", "limit"),
        ("?before=0", "before"),
        ("?status=GONE", "status"),
        ("?to=nobody", "to"),
        ("?dossierId=0", "dossierId"),
        ("?dossierId=9223372036854775808", "dossierId"),
        ("/paginated?page=-1", "page"),
        ("/paginated?size=0", "size"),
        ("/paginated?size=1001", "size"),
        ("/paginated?sort=status", "sort"),
        ("/paginated?direction=UP", "direction"),
    ],
)
async def test_a_parameter_that_cannot_be_read_is_named(stage: Stage, query: str, field: str) -> None:
    answer = await stage.call("GET", MESSAGES + query)
    assert (answer.status, answer.code, answer.json["field"]) == (400, "invalid_parameter", field)


async def test_pages_cover_everything_once(stage: Stage) -> None:
    sent = [(await stage.send(scheduledAt=stage.moment(MINUTE)))["id"] for _ in range(7)]

    async def page(query: str) -> dict[str, Any]:
        found: dict[str, Any] = await stage.get(f"{MESSAGES}/paginated{query}")
        return found

    whole = await page("")
    assert [message["id"] for message in whole["content"]] == sent[::-1]
    assert {name: whole[name] for name in ("page", "size", "totalElements", "totalPages")} == {
        "page": 0, "size": 20, "totalElements": 7, "totalPages": 1
    }  # fmt: skip
    rising = [await page(f"?page={n}&size=3&sort=createdAt&direction=ASC") for n in range(4)]
    assert [[message["id"] for message in part["content"]] for part in rising] == [sent[:3], sent[3:6], sent[6:], []]
    assert {part["totalPages"] for part in rising} == {3}
    assert (await page("?dossierId=7"))["totalElements"] == 0
    assert (await page("?dossierId=7&direction=ASC"))["totalPages"] == 0


MALFORMED = ("1", "0", "-1", "abc", "1.5", "9" * 18, "9" * 19, "9" * 30, "-" + "9" * 30, "9" * 5000)


@pytest.mark.parametrize(
    ("method", "rest"),
    [("GET", ""), ("GET", "/attempts"), ("GET", "/timeline"), ("POST", "/retry"), ("POST", "/cancel")],
)
async def test_an_unknown_or_malformed_id_is_not_found(stage: Stage, method: str, rest: str) -> None:
    for name in MALFORMED:
        answer = await stage.call(method, f"{MESSAGES}/{name}{rest}")
        assert (answer.status, answer.code) == (404, "not_found"), name[:40]
        assert len(answer.body) < 1000
