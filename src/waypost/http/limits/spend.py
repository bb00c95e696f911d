"""/api/v1/outbound/spend: what messages cost, by day, template, category or dossier."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated

import msgspec
from litestar import Router, get
from litestar.di import Provide
from litestar.params import QueryParameter

from waypost.flow.accounts import budgets
from waypost.flow.world import World
from waypost.http.edge.context import CurrentCaller, CurrentWorld, reader
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.model.ids import OrgId
from waypost.model.money import By, Spend
from waypost.rules.limits import budget, price

LONGEST = 366
SHOWN = 100


class SpendRow(msgspec.Struct, rename="camel", kw_only=True):
    key: str | None
    """The day, template, category or dossier; null for messages without one."""
    currency: str | None
    """Null without a price list."""
    messages: int
    unpriced: int
    """How many of them have no price in the price list."""
    amount: Decimal


class SpendView(msgspec.Struct, kw_only=True):
    """Booked once per message, when the provider reports its delivery; days are UTC."""

    first: date = msgspec.field(name="from")
    last: date = msgspec.field(name="to")
    by: By
    content: list[SpendRow]


def _row(spend: Spend, by: By) -> SpendRow:
    key = budget.as_date(int(spend.key)).isoformat() if by == "day" and spend.key is not None else spend.key
    return SpendRow(
        key=key,
        currency=spend.currency,
        messages=spend.messages,
        unpriced=spend.unpriced,
        amount=price.amount(spend.amount_micros),
    )


async def spent(org: OrgId, first: date, last: date, by: By, world: World) -> list[SpendRow]:
    return [_row(spend, by) for spend in await budgets.spend(org, first, last, by, world)]


class SpentThisMonth(msgspec.Struct, rename="camel", kw_only=True):
    """From the first of the month to today; only the 100 largest templates and dossiers. `GET /spend` has all."""

    since: date = msgspec.field(name="from")
    by_day: list[SpendRow]
    by_category: list[SpendRow]
    by_template: list[SpendRow]
    by_dossier: list[SpendRow]


async def spent_this_month(org: OrgId, world: World) -> SpentThisMonth:
    today = budget.as_date(budget.day_of(world.clock.now()))
    first = today.replace(day=1)
    headings: tuple[By, ...] = ("day", "category", "template", "dossier")
    found = {f"by_{by}": (await spent(org, first, today, by, world))[:SHOWN] for by in headings}
    return SpentThisMonth(since=first, **found)


@get("/spend", summary="What messages cost", responses=problems(400))
async def get_spend(
    caller: CurrentCaller,
    world: CurrentWorld,
    first: Annotated[date | None, QueryParameter(name="from", required=False)] = None,
    last: Annotated[date | None, QueryParameter(name="to", required=False)] = None,
    by: Annotated[By, QueryParameter(required=False)] = "day",
) -> SpendView:
    """By default from the first of the month to today; both days are included."""
    today = budget.as_date(budget.day_of(world.clock.now()))
    until = last or today
    since = first or until.replace(day=1)
    if not 0 <= (until - since).days < LONGEST:
        detail = f"from must not be after to, and at most {LONGEST - 1} days before it"
        raise Problem(400, "invalid_parameter", detail, field="from")
    content = await spent(caller.org_id, since, until, by, world)
    return SpendView(first=since, last=until, by=by, content=content)


router = Router(
    "/api/v1/outbound", dependencies={"caller": Provide(reader)}, tags=["Outbound"], route_handlers=[get_spend]
)
