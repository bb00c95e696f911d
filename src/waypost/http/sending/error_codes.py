"""/api/v1/outbound/error-codes: how each error code of the provider is handled."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from litestar import Router, get
from litestar.di import Provide
from litestar.params import QueryParameter

from waypost.flow.world import World
from waypost.http.edge.context import CurrentCaller, CurrentWorld, reader
from waypost.http.edge.route_docs import problems
from waypost.model.ids import OrgId
from waypost.rules.limits.error_catalogue import ErrorAction, ErrorCode, ErrorScope

CatalogueName: TypeAlias = Literal["meta", "seed", "smtp"]
"""A number uses one of the first two, a mailbox the last."""


class ErrorCodeView(msgspec.Struct, rename="camel", kw_only=True):
    """A code or a range of codes (`200-299`), and how a message that gets it is handled."""

    code: str
    title: str
    action: ErrorAction
    retryable: bool
    rate_limit: bool
    scope: ErrorScope | None
    """What else is throttled or held; null if only the message itself is affected."""


def error_code_view(row: ErrorCode) -> ErrorCodeView:
    return ErrorCodeView(
        code=row.code,
        title=row.title,
        action=row.action,
        retryable=row.retryable,
        rate_limit=row.rate_limit,
        scope=row.scope,
    )


async def in_force(org: OrgId, world: World) -> str:
    """The catalogue of the org's first number, which sends messages without `from`."""
    numbers = await world.numbers.of_org(org)
    return numbers[0].number.error_catalogue if numbers else "meta"


@get("/error-codes", summary="How each error code is handled", responses=problems(400))
async def list_error_codes(
    caller: CurrentCaller,
    world: CurrentWorld,
    catalogue: Annotated[
        CatalogueName | None,
        QueryParameter(required=False, description="Default: the catalogue of the org's first number"),
    ] = None,
) -> list[ErrorCodeView]:
    """Codes that are not listed are retried."""
    chosen = world.catalogues[catalogue or await in_force(caller.org_id, world)]
    return [error_code_view(row) for row in chosen.rows()]


router = Router(
    "/api/v1/outbound",
    dependencies={"caller": Provide(reader)},
    tags=["Outbound"],
    route_handlers=[list_error_codes],
)
