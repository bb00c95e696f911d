"""`waypost admin dossier|consent|audit …`: what the API has routes for, at the command line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import msgspec
import typer

from waypost.flow import audit as trail
from waypost.flow import dossiers as files
from waypost.flow.world import World
from waypost.http.dossier_views import ChangeDossier, CreateDossier
from waypost.model.audit import OPERATOR
from waypost.model.dossier import ConsentStatus, Dossier, DossierId, Person
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant, to_datetime
from waypost.ports.audit import AuditQuery
from waypost.ports.dossiers import Amended, DossierChange, Opened, Split, Taken
from waypost.rules.shape import Invalid
from waypost.runtime.cli import Failed, with_world
from waypost.runtime.tables import Json, Org, show, table

T = TypeVar("T")
Body = TypeVar("Body")
Id = Annotated[int, typer.Argument(metavar="DOSSIER", min=1, max=2**63 - 1, help="The dossier's id.")]
Phone = Annotated[str | None, typer.Option(help="The person's phone number.")]
Email = Annotated[str | None, typer.Option(help="The person's email address.")]
Name = Annotated[str | None, typer.Option(help="The person's name.")]
Ref = Annotated[str | None, typer.Option(help="Your own name for this person.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")]
COLUMNS = ["id", "phone", "email", "name", "external_ref", "status"]


def register(app: typer.Typer) -> None:
    for command in (dossier, change_dossier, dossiers, consent, consents, audit, activities):
        app.command()(command)


def _with_org(org: str, use: Callable[[World], Awaitable[T]]) -> T:
    async def of_known(world: World) -> T:
        if await world.ledger.accounts.org(OrgId(org)) is None:
            raise Failed(f"there is no org {org}: make it with `waypost admin create-org {org}`")
        return await use(world)

    return with_world(of_known, existing=True)


def _row(dossier: Dossier) -> list[str]:
    person = dossier.person
    known = (person.phone, person.email, person.name, person.external_ref)
    return [str(dossier.id), *(value or "" for value in known), dossier.status]


def _taken(invalid: Invalid) -> Failed:
    return Failed(f"{invalid.field}: {invalid.reason}")


def _checked(kind: type[Body], **given: object) -> Body:
    """What the API would take; its bounds hold here, too."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        what, _, field = str(error).partition(" - at `$.")
        raise Failed(f"{field.rstrip('`')}: {what}") from None


def dossier(
    org: Org, phone: Phone = None, email: Email = None, name: Name = None, external_ref: Ref = None, json: Json = False
) -> None:
    """Open a dossier, or show the one with that phone or reference."""
    given = _checked(CreateDossier, phone=phone, email=email, name=name, externalRef=external_ref)
    person = Person(**msgspec.structs.asdict(given))
    answer = _with_org(org, lambda world: files.ensure(OrgId(org), person, OPERATOR, world))
    if isinstance(answer, Invalid):
        raise _taken(answer)
    if isinstance(answer, Split):
        raise Failed(f"the phone is of dossier {answer.by_phone}, the reference of dossier {answer.by_ref}")
    shown = dict(zip(COLUMNS, _row(answer.dossier), strict=True))
    show(shown | {"opened": str(isinstance(answer, Opened)).lower()}, as_json=json)


def change_dossier(
    org: Org,
    dossier_id: Id,
    phone: Phone = None,
    email: Email = None,
    name: Name = None,
    external_ref: Ref = None,
    status: Annotated[str | None, typer.Option(help="A word of your own.")] = None,
    json: Json = False,
) -> None:
    """Change a dossier; an empty value takes it away."""
    given = {"phone": phone, "email": email, "name": name, "externalRef": external_ref}
    named: dict[str, str | None] = {field: value or None for field, value in given.items() if value is not None}
    wanted = _checked(ChangeDossier, **named, **({} if status is None else {"status": status}))

    async def change(world: World) -> Dossier:
        checked = await files.checked_change(OrgId(org), DossierChange(**msgspec.structs.asdict(wanted)), world)
        if isinstance(checked, Invalid):
            raise _taken(checked)
        answer = await world.ledger.dossiers.change(
            OrgId(org), DossierId(dossier_id), checked, OPERATOR, world.clock.now()
        )
        if isinstance(answer, Taken):
            raise Failed(f"dossier {answer.dossier_id} has that {answer.field}")
        if not isinstance(answer, Amended):
            raise _missing(org, dossier_id)
        return answer.dossier

    show(dict(zip(COLUMNS, _row(_with_org(org, change)), strict=True)), as_json=json)


def _missing(org: str, dossier_id: int) -> Failed:
    return Failed(f"org {org} has no dossier {dossier_id}")


def dossiers(org: Org, phone: Phone = None, external_ref: Ref = None, limit: Limit = 100, json: Json = False) -> None:
    """List dossiers, newest first."""

    async def find(world: World) -> list[Dossier]:
        number = None if phone is None else await files.phone(OrgId(org), phone, world)
        if isinstance(number, Invalid):
            raise _taken(number)
        return list(await world.ledger.dossiers.find(OrgId(org), number, external_ref, limit))

    table(COLUMNS, [_row(each) for each in _with_org(org, find)], as_json=json)


def consent(
    org: Org,
    dossier_id: Id,
    status: Annotated[ConsentStatus, typer.Argument(help="What the person said.")],
    channel: Annotated[Channel, typer.Option(help="To being written to this way.")] = Channel.WHATSAPP,
) -> None:
    """Record what a person agreed to; REVOKED also stops what is still queued."""

    async def put(world: World) -> None:
        consents_ = world.ledger.consents
        if await consents_.put(OrgId(org), DossierId(dossier_id), channel, status, OPERATOR, world.clock.now()) is None:
            raise _missing(org, dossier_id)

    _with_org(org, put)
    typer.echo(f"{channel.value} {status.value} for dossier {dossier_id}")


def consents(org: Org, dossier_id: Id, json: Json = False) -> None:
    """Show what a person agreed to, by channel."""
    found = _with_org(org, lambda world: world.ledger.consents.of(OrgId(org), DossierId(dossier_id)))
    rows = [[each.channel.value, each.status.value, _moment(each.at)] for each in found]
    table(["channel", "status", "at"], rows, as_json=json)


def audit(
    org: Org,
    entity_type: Annotated[str | None, typer.Option(help="E.g. OUTBOUND_MESSAGE or DOSSIER.")] = None,
    entity_id: Annotated[str | None, typer.Option(help="Which of them.")] = None,
    limit: Limit = 100,
    json: Json = False,
) -> None:
    """Show who did what, newest first."""
    if entity_id is not None and entity_type is None:
        raise Failed("--entity-id needs --entity-type, e.g. OUTBOUND_MESSAGE or DOSSIER")
    query = AuditQuery(entity_type=entity_type, entity_id=entity_id)
    found = _with_org(org, lambda world: trail.trail(OrgId(org), query, limit, world))
    rows = [
        [_moment(e.at), e.entity_type, e.entity_id, e.action, e.actor, e.details]
        for e in (recorded.entry for recorded in found)
    ]
    table(["at", "entity_type", "entity_id", "action", "actor", "details"], rows, as_json=json)


def activities(org: Org, dossier_id: Id, limit: Limit = 100, json: Json = False) -> None:
    """Show what happened to a dossier's messages, newest first."""
    found = _with_org(org, lambda world: trail.activities(OrgId(org), dossier_id, limit, world))
    rows = [
        [_moment(each.at), each.type.value, ", ".join(f"{k}={v}" for k, v in each.payload.items())] for each in found
    ]
    table(["at", "type", "payload"], rows, as_json=json)


def _moment(at: Instant) -> str:
    return f"{to_datetime(at):%Y-%m-%dT%H:%M:%S.%fZ}"
