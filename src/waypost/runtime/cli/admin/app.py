"""`waypost admin …`: the operator's commands on the Ledger; those on one org have a route, too."""

from __future__ import annotations

import getpass
import importlib
import sys
from typing import Annotated

import typer

from waypost.adapters.local.vault import AesVault
from waypost.flow.accounts import access, reseal
from waypost.flow.conversations.turns import remove_user as remove
from waypost.flow.sending import templates as template_lists
from waypost.flow.world import World
from waypost.http.sending.views import ConnectNumber, CreateKey, CreateUser
from waypost.model.account import Role
from waypost.model.audit import OPERATOR
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import minutes
from waypost.ports.accounts.accounts import NumberChange
from waypost.rules.content.address import web_address
from waypost.runtime.cli.admin import (
    check_number,
    dossiers,
    maintenance,
    media,
    org_policy,
    outbox,
    quick_replies,
    search,
    settings,
    turns,
)
from waypost.runtime.cli.app import CommandFailed, with_world
from waypost.runtime.cli.tables import JsonOption, OrgArgument, checked, day, known_org, of_known, show, table
from waypost.runtime.settings.definitions import load
from waypost.runtime.wiring.wiring import open_vault

app = typer.Typer(name="admin", help="Orgs, numbers, keys, users; quotas, gates, dead letters.", no_args_is_help=True)

PhoneNumberIdArgument = Annotated[str, typer.Argument(help="The phone number id at Meta.")]
UserIdArgument = Annotated[str, typer.Argument(metavar="USER_ID", help="The user's id, as `users` lists it.")]


def whole() -> typer.Typer:
    """The group with the commands of the other modules."""
    importlib.import_module("waypost.runtime.cli.admin.limits")
    importlib.import_module("waypost.runtime.cli.admin.mailboxes")
    importlib.import_module("waypost.runtime.cli.admin.journal")
    return app


dossiers.register(app)
media.register(app)
org_policy.register(app)
outbox.register(app)
quick_replies.register(app)
search.register(app)
settings.register(app)
check_number.register(app)
turns.register(app)
maintenance.register(app)


@app.command()
def create_org(org: OrgArgument, json: JsonOption = False) -> None:
    """Create an org and its first admin key, which is shown only once."""
    if not access.ORG_ID.fullmatch(org):
        raise CommandFailed(
            "an org's id has 1 to 63 letters, digits, dots, dashes or underscores and starts with a letter or digit"
        )
    issued = with_world(lambda world: access.create_org(OrgId(org), world, OPERATOR))
    if issued is None:
        raise CommandFailed(
            f"there is an org {org} already: choose another id, or create a key for it with `waypost admin create-key`"
        )
    show({"org_id": org, "api_key": issued.secret}, as_json=json)


@app.command()
def orgs(json: JsonOption = False) -> None:
    """List the orgs."""
    found = with_world(lambda world: world.ledger.accounts.orgs(), existing=True)
    table(["org_id", "created"], [[o.id, day(o.created_at)] for o in found], as_json=json)


@app.command()
def connect_whatsapp(  # one parameter per option of the contract
    org: OrgArgument,
    phone_number_id: Annotated[str, typer.Option(help="The phone number id at Meta.")],
    waba_id: Annotated[str, typer.Option(help="The business account's id.")],
    token: Annotated[str, typer.Option(help="The access token.")],
    app_secret: Annotated[str, typer.Option(help="The app secret, which signs webhooks.")],
    verify_token: Annotated[str, typer.Option(help="The verify token that you entered for the webhook at Meta.")],
    graph_url: Annotated[str | None, typer.Option(help="Another base URL of the Cloud API, e.g. the sandbox.")] = None,
    error_catalogue: Annotated[str, typer.Option(help="meta or seed.")] = "meta",
) -> None:
    """Connect a WhatsApp number."""
    if graph_url is not None and web_address(graph_url) is None:
        raise CommandFailed("--graph-url must be an http(s) address, e.g. http://127.0.0.1:8081/v25.0")
    if error_catalogue not in ("meta", "seed"):
        raise CommandFailed("--error-catalogue is meta or seed")
    secrets = {"token": token, "app_secret": app_secret, "verify_token": verify_token}
    checked(ConnectNumber, phone_number_id=phone_number_id, waba_id=waba_id, **secrets)
    new = access.NewNumber(
        number=NumberId(phone_number_id),
        waba_id=waba_id,
        secrets=secrets,
        graph_url=graph_url.rstrip("/") if graph_url else None,
        error_catalogue=error_catalogue,
    )

    async def connect(world: World) -> None:
        if await access.connect_number(await known_org(org, world), new, world, OPERATOR) is None:
            raise CommandFailed(
                f"number {phone_number_id} is connected already: run `waypost admin disconnect ORG NUMBER` first"
            )

    with_world(connect)
    sys.stdout.write(f"connected {phone_number_id} to {org}\n")


@app.command()
def numbers(org: OrgArgument, json: JsonOption = False) -> None:
    """List an org's numbers."""
    found = of_known(org, lambda world: world.ledger.accounts.numbers(OrgId(org)))
    columns = ["phone_number_id", "waba_id", "catalogue", "enabled", "pace", "tier"]
    rows = [
        [
            n.id,
            n.waba_id,
            n.error_catalogue,
            str(n.enabled).lower(),
            str(n.pace),
            "none" if n.tier is None else str(n.tier),
        ]
        for n in found
    ]
    table(columns, rows, as_json=json)


@app.command()
def enable(
    org: OrgArgument,
    phone_number_id: PhoneNumberIdArgument,
    off: Annotated[bool, typer.Option("--off", help="Disable it.")] = False,
) -> None:
    """Enable a number; with --off disable it, so that its messages wait."""

    async def change(world: World) -> None:
        wanted = NumberChange(enabled=not off)
        if await access.change_number(OrgId(org), NumberId(phone_number_id), wanted, {}, world, OPERATOR) is None:
            raise CommandFailed(f"org {org} has no number {phone_number_id}")

    with_world(change)
    sys.stdout.write(f"{'disabled' if off else 'enabled'} {phone_number_id}\n")


@app.command()
def disconnect(org: OrgArgument, phone_number_id: PhoneNumberIdArgument) -> None:
    """Disconnect a number."""
    found = with_world(lambda world: access.disconnect_number(OrgId(org), NumberId(phone_number_id), world, OPERATOR))
    if not found:
        raise CommandFailed(f"org {org} has no number {phone_number_id}")
    sys.stdout.write(f"disconnected {phone_number_id}\n")


@app.command()
def create_key(
    org: OrgArgument,
    role: Annotated[str, typer.Option(help="admin, sender or readonly.")] = "sender",
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    json: JsonOption = False,
) -> None:
    """Create an API key, which is shown only once."""
    if role not in ("admin", "sender", "readonly"):
        raise CommandFailed("--role is admin, sender or readonly")
    checked(CreateKey, role=role, label=label)

    async def create(world: World) -> access.IssuedSecret:
        return await access.create_key(await known_org(org, world), Role(role), label, world, OPERATOR)

    issued = with_world(create)
    show({"key_id": issued.id, "role": role, "api_key": issued.secret}, as_json=json)


@app.command()
def keys(org: OrgArgument, json: JsonOption = False) -> None:
    """List an org's live keys."""
    found = of_known(org, lambda world: world.ledger.accounts.keys(OrgId(org), world.clock.now()))
    table(
        ["key_id", "role", "label", "created"],
        [[k.id, k.role.value, k.label, day(k.created_at)] for k in found],
        as_json=json,
    )


@app.command()
def revoke_key(
    org: OrgArgument, key_id: Annotated[str, typer.Argument(help="The key's id, as `keys` lists it.")]
) -> None:
    """Revoke an API key."""

    async def revoke(world: World) -> bool:
        return await world.ledger.accounts.revoke_key(OrgId(org), KeyId(key_id), world.clock.now(), OPERATOR)

    if not with_world(revoke):
        raise CommandFailed(f"org {org} has no live key {key_id}")
    sys.stdout.write(f"revoked {key_id}\n")


@app.command()
def rotate_key(
    org: OrgArgument,
    key_id: Annotated[str, typer.Argument(help="The key's id, as `keys` lists it.")],
    grace_minutes: Annotated[float, typer.Option(help="How long the old key still works.", min=0, max=525_600)] = 60,
    json: JsonOption = False,
) -> None:
    """Replace an API key by a new one; the old one ends after the grace period."""
    grace = minutes(grace_minutes)
    issued = with_world(lambda world: access.rotate_key(OrgId(org), KeyId(key_id), grace, world, OPERATOR))
    if issued is None:
        raise CommandFailed(f"org {org} has no live key {key_id}")
    show({"key_id": issued.id, "api_key": issued.secret}, as_json=json)


@app.command()
def rotate_secret_key() -> None:
    """Re-encrypt every secret with WAYPOST_SECRET_KEY; asks for the old key unless WAYPOST_SECRET_KEY_OLD is set."""
    settings = load()
    if not settings.secret_key:
        raise CommandFailed("WAYPOST_SECRET_KEY is not set: create a new one with `openssl rand -base64 32`")
    old = settings.secret_key_old or _asked_for("The previous key: ")
    open_vault(settings)  # raises if the new key is invalid
    fresh, former = AesVault(settings.secret_key), AesVault(old)
    found = with_world(
        lambda world: reseal.reseal_all(world.ledger.accounts, world.ledger.mailboxes, fresh, former), existing=True
    )
    done = f"{found.resealed} re-encrypted, {found.already} were already"
    if found.closed:
        raise CommandFailed(f"{done}; neither key decrypts the secrets of {', '.join(found.closed)}")
    sys.stdout.write(f"{done}: remove WAYPOST_SECRET_KEY_OLD once every server runs with the new key\n")


def _asked_for(question: str) -> str:
    """From a prompt, or from standard input."""
    given = getpass.getpass(question) if sys.stdin.isatty() else sys.stdin.readline().strip()
    if not given:
        raise CommandFailed("set the previous key in WAYPOST_SECRET_KEY_OLD, or pass it on standard input")
    return given


@app.command()
def create_user(
    org: OrgArgument,
    name: Annotated[str, typer.Argument(help="The user's name.")],
    role: Annotated[str, typer.Option(help="agent or admin.")] = "agent",
    json: JsonOption = False,
) -> None:
    """Add a user; the token is shown only once."""
    if role not in ("agent", "admin"):
        raise CommandFailed("--role is agent or admin")
    checked(CreateUser, name=name)

    async def create(world: World) -> access.IssuedSecret:
        return await access.create_user(await known_org(org, world), name, Role(role), world, OPERATOR)

    issued = with_world(create)
    show({"user_id": issued.id, "token": issued.secret}, as_json=json)


@app.command()
def users(org: OrgArgument, json: JsonOption = False) -> None:
    """List an org's users."""
    found = of_known(org, lambda world: world.ledger.accounts.users(OrgId(org)))
    table(["user_id", "name", "role"], [[u.id, u.name, u.role.value] for u in found], as_json=json)


@app.command()
def renew_token(org: OrgArgument, user_id: UserIdArgument, json: JsonOption = False) -> None:
    """Renew a user's token; the old one stops working."""
    issued = with_world(lambda world: access.renew_token(OrgId(org), UserId(user_id), world, OPERATOR))
    if issued is None:
        raise CommandFailed(f"org {org} has no user {user_id}")
    show({"user_id": user_id, "token": issued.secret}, as_json=json)


@app.command()
def remove_user(org: OrgArgument, user_id: UserIdArgument) -> None:
    """Remove a user and their token; they leave every chat."""
    if not with_world(lambda world: remove(OrgId(org), UserId(user_id), world, OPERATOR)):
        raise CommandFailed(f"org {org} has no user {user_id}")
    sys.stdout.write(f"removed {user_id}\n")


@app.command()
def templates(
    org: OrgArgument,
    sync: Annotated[bool, typer.Option("--sync", help="Fetch them from the provider first.")] = False,
    json: JsonOption = False,
) -> None:
    """List the templates of an org's accounts."""
    read = template_lists.sync_all if sync else template_lists.listed
    found = of_known(org, lambda world: read(OrgId(org), world))
    failures = [f"account {each.waba_id} could not be fetched: {each.failure}" for each in found if each.failure]
    if sync and failures:
        raise CommandFailed(f"{'; '.join(failures)} (the old list stays)")
    sys.stderr.writelines(f"waypost: {failure}\n" for failure in failures)
    rows = [
        [each.waba_id, one.name, one.language, one.status, one.category]
        for each in found
        if each.known
        for one in each.known.templates
    ]
    table(["waba_id", "name", "language", "status", "category"], rows, as_json=json)
