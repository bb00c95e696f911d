"""/api/v1/dossiers, and consents, audit trail and activities below /api/v1/outbound."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Response, Router, get, patch, post, put
from litestar.di import Provide
from litestar.params import Body, JSONBody, PathParameter, QueryParameter

from waypost.flow.accounts import dossiers
from waypost.flow.operations import audit
from waypost.flow.operations.audit import actor_of
from waypost.http.accounts.dossier_views import (
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
from waypost.http.accounts.examples import CONSENT_EXAMPLES, DOSSIER_EXAMPLES
from waypost.http.edge.context import CurrentCaller, CurrentWorld, reader, writer
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems, shows
from waypost.model.dossier import Dossier, DossierFields, DossierId
from waypost.ports.accounts.dossiers import DossierAmended, DossierChange, DossierConflict, DossierCreated, DossierSplit
from waypost.ports.operations.audit import AuditQuery
from waypost.rules.text.json_validation import InvalidField

LARGEST_ID = 2**63 - 1
NO_NUL = r"^[^\x00]*$"
DossierIdPath = Annotated[int, PathParameter(description="A dossier's id")]
DossierIdQuery = Annotated[int, QueryParameter(name="dossierId", ge=1, le=LARGEST_ID)]
ListLimit = Annotated[int, QueryParameter(ge=1, le=1000)]
_BOTH = {
    200: shows(DossierView, "The org already has a dossier with that phone or externalRef; it is returned unchanged"),
    201: shows(DossierView, "Created"),
}


def _missing(dossier_id: int, code: str = "not_found") -> Problem:
    named = dossier_id if abs(dossier_id) <= LARGEST_ID else "with such a number"
    return Problem(404, code, f"there is no dossier {named}", field="dossierId" if code != "not_found" else None)


def _invalid(invalid: InvalidField) -> Problem:
    return Problem(422, "invalid_payload", f"{invalid.field}: {invalid.reason}", field=invalid.field)


async def _known(dossier_id: int, caller: CurrentCaller, world: CurrentWorld, code: str = "unknown_dossier") -> Dossier:
    possible = 0 < dossier_id <= LARGEST_ID
    found = await dossiers.dossier(caller.org_id, DossierId(dossier_id), world) if possible else None
    if found is None:
        raise _missing(dossier_id, code)
    return found


@post(
    "/dossiers",
    dependencies={"caller": Provide(writer)},
    summary="Create a dossier, or return the existing one",
    tags=["Dossiers"],
    responses=problems(400, 409, 413, 422) | _BOTH,
)
async def create_dossier(
    data: Annotated[CreateDossier, Body(examples=DOSSIER_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> Response[DossierView]:
    """201 when created; 200 when the org has one with that phone or externalRef, which stays unchanged."""
    fields = DossierFields(phone=data.phone, email=data.email, name=data.name, external_ref=data.external_ref)
    answer = await dossiers.ensure(caller.org_id, fields, actor_of(caller), world)
    if isinstance(answer, InvalidField):
        raise _invalid(answer)
    if isinstance(answer, DossierSplit):
        detail = (
            f"phone belongs to dossier {answer.by_phone}, externalRef to dossier {answer.by_ref}: send only one of them"
        )
        raise Problem(409, "dossier_conflict", detail, field="externalRef")
    return Response(dossier_view(answer.dossier), status_code=201 if isinstance(answer, DossierCreated) else 200)


@get("/dossiers", summary="Dossiers by phone or reference", tags=["Dossiers"], responses=problems(400))
async def find_dossiers(
    caller: CurrentCaller,
    world: CurrentWorld,
    phone: Annotated[str | None, QueryParameter(max_length=64, required=False)] = None,
    external_ref: Annotated[
        str | None, QueryParameter(name="externalRef", max_length=255, pattern=NO_NUL, required=False)
    ] = None,
    limit: ListLimit = 100,
) -> DossierList:
    """Dossiers that match every given parameter; without parameters, the newest."""
    number = (
        None
        if phone is None
        else await dossiers.phone(caller.org_id, phone if phone.lstrip()[:1] == "+" else phone.strip(), world)
    )
    if isinstance(number, InvalidField):
        detail = f"phone: {number.reason}; in a URL, + is written %2B"
        raise Problem(400, "invalid_parameter", detail, field="phone")
    found = await dossiers.find(caller.org_id, number, external_ref, limit, world)
    return DossierList([dossier_view(each) for each in found])


@get("/dossiers/{dossier_id:int}", summary="A dossier", tags=["Dossiers"], responses=problems(404))
async def get_dossier(dossier_id: DossierIdPath, caller: CurrentCaller, world: CurrentWorld) -> DossierView:
    return dossier_view(await _known(dossier_id, caller, world, "not_found"))


@patch(
    "/dossiers/{dossier_id:int}",
    dependencies={"caller": Provide(writer)},
    summary="Change a dossier",
    tags=["Dossiers"],
    responses=problems(400, 404, 409, 413, 422),
)
async def change_dossier(
    dossier_id: DossierIdPath, data: JSONBody[ChangeDossier], caller: CurrentCaller, world: CurrentWorld
) -> DossierView:
    """Omitted fields stay; null clears one. A revoked consent also applies to a new phone or email."""
    await _known(dossier_id, caller, world, "not_found")
    change = await dossiers.checked_change(caller.org_id, DossierChange(**msgspec.structs.asdict(data)), world)
    if isinstance(change, InvalidField):
        raise _invalid(change)
    answer = await dossiers.change(caller.org_id, DossierId(dossier_id), change, actor_of(caller), world)
    if isinstance(answer, DossierAmended):
        return dossier_view(answer.dossier)
    if isinstance(answer, DossierConflict):
        field = "externalRef" if answer.field == "external_ref" else answer.field
        raise Problem(
            409, "dossier_conflict", f"{field}: dossier {answer.dossier_id} already has this value", field=field
        )
    raise _missing(dossier_id)


@put(
    "/outbound/consents",
    dependencies={"caller": Provide(writer)},
    summary="Record a consent",
    tags=["Consents"],
    responses=problems(400, 404, 413, 422),
)
async def put_consent(
    data: Annotated[PutConsent, Body(examples=CONSENT_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> ConsentView:
    """The latest consent counts, for the dossier and its phone or email; REVOKED also stops queued messages."""
    dossier, actor = DossierId(data.dossier_id), actor_of(caller)
    stored = await dossiers.put_consent(caller.org_id, dossier, data.channel, data.status, actor, world)
    if stored is None:
        raise _missing(data.dossier_id, "unknown_dossier")
    return consent_view(stored)


@get("/outbound/consents", summary="A contact's consents", tags=["Consents"], responses=problems(400, 404))
async def get_consents(caller: CurrentCaller, world: CurrentWorld, dossier_id: DossierIdQuery) -> ConsentList:
    """The latest consent for each channel that has one."""
    dossier = await _known(dossier_id, caller, world)
    return ConsentList([consent_view(each) for each in await dossiers.consents(caller.org_id, dossier.id, world)])


@get("/outbound/audit", summary="Who did what", tags=["Audit"], responses=problems(400))
async def get_audit(
    caller: CurrentCaller,
    world: CurrentWorld,
    entity_type: Annotated[
        str | None, QueryParameter(name="entityType", max_length=40, pattern=NO_NUL, required=False)
    ] = None,
    entity_id: Annotated[
        str | None, QueryParameter(name="entityId", max_length=255, pattern=NO_NUL, required=False)
    ] = None,
    limit: ListLimit = 100,
) -> AuditList:
    """Newest first. For one message, every entry; for a dossier or the org, those of its latest 200 messages."""
    if entity_id is not None and entity_type is None:
        detail = "entityId: needs entityType, e.g. OUTBOUND_MESSAGE or DOSSIER"
        raise Problem(400, "invalid_parameter", detail, field="entityType")
    query = AuditQuery(entity_type=entity_type, entity_id=entity_id)
    return AuditList([audit_view(each) for each in await audit.trail(caller.org_id, query, limit, world)])


@get(
    "/outbound/activities",
    summary="Events of a dossier's messages",
    tags=["Audit"],
    responses=problems(400, 404),
)
async def get_activities(
    caller: CurrentCaller, world: CurrentWorld, dossier_id: DossierIdQuery, limit: ListLimit = 100
) -> ActivityList:
    """Newest first, for the dossier's latest 200 messages."""
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
