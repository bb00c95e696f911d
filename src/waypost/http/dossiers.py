"""/api/v1/dossiers, and below /api/v1/outbound what people agreed to, who did what, and what happened to messages."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Response, Router, get, patch, post, put
from litestar.di import Provide
from litestar.params import Body, JSONBody, PathParameter, QueryParameter

from waypost.flow import audit, dossiers
from waypost.flow.audit import actor_of
from waypost.http.context import Asking, Here, reader, writer
from waypost.http.documented import CONSENT_EXAMPLES, DOSSIER_EXAMPLES, problems, shows
from waypost.http.dossier_views import (
    ActivityList,
    AuditList,
    ChangeDossier,
    ConsentList,
    ConsentView,
    CreateDossier,
    DossierList,
    DossierView,
    PutConsent,
    activity_view,
    audit_view,
    consent_view,
    dossier_view,
)
from waypost.http.problems import Problem
from waypost.model.dossier import Dossier, DossierId, Person
from waypost.ports.audit import AuditQuery
from waypost.ports.dossiers import Amended, DossierChange, Opened, Split, Taken
from waypost.rules.shape import Invalid

LARGEST_ID = 2**63 - 1
NO_NUL = r"^[^\x00]*$"
Id = Annotated[int, PathParameter(description="A dossier's id")]
Dossiers = Annotated[int, QueryParameter(name="dossierId", ge=1, le=LARGEST_ID)]
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]
_BOTH = {
    200: shows(DossierView, "The org has a dossier with that phone or externalRef: that one, as it is"),
    201: shows(DossierView, "Opened"),
}


def _missing(dossier_id: int, code: str = "not_found") -> Problem:
    named = dossier_id if abs(dossier_id) <= LARGEST_ID else "with such a number"
    return Problem(404, code, f"there is no dossier {named}", field="dossierId" if code != "not_found" else None)


def _invalid(invalid: Invalid) -> Problem:
    return Problem(422, "invalid_payload", f"{invalid.field}: {invalid.reason}", field=invalid.field)


async def _known(dossier_id: int, caller: Asking, world: Here, code: str = "unknown_dossier") -> Dossier:
    possible = 0 < dossier_id <= LARGEST_ID
    found = await world.ledger.dossiers.get(caller.org_id, DossierId(dossier_id)) if possible else None
    if found is None:
        raise _missing(dossier_id, code)
    return found


@post(
    "/dossiers",
    dependencies={"caller": Provide(writer)},
    summary="Open a dossier, or find the one there is",
    tags=["Dossiers"],
    responses=problems(400, 409, 413, 422) | _BOTH,
)
async def create_dossier(
    data: Annotated[CreateDossier, Body(examples=DOSSIER_EXAMPLES)], caller: Asking, world: Here
) -> Response[DossierView]:
    """201 when opened, 200 when the org has one with that phone or externalRef, which is left as it is."""
    person = Person(phone=data.phone, email=data.email, name=data.name, external_ref=data.external_ref)
    answer = await dossiers.ensure(caller.org_id, person, actor_of(caller), world)
    if isinstance(answer, Invalid):
        raise _invalid(answer)
    if isinstance(answer, Split):
        detail = f"phone is of dossier {answer.by_phone}, externalRef of dossier {answer.by_ref}: send one of them"
        raise Problem(409, "dossier_conflict", detail, field="externalRef")
    return Response(dossier_view(answer.dossier), status_code=201 if isinstance(answer, Opened) else 200)


@get("/dossiers", summary="Dossiers by phone or reference", tags=["Dossiers"], responses=problems(400))
async def find_dossiers(
    caller: Asking,
    world: Here,
    phone: Annotated[str | None, QueryParameter(max_length=64, required=False)] = None,
    external_ref: Annotated[
        str | None, QueryParameter(name="externalRef", max_length=255, pattern=NO_NUL, required=False)
    ] = None,
    limit: Limit = 100,
) -> DossierList:
    """Those that have all of what is given; without either, the newest."""
    number = (
        None
        if phone is None
        else await dossiers.phone(caller.org_id, phone if phone.lstrip()[:1] == "+" else phone.strip(), world)
    )
    if isinstance(number, Invalid):
        told = f"phone: {number.reason}; in a URL, + is written %2B"
        raise Problem(400, "invalid_parameter", told, field="phone")
    found = await world.ledger.dossiers.find(caller.org_id, number, external_ref, limit)
    return DossierList([dossier_view(each) for each in found])


@get("/dossiers/{dossier_id:int}", summary="A dossier", tags=["Dossiers"], responses=problems(404))
async def get_dossier(dossier_id: Id, caller: Asking, world: Here) -> DossierView:
    return dossier_view(await _known(dossier_id, caller, world, "not_found"))


@patch(
    "/dossiers/{dossier_id:int}",
    dependencies={"caller": Provide(writer)},
    summary="Change a dossier",
    tags=["Dossiers"],
    responses=problems(400, 404, 409, 413, 422),
)
async def change_dossier(dossier_id: Id, data: JSONBody[ChangeDossier], caller: Asking, world: Here) -> DossierView:
    """What is left out stays; null takes a field away. A revoked consent goes along to a new phone or email."""
    await _known(dossier_id, caller, world, "not_found")
    change = await dossiers.checked_change(caller.org_id, DossierChange(**msgspec.structs.asdict(data)), world)
    if isinstance(change, Invalid):
        raise _invalid(change)
    answer = await world.ledger.dossiers.change(
        caller.org_id, DossierId(dossier_id), change, actor_of(caller), world.clock.now()
    )
    if isinstance(answer, Amended):
        return dossier_view(answer.dossier)
    if isinstance(answer, Taken):
        field = "externalRef" if answer.field == "external_ref" else answer.field
        raise Problem(409, "dossier_conflict", f"{field}: dossier {answer.dossier_id} has it", field=field)
    raise _missing(dossier_id)


@put(
    "/outbound/consents",
    dependencies={"caller": Provide(writer)},
    summary="Record what a person agreed to",
    tags=["Consents"],
    responses=problems(400, 404, 413, 422),
)
async def put_consent(
    data: Annotated[PutConsent, Body(examples=CONSENT_EXAMPLES)], caller: Asking, world: Here
) -> ConsentView:
    """The latest counts, for the dossier and for its phone or email; what is still queued is stopped by a REVOKED."""
    dossier, now = DossierId(data.dossier_id), world.clock.now()
    stored = await world.ledger.consents.put(caller.org_id, dossier, data.channel, data.status, actor_of(caller), now)
    if stored is None:
        raise _missing(data.dossier_id, "unknown_dossier")
    return consent_view(stored)


@get("/outbound/consents", summary="What a person agreed to", tags=["Consents"], responses=problems(400, 404))
async def get_consents(caller: Asking, world: Here, dossier_id: Dossiers) -> ConsentList:
    """The latest word for each channel that there is one for."""
    dossier = await _known(dossier_id, caller, world)
    return ConsentList([consent_view(each) for each in await world.ledger.consents.of(caller.org_id, dossier.id)])


@get("/outbound/audit", summary="Who did what", tags=["Audit"], responses=problems(400))
async def get_audit(
    caller: Asking,
    world: Here,
    entity_type: Annotated[
        str | None, QueryParameter(name="entityType", max_length=40, pattern=NO_NUL, required=False)
    ] = None,
    entity_id: Annotated[
        str | None, QueryParameter(name="entityId", max_length=255, pattern=NO_NUL, required=False)
    ] = None,
    limit: Limit = 100,
) -> AuditList:
    """Newest first. Of one message, everything; of a dossier or of the org, what its latest 200 messages tell."""
    if entity_id is not None and entity_type is None:
        told = "entityId: say of what with entityType, e.g. OUTBOUND_MESSAGE or DOSSIER"
        raise Problem(400, "invalid_parameter", told, field="entityType")
    query = AuditQuery(entity_type=entity_type, entity_id=entity_id)
    return AuditList([audit_view(each) for each in await audit.trail(caller.org_id, query, limit, world)])


@get(
    "/outbound/activities",
    summary="What happened to a dossier's messages",
    tags=["Audit"],
    responses=problems(400, 404),
)
async def get_activities(caller: Asking, world: Here, dossier_id: Dossiers, limit: Limit = 100) -> ActivityList:
    """Newest first, of the dossier's latest 200 messages."""
    dossier = await _known(dossier_id, caller, world)
    found = await audit.activities(caller.org_id, dossier.id, limit, world)
    return ActivityList([activity_view(each) for each in found])


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(reader)},
    route_handlers=[
        create_dossier,
        find_dossiers,
        get_dossier,
        change_dossier,
        put_consent,
        get_consents,
        get_audit,
        get_activities,
    ],
)
