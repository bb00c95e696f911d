"""`waypost admin …`: what an operator does to the ledger itself; the API has a route for each."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from waypost.flow import admit
from waypost.flow import templates as template_lists
from waypost.flow.world import World
from waypost.http.views import ConnectNumber, CreateKey, CreateUser
from waypost.model.account import Role
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import to_datetime
from waypost.ports.accounts import NumberChange
from waypost.rules.address import web_address
from waypost.runtime.cli import Failed, with_world

app = typer.Typer(name="admin", help="Orgs, numbers, keys and people.", no_args_is_help=True)

Body = TypeVar("Body")
Found = TypeVar("Found")
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Org = Annotated[str, typer.Argument(metavar="ORG", help="The org's id.")]
PhoneNumberId = Annotated[str, typer.Argument(help="Meta's id of the number.")]
UserIdArgument = Annotated[str, typer.Argument(metavar="USER_ID", help="The person's id, as `users` lists it.")]


def register(parent: typer.Typer) -> None:
    from waypost.runtime import admin_org_policy  # noqa: PLC0415  # it is built with what is below

    admin_org_policy.register(app)
    parent.add_typer(app)


def _show(facts: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode(facts).decode() + "\n")
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        table.add_row(Text(name, "dim"), Text(value))
    Console(highlight=False, soft_wrap=True).print(table)


def print_table(columns: list[str], rows: list[list[str]], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode([dict(zip(columns, row, strict=True)) for row in rows]).decode() + "\n")
        return
    table = Table(*columns, box=None, pad_edge=False, header_style="dim")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table if rows else "none")


async def _known(org: str, world: World) -> OrgId:
    if await world.ledger.accounts.org(OrgId(org)) is None:
        raise Failed(f"there is no org {org}: make it with `waypost admin create-org {org}`")
    return OrgId(org)


def of_known(org: str, read: Callable[[World], Awaitable[Found]]) -> Found:
    async def of_known(world: World) -> Found:
        await _known(org, world)
        return await read(world)

    return with_world(of_known, existing=True)


def _checked(kind: type[Body], **given: object) -> Body:
    """What the API would take; its bounds hold here, too."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        what, _, field = str(error).partition(" - at `$.")
        raise Failed(f"{field.rstrip('`').replace('_', '-')}: {what}") from None


@app.command()
def create_org(org: Org, json: Json = False) -> None:
    """Make an org and its first admin key, which is shown this once."""
    if not admit.ORG_ID.fullmatch(org):
        raise Failed(
            "an org's id has 1 to 63 letters, digits, dots, dashes or underscores and starts with a letter or digit"
        )
    issued = with_world(lambda world: admit.create_org(OrgId(org), world))
    if issued is None:
        raise Failed(
            f"there is an org {org} already: choose another id, or make it a key with `waypost admin create-key`"
        )
    _show({"org_id": org, "api_key": issued.secret}, as_json=json)


@app.command()
def orgs(json: Json = False) -> None:
    """List the orgs."""
    found = with_world(lambda world: world.ledger.accounts.orgs(), existing=True)
    print_table(["org_id", "created"], [[o.id, _day(o.created_at)] for o in found], as_json=json)


def _day(moment: Any) -> str:
    return f"{to_datetime(moment):%Y-%m-%d %H:%M}"


@app.command()
def connect_whatsapp(  # each is an option that the contract names
    org: Org,
    phone_number_id: Annotated[str, typer.Option(help="Meta's id of the number.")],
    waba_id: Annotated[str, typer.Option(help="The business account's id.")],
    token: Annotated[str, typer.Option(help="The access token.")],
    app_secret: Annotated[str, typer.Option(help="What Meta signs webhooks with.")],
    verify_token: Annotated[str, typer.Option(help="What you entered beside the webhook URL.")],
    graph_url: Annotated[str | None, typer.Option(help="Another place for the Cloud API, e.g. the sandbox.")] = None,
    error_catalogue: Annotated[str, typer.Option(help="meta or seed.")] = "meta",
) -> None:
    """Connect a WhatsApp number."""
    if graph_url is not None and web_address(graph_url) is None:
        raise Failed("--graph-url must be an http(s) address, e.g. http://127.0.0.1:8081/v25.0")
    if error_catalogue not in ("meta", "seed"):
        raise Failed("--error-catalogue is meta or seed")
    secrets = {"token": token, "app_secret": app_secret, "verify_token": verify_token}
    _checked(ConnectNumber, phone_number_id=phone_number_id, waba_id=waba_id, **secrets)
    new = admit.NewNumber(
        number=NumberId(phone_number_id),
        waba_id=waba_id,
        secrets=secrets,
        graph_url=graph_url.rstrip("/") if graph_url else None,
        error_catalogue=error_catalogue,
    )

    async def connect(world: World) -> None:
        if await admit.connect_number(await _known(org, world), new, world) is None:
            raise Failed(
                f"number {phone_number_id} is connected already: `waypost admin disconnect ORG NUMBER` frees it"
            )

    with_world(connect)
    sys.stdout.write(f"connected {phone_number_id} to {org}\n")


@app.command()
def numbers(org: Org, json: Json = False) -> None:
    """List an org's numbers."""
    found = of_known(org, lambda world: world.ledger.accounts.numbers(OrgId(org)))
    columns = ["phone_number_id", "waba_id", "catalogue", "enabled"]
    print_table(columns, [[n.id, n.waba_id, n.error_catalogue, str(n.enabled).lower()] for n in found], as_json=json)


@app.command()
def enable(
    org: Org, phone_number_id: PhoneNumberId, off: Annotated[bool, typer.Option("--off", help="Disable it.")] = False
) -> None:
    """Enable a number, or with --off disable it: its messages wait."""

    async def change(world: World) -> None:
        wanted = NumberChange(enabled=not off)
        if await admit.change_number(OrgId(org), NumberId(phone_number_id), wanted, {}, world) is None:
            raise Failed(f"org {org} has no number {phone_number_id}")

    with_world(change)
    sys.stdout.write(f"{'disabled' if off else 'enabled'} {phone_number_id}\n")


@app.command()
def disconnect(org: Org, phone_number_id: PhoneNumberId) -> None:
    """Disconnect a number."""
    found = with_world(lambda world: admit.disconnect_number(OrgId(org), NumberId(phone_number_id), world))
    if not found:
        raise Failed(f"org {org} has no number {phone_number_id}")
    sys.stdout.write(f"disconnected {phone_number_id}\n")


@app.command()
def create_key(
    org: Org,
    role: Annotated[str, typer.Option(help="admin, sender or readonly.")] = "sender",
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    json: Json = False,
) -> None:
    """Make an API key, which is shown this once."""
    if role not in ("admin", "sender", "readonly"):
        raise Failed("--role is admin, sender or readonly")
    _checked(CreateKey, role=role, label=label)

    async def create(world: World) -> admit.Issued:
        return await admit.create_key(await _known(org, world), Role(role), label, world)

    issued = with_world(create)
    _show({"key_id": issued.id, "role": role, "api_key": issued.secret}, as_json=json)


@app.command()
def keys(org: Org, json: Json = False) -> None:
    """List an org's live keys."""
    found = of_known(org, lambda world: world.ledger.accounts.keys(OrgId(org)))
    print_table(
        ["key_id", "role", "label", "created"],
        [[k.id, k.role.value, k.label, _day(k.created_at)] for k in found],
        as_json=json,
    )


@app.command()
def revoke_key(org: Org, key_id: Annotated[str, typer.Argument(help="The key's id, as `keys` lists it.")]) -> None:
    """End an API key."""
    if not with_world(lambda world: world.ledger.accounts.revoke_key(OrgId(org), KeyId(key_id), world.clock.now())):
        raise Failed(f"org {org} has no live key {key_id}")
    sys.stdout.write(f"revoked {key_id}\n")


@app.command()
def create_user(
    org: Org,
    name: Annotated[str, typer.Argument(help="The person's name.")],
    role: Annotated[str, typer.Option(help="agent or admin.")] = "agent",
    json: Json = False,
) -> None:
    """Add a person; their token is shown this once."""
    if role not in ("agent", "admin"):
        raise Failed("--role is agent or admin")
    _checked(CreateUser, name=name)

    async def create(world: World) -> admit.Issued:
        return await admit.create_user(await _known(org, world), name, Role(role), world)

    issued = with_world(create)
    _show({"user_id": issued.id, "token": issued.secret}, as_json=json)


@app.command()
def users(org: Org, json: Json = False) -> None:
    """List an org's people."""
    found = of_known(org, lambda world: world.ledger.accounts.users(OrgId(org)))
    print_table(["user_id", "name", "role"], [[u.id, u.name, u.role.value] for u in found], as_json=json)


@app.command()
def renew_token(org: Org, user_id: UserIdArgument, json: Json = False) -> None:
    """Give a person a new token; the old one ends."""
    issued = with_world(lambda world: admit.renew_token(OrgId(org), UserId(user_id), world))
    if issued is None:
        raise Failed(f"org {org} has no user {user_id}")
    _show({"user_id": user_id, "token": issued.secret}, as_json=json)


@app.command()
def remove_user(org: Org, user_id: UserIdArgument) -> None:
    """Remove a person and their token."""
    if not with_world(lambda world: world.ledger.accounts.remove_user(OrgId(org), UserId(user_id))):
        raise Failed(f"org {org} has no user {user_id}")
    sys.stdout.write(f"removed {user_id}\n")


@app.command()
def templates(
    org: Org,
    sync: Annotated[bool, typer.Option("--sync", help="Fetch them from the provider first.")] = False,
    json: Json = False,
) -> None:
    """List the templates of an org's accounts."""
    read = template_lists.sync_all if sync else template_lists.listed
    found = of_known(org, lambda world: read(OrgId(org), world))
    failures = [f"account {each.waba_id} could not be fetched: {each.failure}" for each in found if each.failure]
    if sync and failures:
        raise Failed(f"{'; '.join(failures)} (what was known before stays)")
    sys.stderr.writelines(f"waypost: {failure}\n" for failure in failures)
    rows = [
        [each.waba_id, one.name, one.language, one.status, one.category]
        for each in found
        if each.known
        for one in each.known.templates
    ]
    print_table(["waba_id", "name", "language", "status", "category"], rows, as_json=json)


@app.command()
def journal(
    org: Org, state: Annotated[str | None, typer.Option(help="pending, failed or done.")] = None, json: Json = False
) -> None:
    """List what webhooks brought and nothing has taken yet, newest first."""
    if state not in (None, "pending", "failed", "done"):
        raise Failed("--state is pending, failed or done")
    found = of_known(org, lambda world: world.ledger.journal.items(OrgId(org), state, 100))
    rows = [
        [str(e.id), e.item.kind, e.item.key[:40], e.item.state, _day(e.received_at), e.item.error or ""] for e in found
    ]
    print_table(["id", "kind", "key", "state", "received", "error"], rows, as_json=json)
