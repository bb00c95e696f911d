"""/api/v1/outbound/error-codes: what each code of the provider leads to."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from litestar import Router, get
from litestar.di import Provide
from litestar.params import QueryParameter

from waypost.flow.world import World
from waypost.http.context import Asking, Here, reader
from waypost.http.documented import problems
from waypost.model.ids import OrgId
from waypost.rules.catalogue import Action, ErrorCode, Scope

Catalogue: TypeAlias = Literal["meta", "seed", "smtp"]
"""A number has one of the first two; every mailbox has the last."""


class ErrorCodeView(msgspec.Struct, rename="camel", kw_only=True):
    """A code, or a range of them (`200-299`), and what it means for the message that met it."""

    code: str
    title: str
    action: Action
    retryable: bool
    rate_limit: bool
    scope: Scope | None
    """Who waits or is held; null where it is only the message itself."""


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
    """A catalogue is chosen per number: the org's first, from which a message goes that names none."""
    numbers = await world.numbers.of_org(org)
    return numbers[0].number.error_catalogue if numbers else "meta"


@get("/error-codes", summary="What each error code of the provider leads to", responses=problems(400))
async def list_error_codes(
    caller: Asking,
    world: Here,
    catalogue: Annotated[
        Catalogue | None, QueryParameter(required=False, description="Without it, that of the org's first number")
    ] = None,
) -> list[ErrorCodeView]:
    """A code that is not listed is retried."""
    chosen = world.catalogues[catalogue or await in_force(caller.org_id, world)]
    return [error_code_view(row) for row in chosen.rows()]


router = Router(
    "/api/v1/outbound",
    dependencies={"caller": Provide(reader)},
    tags=["Outbound"],
    route_handlers=[list_error_codes],
)
