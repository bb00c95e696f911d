"""The cost of messages, from the sandbox's statuses to the spend of a day, and the budget that stops sending."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import PHONE, status, status_post
from waypost.flow.accounts.budgets import check_budgets
from waypost.model.gate import GateKind
from waypost.model.ids import OrgId
from waypost.model.time import days, seconds

SPEND = "/api/v1/outbound/spend"
LIST = {
    "currency": "USD",
    "prices": [
        {"country": "1", "category": "utility", "amount": "0.004"},
        {"country": "1", "category": "marketing", "amount": "0.025"},
    ],
}
ORDER: dict[str, Any] = {
    "templateCode": "order_confirmation",
    "payloadJson": {
        "language": "en",
        "components": [
            {"type": "body", "parameters": [{"type": "text", "text": "Ada"}, {"type": "text", "text": "7"}]}
        ],
    },
}


@pytest.fixture
async def stage(set_up: OpenStage) -> Stage:
    return await set_up(outbound_window="ignore")


async def spend(stage: Stage, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await stage.get(SPEND + query))["content"]
    return found


async def delivered(stage: Stage, **message: Any) -> dict[str, Any]:
    stage.manual.advance(seconds(10))  # past the recipient's pace
    posted = await stage.send(**message)
    await stage.becomes(posted["id"], "DELIVERED")
    await stage.sandbox.settled()
    return posted


async def set_policy(stage: Stage, **policy: Any) -> None:
    answer = await stage.call("PUT", "/api/v1/policy", policy)
    assert answer.status == 200, answer


async def test_a_delivered_template_is_booked_once_at_the_orgs_price(stage: Stage) -> None:
    await set_policy(stage, priceList=LIST)
    await delivered(stage, **ORDER)
    await stage.reads()
    today = stage.moment(seconds(0))[:10]
    (row,) = await spend(stage)
    assert row == {"key": today, "currency": "USD", "messages": 1, "unpriced": 0, "amount": row["amount"]}
    assert float(row["amount"]) in (0.004, 0.025)
    (by_template,) = await spend(stage, "?by=template")
    assert by_template["key"] == "order_confirmation"
    (by_dossier,) = await spend(stage, "?by=dossier")
    assert by_dossier["key"] is None
    assert len(await spend(stage, "?by=category")) == 1
    assert await spend(stage, "?from=2020-01-01&to=2020-01-31") == []


async def test_the_figures_show_what_was_spent_this_month(stage: Stage) -> None:
    await set_policy(stage, priceList=LIST)
    await delivered(stage, **ORDER)
    shown = (await stage.get("/api/v1/outbound/stats"))["spend"]
    assert shown.pop("from") == stage.moment(seconds(0))[:8] + "01"
    assert shown == {
        f"by{by.capitalize()}": await spend(stage, f"?by={by}") for by in ("day", "category", "template", "dossier")
    }
    assert shown["byTemplate"][0]["key"] == "order_confirmation"


@ON_SQLITE
async def test_without_a_price_list_messages_are_counted(stage: Stage) -> None:
    await delivered(stage, **ORDER)
    (row,) = await spend(stage, "?by=template")
    assert (row["messages"], row["unpriced"], row["currency"], float(row["amount"])) == (1, 1, None, 0.0)


@ON_SQLITE
async def test_a_free_message_costs_nothing(stage: Stage) -> None:
    await set_policy(stage, priceList=LIST)
    priced = {"billable": False, "pricing_model": "PMP", "type": "free_customer_service", "category": "service"}
    await stage.post(status_post(stage.acme, status("wamid.x", "delivered", pricing=priced)))
    (row,) = await spend(stage, "?from=2025-10-01&by=category")
    assert (row["key"], row["messages"], row["unpriced"], float(row["amount"])) == ("service", 1, 0, 0.0)


@pytest.mark.parametrize(
    "query", ["?from=2026-02-01&to=2026-01-01", "?from=2020-01-01&to=2026-01-01", "?from=yesterday", "?by=hour"]
)
@ON_SQLITE
async def test_a_span_that_makes_no_sense_is_refused(stage: Stage, query: str) -> None:
    answer = await stage.call("GET", SPEND + query)
    assert (answer.status, answer.code) == (400, "invalid_parameter")
    assert answer.json["field"] in ("from", "by")


@ON_SQLITE
async def test_an_org_sees_only_its_own_spend(stage: Stage) -> None:
    await delivered(stage, **ORDER)
    assert (await stage.get(SPEND, stage.globex.key))["content"] == []


async def test_a_reached_budget_holds_the_org_until_there_is_room_again(stage: Stage) -> None:
    await set_policy(stage, priceList=LIST, budget={"amount": "0.004", "period": "day"})
    await check_budgets(stage.world)
    await delivered(stage, **ORDER)
    await check_budgets(stage.world)
    assert await stage.world.ledger.money.capped() == ["acme"]
    stage.manual.advance(seconds(10))
    held = await stage.send(to=PHONE)
    assert (await stage.message(held["id"]))["status"] == "QUEUED"
    await set_policy(stage, priceList=LIST, budget={"amount": "100", "period": "day"})
    assert await stage.world.ledger.money.capped() == []
    await stage.becomes(held["id"], "DELIVERED")


@ON_SQLITE
async def test_the_next_day_has_a_budget_of_its_own(stage: Stage) -> None:
    await set_policy(stage, priceList=LIST, budget={"amount": "0.004", "period": "day"})
    await delivered(stage, **ORDER)
    await check_budgets(stage.world)
    assert await stage.world.ledger.money.capped() == ["acme"]
    stage.manual.advance(days(1))
    await check_budgets(stage.world)
    assert await stage.world.ledger.money.capped() == []


@ON_SQLITE
async def test_an_org_that_gives_up_its_budget_is_free(stage: Stage) -> None:
    await set_policy(stage, priceList=LIST, budget={"amount": "0"})
    assert await stage.world.ledger.money.capped() == ["acme"]
    (closed,) = await stage.world.ledger.gates.of_org(OrgId("acme"), stage.clock.now())
    assert (closed.gate.code, closed.gate.kind, closed.gate.until) == ("BUDGET_REACHED", GateKind.HOLD, None)
    await set_policy(stage)
    assert await stage.world.ledger.money.capped() == []


@ON_SQLITE
async def test_what_is_on_the_way_counts_towards_the_budget(stage: Stage) -> None:
    await set_policy(stage, priceList=LIST, budget={"amount": "0.02"})
    await stage.sent_silently(**ORDER)
    await check_budgets(stage.world)
    assert await stage.world.ledger.money.capped() == ["acme"]
    stage.manual.advance(days(1))
    await check_budgets(stage.world)
    assert await stage.world.ledger.money.capped() == []
