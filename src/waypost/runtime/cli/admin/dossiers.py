"""`waypost admin dossier|consent|audit …`: the API's routes for these, on the command line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import msgspec
import typer

from waypost.flow.accounts import dossiers as files
from waypost.flow.operations import audit as trail
from waypost.flow.world import World
from waypost.http.accounts.dossier_views import ChangeDossier, CreateDossier
from waypost.model.audit import OPERATOR
from waypost.model.dossier import ConsentStatus, Dossier, DossierFields, DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant, to_datetime
from waypost.ports.accounts.dossiers import DossierAmended, DossierChange, DossierConflict, DossierCreated, DossierSplit
from waypost.ports.operations.audit import AuditQuery
from waypost.rules.text.json_validation import InvalidField
from waypost.runtime.cli.app import CommandFailed, with_world
from waypost.runtime.cli.tables import JsonOption, OrgArgument, show, table

T = TypeVar("T")
Body = TypeVar("Body")
DossierIdArgument = Annotated[int, typer.Argument(metavar="DOSSIER", min=1, max=2**63 - 1, help="The dossier's id.")]
PhoneOption = Annotated[str | None, typer.Option(help="The contact's phone number.")]
EmailOption = Annotated[str | None, typer.Option(help="The contact's email address.")]
NameOption = Annotated[str | None, typer.Option(help="The contact's name.")]
ExternalRefOption = Annotated[str | None, typer.Option(help="Your own reference for this contact.")]
LimitOption = Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")]
COLUMNS = ["id", "phone", "email", "name", "external_ref", "status"]


def register(app: typer.Typer) -> None:
    for command in (dossier, change_dossier, dossiers, consent, consents, audit, activities):
        app.command()(command)


def _with_org(org: str, use: Callable[[World], Awaitable[T]]) -> T:
    async def of_known(world: World) -> T:
        if await world.ledger.accounts.org(OrgId(org)) is None:
            raise CommandFailed(f"there is no org {org}: make it with `waypost admin create-org {org}`")
        return await use(world)

    return with_world(of_known, existing=True)


def _row(dossier: Dossier) -> list[str]:
    fields = dossier.person
    known = (fields.phone, fields.email, fields.name, fields.external_ref)
    return [str(dossier.id), *(value or "" for value in known), dossier.status]


def _taken(invalid: InvalidField) -> CommandFailed:
    return CommandFailed(f"{invalid.field}: {invalid.reason}")


def _checked(kind: type[Body], **given: object) -> Body:
    """Validates with the limits of the API."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        what, _, field = str(error).partition(" - at `$.")
        raise CommandFailed(f"{field.rstrip('`')}: {what}") from None


def dossier(
    org: OrgArgument,
    phone: PhoneOption = None,
    email: EmailOption = None,
    name: NameOption = None,
    external_ref: ExternalRefOption = None,
    json: JsonOption = False,
) -> None:
    """Create a dossier, or show the one with that phone or reference."""
    given = _checked(CreateDossier, phone=phone, email=email, name=name, externalRef=external_ref)
    fields = DossierFields(**msgspec.structs.asdict(given))
    answer = _with_org(org, lambda world: files.ensure(OrgId(org), fields, OPERATOR, world))
    if isinstance(answer, InvalidField):
        raise _taken(answer)
    if isinstance(answer, DossierSplit):
        raise CommandFailed(f"the phone belongs to dossier {answer.by_phone}, the reference to dossier {answer.by_ref}")
    shown = dict(zip(COLUMNS, _row(answer.dossier), strict=True))
    show(shown | {"opened": str(isinstance(answer, DossierCreated)).lower()}, as_json=json)


def change_dossier(
    org: OrgArgument,
    dossier_id: DossierIdArgument,
    phone: PhoneOption = None,
    email: EmailOption = None,
    name: NameOption = None,
    external_ref: ExternalRefOption = None,
    status: Annotated[str | None, typer.Option(help="Your own status word.")] = None,
    json: JsonOption = False,
) -> None:
    """Change a dossier; an empty value clears a field."""
    given = {"phone": phone, "email": email, "name": name, "externalRef": external_ref}
    named: dict[str, str | None] = {field: value or None for field, value in given.items() if value is not None}
    wanted = _checked(ChangeDossier, **named, **({} if status is None else {"status": status}))

    async def change(world: World) -> Dossier:
        checked = await files.checked_change(OrgId(org), DossierChange(**msgspec.structs.asdict(wanted)), world)
        if isinstance(checked, InvalidField):
            raise _taken(checked)
        answer = await world.ledger.dossiers.change(
            OrgId(org), DossierId(dossier_id), checked, OPERATOR, world.clock.now()
        )
        if isinstance(answer, DossierConflict):
            raise CommandFailed(f"dossier {answer.dossier_id} has that {answer.field}")
        if not isinstance(answer, DossierAmended):
            raise _missing(org, dossier_id)
        return answer.dossier

    show(dict(zip(COLUMNS, _row(_with_org(org, change)), strict=True)), as_json=json)


def _missing(org: str, dossier_id: int) -> CommandFailed:
    return CommandFailed(f"org {org} has no dossier {dossier_id}")


def dossiers(
    org: OrgArgument,
    phone: PhoneOption = None,
    external_ref: ExternalRefOption = None,
    limit: LimitOption = 100,
    json: JsonOption = False,
) -> None:
    """List dossiers, newest first."""

    async def find(world: World) -> list[Dossier]:
        number = None if phone is None else await files.phone(OrgId(org), phone, world)
        if isinstance(number, InvalidField):
            raise _taken(number)
        return list(await world.ledger.dossiers.find(OrgId(org), number, external_ref, limit))

    table(COLUMNS, [_row(each) for each in _with_org(org, find)], as_json=json)


def consent(
    org: OrgArgument,
    dossier_id: DossierIdArgument,
    status: Annotated[ConsentStatus, typer.Argument(help="Whether the contact agreed.")],
    channel: Annotated[Channel, typer.Option(help="The channel.")] = Channel.WHATSAPP,
) -> None:
    """Record a consent; REVOKED also stops queued messages."""

    async def put(world: World) -> None:
        consents_ = world.ledger.consents
        if await consents_.put(OrgId(org), DossierId(dossier_id), channel, status, OPERATOR, world.clock.now()) is None:
            raise _missing(org, dossier_id)

    _with_org(org, put)
    typer.echo(f"{channel.value} {status.value} for dossier {dossier_id}")


def consents(org: OrgArgument, dossier_id: DossierIdArgument, json: JsonOption = False) -> None:
    """Show a contact's consents, by channel."""
    found = _with_org(org, lambda world: world.ledger.consents.of(OrgId(org), DossierId(dossier_id)))
    rows = [[each.channel.value, each.status.value, _moment(each.at)] for each in found]
    table(["channel", "status", "at"], rows, as_json=json)


def audit(
    org: OrgArgument,
    entity_type: Annotated[str | None, typer.Option(help="E.g. OUTBOUND_MESSAGE or DOSSIER.")] = None,
    entity_id: Annotated[str | None, typer.Option(help="The id of the entity.")] = None,
    limit: LimitOption = 100,
    json: JsonOption = False,
) -> None:
    """Show who did what, newest first."""
    if entity_id is not None and entity_type is None:
        raise CommandFailed("--entity-id needs --entity-type, e.g. OUTBOUND_MESSAGE or DOSSIER")
    query = AuditQuery(entity_type=entity_type, entity_id=entity_id)
    found = _with_org(org, lambda world: trail.trail(OrgId(org), query, limit, world))
    rows = [
        [_moment(e.at), e.entity_type, e.entity_id, e.action, e.actor, e.details]
        for e in (recorded.entry for recorded in found)
    ]
    table(["at", "entity_type", "entity_id", "action", "actor", "details"], rows, as_json=json)


def activities(
    org: OrgArgument, dossier_id: DossierIdArgument, limit: LimitOption = 100, json: JsonOption = False
) -> None:
    """Show the events of a dossier's messages, newest first."""
    found = _with_org(org, lambda world: trail.activities(OrgId(org), dossier_id, limit, world))
    rows = [
        [_moment(each.at), each.type.value, ", ".join(f"{k}={v}" for k, v in each.payload.items())] for each in found
    ]
    table(["at", "type", "payload"], rows, as_json=json)


def _moment(at: Instant) -> str:
    return f"{to_datetime(at):%Y-%m-%dT%H:%M:%S.%fZ}"
