"""Who may do what: orgs, keys, people, numbers. Secrets are shown once and stored as digests or sealed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

import msgspec

from waypost.flow import turns
from waypost.flow.numbers import purpose
from waypost.flow.world import World
from waypost.model.account import ApiKey, Caller, Number, Org, Role, User
from waypost.model.audit import SYSTEM
from waypost.model.chat import MemberChange
from waypost.model.conversation import ANYBODY
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import Instant, Span
from waypost.ports.accounts import NumberChange
from waypost.ports.chats import NEWEST
from waypost.ports.hints import ACCOUNTS, OUTBOX, TOKENS

ORG_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
CHATS_AT_ONCE = 100
SECRETS = ("token", "app_secret", "verify_token")


class Issued(msgspec.Struct, frozen=True):
    """A key or token, this once in the clear."""

    id: str
    secret: str
    at: Instant

    def __repr__(self) -> str:
        return f"Issued({self.id})"


def digest(secret: str) -> bytes:
    """Our secrets are long and random, so a plain hash is enough and an index can find it."""
    return hashlib.sha256(secret.encode()).digest()


async def caller(secret: str, world: World) -> Caller | None:
    return await world.ledger.accounts.caller(digest(secret), world.clock.now())


async def create_org(org: OrgId, world: World, actor: str = SYSTEM) -> Issued | None:
    """A new org with its first admin key; None when the id is taken."""
    if not await world.ledger.accounts.create_org(Org(org, world.clock.now()), world.tuning.quota):
        return None
    return await create_key(org, Role.ADMIN, "first key", world, actor)


async def create_key(org: OrgId, role: Role, label: str, world: World, actor: str = SYSTEM) -> Issued:
    key_id, secret = KeyId("key_" + world.ids.token(9)), "wpk_" + world.ids.token(32)
    key = ApiKey(id=key_id, org_id=org, role=role, label=label, created_at=world.clock.now())
    await world.ledger.accounts.add_key(key, digest(secret), actor)
    return Issued(key_id, secret, key.created_at)


async def rotate_key(org: OrgId, key: KeyId, grace: Span, world: World, actor: str = SYSTEM) -> Issued | None:
    """A new key of the same role and label; the old one ends after the grace. None when the org has no such key."""
    now = world.clock.now()
    old = next((each for each in await world.ledger.accounts.keys(org, now) if each.id == key), None)
    if old is None:
        return None
    issued = await create_key(org, old.role, old.label, world, actor)
    await world.ledger.accounts.revoke_key(org, key, Instant(now + grace), actor)
    return issued


async def create_user(org: OrgId, name: str, role: Role, world: World, actor: str = SYSTEM) -> Issued:
    user_id, secret = UserId("user_" + world.ids.token(9)), "wpu_" + world.ids.token(32)
    user = User(id=user_id, org_id=org, name=name, role=role, created_at=world.clock.now())
    await world.ledger.accounts.add_user(user, digest(secret), actor)
    return Issued(user_id, secret, user.created_at)


async def renew_token(org: OrgId, user: UserId, world: World, actor: str = SYSTEM) -> Issued | None:
    secret = "wpu_" + world.ids.token(32)
    found = await world.ledger.accounts.renew_token(org, user, digest(secret), actor)
    world.hints.give([f"{TOKENS}:{user}"])
    return Issued(user, secret, world.clock.now()) if found else None


async def remove_user(org: OrgId, user: UserId, world: World, actor: str = SYSTEM) -> bool:
    """Whatever they are connected with ends, too, they leave every chat, and whoever they answered waits for a person;
    again, whichever was left over."""
    found = await world.ledger.accounts.remove_user(org, user, actor)
    world.hints.give([f"{TOKENS}:{user}"])
    await _leave_chats(org, user, world)
    await _leave_floors(org, user, actor, world)
    return found


async def _leave_chats(org: OrgId, user: UserId, world: World) -> None:
    """Else nothing there would ever count as read by all, and each post would go to a feed that nobody reads."""
    chats, gone = world.ledger.chats, MemberChange(remove=(user,))
    while theirs := [chat for chat in await chats.of_user(user, None, NEWEST, CHATS_AT_ONCE) if chat.org_id == org]:
        for chat in theirs:
            await chats.change_members(org, chat.id, gone, user, world.clock.now())


async def _leave_floors(org: OrgId, user: UserId, actor: str, world: World) -> None:
    """Else their customers would wait for somebody who never comes."""
    while theirs := await world.ledger.chats.of_floor(org, user, NEWEST, CHATS_AT_ONCE):
        for talk in theirs:
            await turns.put_floor(org, talk.id, ANYBODY, actor, world)


class NewNumber(msgspec.Struct, frozen=True, kw_only=True):
    number: NumberId
    waba_id: str
    secrets: Mapping[str, str]
    """`token`, `app_secret` and `verify_token`."""
    graph_url: str | None = None
    error_catalogue: str = "meta"
    enabled: bool = True
    pace: int | None = None
    """Messages per second; None takes the deployment's own."""
    tier: int | None = None


async def connect_number(org: OrgId, new: NewNumber, world: World, actor: str = SYSTEM) -> Number | None:
    """None when the number is connected already, here or elsewhere."""
    now = world.clock.now()
    sealed = {field: world.vault.seal(new.secrets[field], purpose(org, new.number, field)) for field in SECRETS}
    number = Number(
        id=new.number,
        org_id=org,
        waba_id=new.waba_id,
        sealed_token=sealed["token"],
        sealed_app_secret=sealed["app_secret"],
        sealed_verify_token=sealed["verify_token"],
        graph_url=new.graph_url,
        error_catalogue=new.error_catalogue,
        enabled=new.enabled,
        created_at=now,
        updated_at=now,
        pace=new.pace or world.tuning.pace,
        tier=new.tier,
    )
    connected = await world.ledger.accounts.connect(number, actor)
    _tell(world)
    return number if connected else None


async def change_number(
    org: OrgId,
    number: NumberId,
    change: NumberChange,
    secrets: Mapping[str, str],
    world: World,
    actor: str = SYSTEM,
) -> Number | None:
    sealed = {
        f"sealed_{field}": world.vault.seal(secret, purpose(org, number, field)) for field, secret in secrets.items()
    }
    whole = msgspec.structs.replace(change, **sealed)
    changed = await world.ledger.accounts.change_number(org, number, whole, world.clock.now(), actor)
    _tell(world)
    return changed


async def disconnect_number(org: OrgId, number: NumberId, world: World, actor: str = SYSTEM) -> bool:
    found = await world.ledger.accounts.disconnect(org, number, actor)
    _tell(world)
    return found


def _tell(world: World) -> None:
    world.numbers.forget()
    world.hints.give([ACCOUNTS, OUTBOX])
