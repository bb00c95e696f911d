"""Orgs, keys, people and numbers in SQL: rare writes, each a transaction with the audit entry it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waypost.adapters.sql import gate_rows, pushing, rows
from waypost.adapters.sql.audit import Deed
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.model.account import ApiKey, Caller, Number, Org, User
from waypost.model.audit import SYSTEM, Action, Entity
from waypost.model.gate import Closing, GateKind
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import Instant, to_datetime
from waypost.ports.accounts import NumberChange
from waypost.rules.gates import NUMBER_DISABLED, closed, of_account, of_number
from waypost.rules.pacing import quota_of


def _one(statement: str, *arguments: object) -> Plan[list[Row]]:
    return (yield Once(statement, arguments))


def _noted(change: Once, entry: Plan[None]) -> Plan[bool]:
    """A change with its entry; without one when it found nothing to change."""
    found = yield change
    if found:
        yield from entry
    return bool(found)


class SqlAccounts:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def _write(self, statement: str, *arguments: object) -> list[Row]:
        return await self._engine.transact(_one(statement, *arguments))

    def _deed(self, org: OrgId, actor: str) -> Deed:
        return Deed(org, actor, self._engine.now())

    async def create_org(self, org: Org, quota: int | None) -> bool:
        return await self._engine.transact(_create_org(org, quota))

    async def org(self, org: OrgId) -> Org | None:
        found = await self._engine.read("org_get", org)
        return rows.org(found[0]) if found else None

    async def orgs(self) -> Sequence[Org]:
        return [rows.org(row) for row in await self._engine.read("orgs_all")]

    async def add_key(self, key: ApiKey, digest: bytes, actor: str = SYSTEM) -> None:
        arguments = (key.id, key.org_id, digest, key.role.value, key.label, key.created_at)
        deed = Deed(key.org_id, actor, key.created_at)
        entry = deed.written(Action.KEY_CREATED, Entity.KEY, key.id, f"role={key.role.value}")
        await self._engine.transact(_noted(Once("key_insert", arguments), entry))

    async def keys(self, org: OrgId, now: Instant) -> Sequence[ApiKey]:
        return [rows.api_key(row) for row in await self._engine.read("keys_of", org, now)]

    async def revoke_key(self, org: OrgId, key: KeyId, at: Instant, actor: str = SYSTEM) -> bool:
        what = f"ends {to_datetime(at):%Y-%m-%dT%H:%M:%SZ}"
        entry = self._deed(org, actor).written(Action.KEY_REVOKED, Entity.KEY, key, what)
        return await self._engine.transact(_noted(Once("key_revoke", (org, key, at)), entry))

    async def add_user(self, user: User, digest: bytes, actor: str = SYSTEM) -> None:
        arguments = (user.id, user.org_id, digest, user.name, user.role.value, user.created_at)
        deed = Deed(user.org_id, actor, user.created_at)
        entry = deed.written(Action.USER_CREATED, Entity.USER, user.id, f"role={user.role.value}")
        await self._engine.transact(_noted(Once("person_insert", arguments), entry))

    async def users(self, org: OrgId) -> Sequence[User]:
        return [rows.user(row) for row in await self._engine.read("people_of", org)]

    async def renew_token(self, org: OrgId, user: UserId, digest: bytes, actor: str = SYSTEM) -> bool:
        entry = self._deed(org, actor).written(Action.USER_TOKEN_RENEWED, Entity.USER, user, "the old token ended")
        return await self._engine.transact(_noted(Once("person_token", (org, user, digest)), entry))

    async def remove_user(self, org: OrgId, user: UserId, actor: str = SYSTEM) -> bool:
        entry = self._deed(org, actor).written(Action.USER_REMOVED, Entity.USER, user, "with their token")
        return await self._engine.transact(_remove_user(org, user, entry))

    async def caller(self, digest: bytes, now: Instant) -> Caller | None:
        found = await self._engine.read("caller_find", digest, now)
        return rows.caller(found[0]) if found else None

    async def tokens(self, users: Sequence[UserId]) -> Mapping[UserId, bytes]:
        found = await self._engine.read("person_tokens", sorted(set(users))) if users else []
        return {row[0]: bytes(row[1]) for row in found}

    async def connect(self, number: Number, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_connect(number, Deed(number.org_id, actor, number.created_at)))

    async def numbers(self, org: OrgId | None = None) -> Sequence[Number]:
        found = await (self._engine.read("numbers_all") if org is None else self._engine.read("numbers_of", org))
        return [rows.number(row) for row in found]

    async def change_number(
        self, org: OrgId, number: NumberId, change: NumberChange, now: Instant, actor: str = SYSTEM
    ) -> Number | None:
        return await self._engine.transact(_change(number, change, Deed(org, actor, now)))

    async def reseal(self, before: Number, after: Number) -> bool:
        sealed = [(n.sealed_token, n.sealed_app_secret, n.sealed_verify_token) for n in (after, before)]
        return bool(await self._write("number_reseal", before.org_id, before.id, *sealed[0], *sealed[1]))

    async def disconnect(self, org: OrgId, number: NumberId, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_disconnect(number, self._deed(org, actor)))

    async def tried(self, org: OrgId) -> Mapping[NumberId, Instant]:
        return {NumberId(row[0]): Instant(row[1]) for row in await self._engine.read("numbers_tried", org)}

    async def answered(self, number: Number, now: Instant) -> None:
        await self._write("number_answered", number.id, number.updated_at, now)


def _remove_user(org: OrgId, user: UserId, entry: Plan[None]) -> Plan[bool]:
    found = yield Once("person_delete", (org, user))
    if found:
        yield from pushing.gone(user, org)
        yield from entry
    return bool(found)


def _disconnect(number: NumberId, deed: Deed) -> Plan[bool]:
    found = yield Once("number_delete", (deed.org, number))
    if found:
        yield Once("failover_ended", (number,))
        yield Once("sign_end", (of_number(number),))
        yield Once("sender_forgotten", (of_number(number), deed.org))  # what waited is to end, not to wait for ever
        yield from deed.written(Action.NUMBER_DISCONNECTED, Entity.NUMBER, number, "number disconnected")
    return bool(found)


def _create_org(org: Org, quota: int | None) -> Plan[bool]:
    created = yield Once("org_insert", (org.id, org.created_at))
    if created and quota is not None:
        yield Once("permit_ensure", (quota_of(org.id), quota))
    return bool(created)


def _connect(number: Number, deed: Deed) -> Plan[bool]:
    stored = yield Once(
        "number_insert",
        (
            number.id,
            number.org_id,
            number.waba_id,
            number.sealed_token,
            number.sealed_app_secret,
            number.sealed_verify_token,
            number.graph_url,
            number.error_catalogue,
            number.enabled,
            number.created_at,
            number.updated_at,
            number.pace,
            number.tier,
            number.failover,
        ),
    )
    if not stored:
        return False
    yield Once("permit_ensure", (f"pace:{number.id}", None))
    yield from _tier(number)
    yield from _release(number)  # whatever stopped it when it was connected before
    yield from _switch(number, enabled=number.enabled, now=number.created_at)
    yield from deed.written(Action.NUMBER_CONNECTED, Entity.NUMBER, number.id, "number connected")
    return True


def _change(number: NumberId, change: NumberChange, deed: Deed) -> Plan[Number | None]:
    found = yield Once(
        "number_change",
        (
            deed.org,
            number,
            change.waba_id,
            change.sealed_token,
            change.sealed_app_secret,
            change.sealed_verify_token,
            change.graph_url,
            change.error_catalogue,
            change.enabled,
            deed.at,
            change.pace,
            change.tier,
            change.failover,
            change.no_failover,
        ),
    )
    if not found:
        return None
    changed = rows.number(found[0])
    yield from _tier(changed)
    if change.sealed_token is not None or change.graph_url is not None:  # nobody has asked there with it yet
        yield Once("sign_end", (of_number(number),))
    if change.sealed_token is not None:  # whatever the old token could not do, the new one may
        yield from _release(changed)
    if change.enabled is not None:
        yield from _switch(changed, enabled=change.enabled, now=deed.at)
    what = f"changed: {', '.join(change.names())}"
    yield from deed.written(Action.NUMBER_CHANGED, Entity.NUMBER, number, what)
    return changed


def _release(number: Number) -> Plan[None]:
    yield Once("number_released", (of_number(number.id), of_account(number.waba_id), number.org_id))


def _tier(number: Number) -> Plan[None]:
    if number.tier is not None:
        yield Once("quota_limit", (f"tier:{number.id}", number.tier))


def _switch(number: Number, *, enabled: bool, now: Instant) -> Plan[None]:
    """A disabled number is a closed gate like any other."""
    if enabled:
        yield Once("number_enabled", (of_number(number.id), number.org_id))
        return
    closing = Closing(
        org_id=number.org_id,
        name=of_number(number.id),
        kind=GateKind.HOLD,
        code=NUMBER_DISABLED,
        reason="the number is disabled",
    )
    yield from each("gate_put", [gate_rows.gate_row(closed(None, closing, now))])
