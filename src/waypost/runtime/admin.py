"""`waypost admin …`: what an operator does to the ledger itself; what is done to one org has a route, too."""

from __future__ import annotations

import getpass
import importlib
import sys
from typing import Annotated

import typer

from waypost.adapters.local.vault import AesVault
from waypost.flow import admit, reseal
from waypost.flow import templates as template_lists
from waypost.flow.world import World
from waypost.http.views import ConnectNumber, CreateKey, CreateUser
from waypost.model.account import Role
from waypost.model.audit import OPERATOR
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import minutes
from waypost.ports.accounts import NumberChange
from waypost.rules.address import web_address
from waypost.runtime import (
    admin_dossiers,
    admin_media,
    admin_org_policy,
    admin_outbox,
    admin_quick_replies,
    admin_search,
    admin_settings,
    admin_try_number,
    admin_turns,
    admin_upkeep,
)
from waypost.runtime.cli import Failed, with_world
from waypost.runtime.settings import load
from waypost.runtime.tables import Json, Org, checked, day, known_org, of_known, show, table
from waypost.runtime.wiring import open_vault

app = typer.Typer(name="admin", help="Orgs, numbers, keys, people; quotas, gates, dead letters.", no_args_is_help=True)

PhoneNumberId = Annotated[str, typer.Argument(help="Meta's id of the number.")]
UserIdArgument = Annotated[str, typer.Argument(metavar="USER_ID", help="The person's id, as `users` lists it.")]


def whole() -> typer.Typer:
    """With the commands that other modules add to this group."""
    importlib.import_module("waypost.runtime.admin_operating")
    importlib.import_module("waypost.runtime.admin_mailboxes")
    importlib.import_module("waypost.runtime.admin_journal")
    return app


admin_dossiers.register(app)
admin_media.register(app)
admin_org_policy.register(app)
admin_outbox.register(app)
admin_quick_replies.register(app)
admin_search.register(app)
admin_settings.register(app)
admin_try_number.register(app)
admin_turns.register(app)
admin_upkeep.register(app)


@app.command()
def create_org(org: Org, json: Json = False) -> None:
    """Make an org and its first admin key, which is shown this once."""
    if not admit.ORG_ID.fullmatch(org):
        raise Failed(
            "an org's id has 1 to 63 letters, digits, dots, dashes or underscores and starts with a letter or digit"
        )
    issued = with_world(lambda world: admit.create_org(OrgId(org), world, OPERATOR))
    if issued is None:
        raise Failed(
            f"there is an org {org} already: choose another id, or make it a key with `waypost admin create-key`"
        )
    show({"org_id": org, "api_key": issued.secret}, as_json=json)


@app.command()
def orgs(json: Json = False) -> None:
    """List the orgs."""
    found = with_world(lambda world: world.ledger.accounts.orgs(), existing=True)
    table(["org_id", "created"], [[o.id, day(o.created_at)] for o in found], as_json=json)


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
    checked(ConnectNumber, phone_number_id=phone_number_id, waba_id=waba_id, **secrets)
    new = admit.NewNumber(
        number=NumberId(phone_number_id),
        waba_id=waba_id,
        secrets=secrets,
        graph_url=graph_url.rstrip("/") if graph_url else None,
        error_catalogue=error_catalogue,
    )

    async def connect(world: World) -> None:
        if await admit.connect_number(await known_org(org, world), new, world, OPERATOR) is None:
            raise Failed(
                f"number {phone_number_id} is connected already: `waypost admin disconnect ORG NUMBER` frees it"
            )

    with_world(connect)
    sys.stdout.write(f"connected {phone_number_id} to {org}\n")


@app.command()
def numbers(org: Org, json: Json = False) -> None:
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
    org: Org, phone_number_id: PhoneNumberId, off: Annotated[bool, typer.Option("--off", help="Disable it.")] = False
) -> None:
    """Enable a number, or with --off disable it: its messages wait."""

    async def change(world: World) -> None:
        wanted = NumberChange(enabled=not off)
        if await admit.change_number(OrgId(org), NumberId(phone_number_id), wanted, {}, world, OPERATOR) is None:
            raise Failed(f"org {org} has no number {phone_number_id}")

    with_world(change)
    sys.stdout.write(f"{'disabled' if off else 'enabled'} {phone_number_id}\n")


@app.command()
def disconnect(org: Org, phone_number_id: PhoneNumberId) -> None:
    """Disconnect a number."""
    found = with_world(lambda world: admit.disconnect_number(OrgId(org), NumberId(phone_number_id), world, OPERATOR))
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
    checked(CreateKey, role=role, label=label)

    async def create(world: World) -> admit.Issued:
        return await admit.create_key(await known_org(org, world), Role(role), label, world, OPERATOR)

    issued = with_world(create)
    show({"key_id": issued.id, "role": role, "api_key": issued.secret}, as_json=json)


@app.command()
def keys(org: Org, json: Json = False) -> None:
    """List an org's live keys."""
    found = of_known(org, lambda world: world.ledger.accounts.keys(OrgId(org), world.clock.now()))
    table(
        ["key_id", "role", "label", "created"],
        [[k.id, k.role.value, k.label, day(k.created_at)] for k in found],
        as_json=json,
    )


@app.command()
def revoke_key(org: Org, key_id: Annotated[str, typer.Argument(help="The key's id, as `keys` lists it.")]) -> None:
    """End an API key."""

    async def revoke(world: World) -> bool:
        return await world.ledger.accounts.revoke_key(OrgId(org), KeyId(key_id), world.clock.now(), OPERATOR)

    if not with_world(revoke):
        raise Failed(f"org {org} has no live key {key_id}")
    sys.stdout.write(f"revoked {key_id}\n")


@app.command()
def rotate_key(
    org: Org,
    key_id: Annotated[str, typer.Argument(help="The key's id, as `keys` lists it.")],
    grace_minutes: Annotated[float, typer.Option(help="How long the old key still works.", min=0, max=525_600)] = 60,
    json: Json = False,
) -> None:
    """Make a new API key in place of an old one, which ends after a while."""
    grace = minutes(grace_minutes)
    issued = with_world(lambda world: admit.rotate_key(OrgId(org), KeyId(key_id), grace, world, OPERATOR))
    if issued is None:
        raise Failed(f"org {org} has no live key {key_id}")
    show({"key_id": issued.id, "api_key": issued.secret}, as_json=json)


@app.command()
def rotate_secret_key() -> None:
    """Seal every secret anew under WAYPOST_SECRET_KEY; the key before it is WAYPOST_SECRET_KEY_OLD, or asked for."""
    settings = load()
    if not settings.secret_key:
        raise Failed("WAYPOST_SECRET_KEY is not set: make a new one with `openssl rand -base64 32`")
    old = settings.secret_key_old or _asked_for("The key before it: ")
    open_vault(settings)  # says what is wrong with the new key, if anything is
    fresh, former = AesVault(settings.secret_key), AesVault(old)
    found = with_world(
        lambda world: reseal.reseal_all(world.ledger.accounts, world.ledger.mailboxes, fresh, former), existing=True
    )
    told = f"{found.resealed} sealed anew, {found.already} were already"
    if found.closed:
        raise Failed(f"{told}; neither key opens the secrets of {', '.join(found.closed)}")
    sys.stdout.write(f"{told}: WAYPOST_SECRET_KEY_OLD may go once every server runs with the new key\n")


def _asked_for(question: str) -> str:
    """From a person, or from whatever is piped in."""
    given = getpass.getpass(question) if sys.stdin.isatty() else sys.stdin.readline().strip()
    if not given:
        raise Failed("give the key before it in WAYPOST_SECRET_KEY_OLD, or on standard input")
    return given


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
    checked(CreateUser, name=name)

    async def create(world: World) -> admit.Issued:
        return await admit.create_user(await known_org(org, world), name, Role(role), world, OPERATOR)

    issued = with_world(create)
    show({"user_id": issued.id, "token": issued.secret}, as_json=json)


@app.command()
def users(org: Org, json: Json = False) -> None:
    """List an org's people."""
    found = of_known(org, lambda world: world.ledger.accounts.users(OrgId(org)))
    table(["user_id", "name", "role"], [[u.id, u.name, u.role.value] for u in found], as_json=json)


@app.command()
def renew_token(org: Org, user_id: UserIdArgument, json: Json = False) -> None:
    """Give a person a new token; the old one ends."""
    issued = with_world(lambda world: admit.renew_token(OrgId(org), UserId(user_id), world, OPERATOR))
    if issued is None:
        raise Failed(f"org {org} has no user {user_id}")
    show({"user_id": user_id, "token": issued.secret}, as_json=json)


@app.command()
def remove_user(org: Org, user_id: UserIdArgument) -> None:
    """Remove a person and their token; they leave every chat."""
    if not with_world(lambda world: admit.remove_user(OrgId(org), UserId(user_id), world, OPERATOR)):
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
    table(["waba_id", "name", "language", "status", "category"], rows, as_json=json)
