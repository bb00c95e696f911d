"""The org of local mode: created at the first start, with a number from the environment or the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from waypost.flow.accounts import access, quick_replies
from waypost.flow.world import World
from waypost.model.account import Role
from waypost.model.ids import NumberId, OrgId
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.platform.clock import Ids
from waypost.runtime.settings.definitions import Settings

ORG = OrgId("demo")
QUICK_REPLIES = {
    "hello": "Hello {name}, how can I help you?",
    "moment": "One moment please, I am looking into it.",
    "thanks": "Thank you for your patience!",
}
"""Quick replies that the page suggests to an org without any."""


class DemoAccount(msgspec.Struct, kw_only=True):
    """The keys that the demo prints, kept in its data folder (mode 600) for the next start."""

    org_id: str
    api_key: str
    user_id: str
    user_token: str
    phone_number_id: str
    waba_id: str
    access_token: str
    app_secret: str
    verify_token: str


async def demo_account(file: Path, world: World) -> DemoAccount:
    """The account in the file, or a new one."""
    known = _read(file)
    if known is not None and await world.ledger.accounts.org(OrgId(known.org_id)) is not None:
        if await access.caller(known.user_token, world) is not None:
            return known
        account = await _with_a_new_person(known, world)
    else:
        account = await _create(world)
    _write(file, account)
    return account


def _write(file: Path, account: DemoAccount) -> None:
    file.touch(mode=0o600)
    file.write_bytes(msgspec.json.encode(account))


def _read(file: Path) -> DemoAccount | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=DemoAccount)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


async def _with_a_new_person(known: DemoAccount, world: World) -> DemoAccount:
    """The demo user was removed, or their token renewed."""
    agent = await _person(OrgId(known.org_id), world)
    return replace(known, user_id=agent.id, user_token=agent.secret)


async def _person(org: OrgId, world: World) -> access.IssuedSecret:
    return await access.create_user(
        org, "Demo agent", Role.ADMIN, world
    )  # an admin, so that the whole console can be tried


async def _create(world: World) -> DemoAccount:
    issued = await access.create_org(ORG, world) or await access.create_key(ORG, Role.ADMIN, "demo", world)
    agent = await _person(ORG, world)
    for name, text in QUICK_REPLIES.items():
        await quick_replies.put(ORG, name, text, world)
    return DemoAccount(
        org_id=ORG,
        api_key=issued.secret,
        user_id=agent.id,
        user_token=agent.secret,
        phone_number_id="106540352242922",
        waba_id="102290129340398",
        access_token="sandbox_" + world.ids.token(18),
        app_secret=world.ids.token(18),
        verify_token=world.ids.token(9),
    )


async def connect_sandbox(account: DemoAccount, graph_url: str, world: World) -> None:
    """Point the demo's number at the sandbox of this run."""
    await _connect(
        OrgId(account.org_id),
        NumberId(account.phone_number_id),
        account.waba_id,
        {"token": account.access_token, "app_secret": account.app_secret, "verify_token": account.verify_token},
        graph_url,
        world,
    )


async def _connect(
    org: OrgId, number: NumberId, waba_id: str, secrets: Mapping[str, str], graph_url: str | None, world: World
) -> None:
    change = NumberChange(waba_id=waba_id, graph_url=graph_url, enabled=True)
    if await access.change_number(org, number, change, secrets, world) is None:
        new = access.NewNumber(number=number, waba_id=waba_id, secrets=secrets, graph_url=graph_url)
        await access.connect_number(org, new, world)


async def connect_from_environment(settings: Settings, environment: Mapping[str, str], world: World) -> None:
    """In local mode WHATSAPP_* in the environment connects a number to the one org."""
    number = environment.get("WHATSAPP_PHONE_NUMBER_ID")
    if not settings.local or not number:
        return
    orgs = await world.ledger.accounts.orgs()
    org = orgs[0].id if orgs else ORG
    if not orgs:
        await access.create_org(org, world)
    secret = environment.get("WHATSAPP_WEBHOOK_SECRET", "")
    secrets = {
        "token": environment.get("WHATSAPP_API_KEY", ""),
        "app_secret": secret or _unguessable(world.ids),
        "verify_token": environment.get("WHATSAPP_VERIFY_TOKEN", secret) or _unguessable(world.ids),
    }
    waba_id = environment.get("WHATSAPP_WABA_ID", number)
    await _connect(org, NumberId(number), waba_id, secrets, None, world)


def _unguessable(ids: Ids) -> str:
    """A random secret when none is given, so that no one can sign instead of everyone."""
    return ids.token(32)
