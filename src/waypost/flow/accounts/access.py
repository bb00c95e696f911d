"""Creates orgs, keys, users and numbers, and authenticates callers; secrets are stored hashed or encrypted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import msgspec

from waypost.flow.number_cache import purpose
from waypost.flow.world import World
from waypost.model.account import ApiKey, Caller, Number, Org, Role, User
from waypost.model.audit import SYSTEM
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import Instant, Span
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.platform.hints import ACCOUNTS, OUTBOX, TOKENS

ORG_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
SECRETS = ("token", "app_secret", "verify_token")


class IssuedSecret(msgspec.Struct, frozen=True):
    """A new key or token in plain text, shown once."""

    id: str
    secret: str
    at: Instant

    def __repr__(self) -> str:
        return f"IssuedSecret({self.id})"


def digest(secret: str) -> bytes:
    """Our secrets are long and random, so a plain hash is enough, and it can be looked up by index."""
    return hashlib.sha256(secret.encode()).digest()


async def caller(secret: str, world: World) -> Caller | None:
    return await world.ledger.accounts.caller(digest(secret), world.clock.now())


async def create_org(org: OrgId, world: World, actor: str = SYSTEM) -> IssuedSecret | None:
    """A new org with its first admin key; None if the id is taken."""
    if not await world.ledger.accounts.create_org(Org(org, world.clock.now()), world.tuning.quota):
        return None
    return await create_key(org, Role.ADMIN, "first key", world, actor)


async def create_key(org: OrgId, role: Role, label: str, world: World, actor: str = SYSTEM) -> IssuedSecret:
    key_id, secret = KeyId("key_" + world.ids.token(9)), "wpk_" + world.ids.token(32)
    key = ApiKey(id=key_id, org_id=org, role=role, label=label, created_at=world.clock.now())
    await world.ledger.accounts.add_key(key, digest(secret), actor)
    return IssuedSecret(key_id, secret, key.created_at)


async def rotate_key(org: OrgId, key: KeyId, grace: Span, world: World, actor: str = SYSTEM) -> IssuedSecret | None:
    """A new key of the same role and label; the old one expires after the grace. None if the org has no such key."""
    now = world.clock.now()
    old = next((each for each in await world.ledger.accounts.keys(org, now) if each.id == key), None)
    if old is None:
        return None
    issued = await create_key(org, old.role, old.label, world, actor)
    await world.ledger.accounts.revoke_key(org, key, Instant(now + grace), actor)
    return issued


async def create_user(org: OrgId, name: str, role: Role, world: World, actor: str = SYSTEM) -> IssuedSecret:
    user_id, secret = UserId("user_" + world.ids.token(9)), "wpu_" + world.ids.token(32)
    user = User(id=user_id, org_id=org, name=name, role=role, created_at=world.clock.now())
    await world.ledger.accounts.add_user(user, digest(secret), actor)
    return IssuedSecret(user_id, secret, user.created_at)


async def renew_token(org: OrgId, user: UserId, world: World, actor: str = SYSTEM) -> IssuedSecret | None:
    secret = "wpu_" + world.ids.token(32)
    found = await world.ledger.accounts.renew_token(org, user, digest(secret), actor)
    world.hints.give([f"{TOKENS}:{user}"])
    return IssuedSecret(user, secret, world.clock.now()) if found else None


class NewNumber(msgspec.Struct, frozen=True, kw_only=True):
    number: NumberId
    waba_id: str
    secrets: Mapping[str, str]
    """`token`, `app_secret` and `verify_token`."""
    graph_url: str | None = None
    error_catalogue: str = "meta"
    enabled: bool = True
    pace: int | None = None
    """Messages per second; None means the server's default."""
    tier: int | None = None


async def connect_number(org: OrgId, new: NewNumber, world: World, actor: str = SYSTEM) -> Number | None:
    """None if an org has already connected the number."""
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
    _publish_change(world)
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
    _publish_change(world)
    return changed


async def disconnect_number(org: OrgId, number: NumberId, world: World, actor: str = SYSTEM) -> bool:
    found = await world.ledger.accounts.disconnect(org, number, actor)
    _publish_change(world)
    return found


def _publish_change(world: World) -> None:
    world.numbers.invalidate()
    world.hints.give([ACCOUNTS, OUTBOX])


async def live_keys(org: OrgId, world: World) -> Sequence[ApiKey]:
    """The org's keys that have not ended, oldest first."""
    return await world.ledger.accounts.keys(org, world.clock.now())


async def revoke_key(org: OrgId, key: KeyId, world: World, actor: str = SYSTEM) -> bool:
    """End a key now; False when the org has no such live key."""
    return await world.ledger.accounts.revoke_key(org, key, world.clock.now(), actor)


async def users(org: OrgId, world: World) -> Sequence[User]:
    """The org's users, oldest first."""
    return await world.ledger.accounts.users(org)


async def token_digests(users: Sequence[UserId], world: World) -> Mapping[UserId, bytes]:
    """The digest of each user's current token; removed users are left out."""
    return await world.ledger.accounts.tokens(users)


async def numbers(org: OrgId, world: World) -> Sequence[Number]:
    """The org's connected numbers, oldest first."""
    return await world.ledger.accounts.numbers(org)
