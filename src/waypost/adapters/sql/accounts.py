"""Orgs, keys, people and numbers in SQL: rare writes, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import rows
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.model.account import ApiKey, Caller, Number, Org, User
from waypost.model.gate import Closing, GateKind
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import Instant
from waypost.ports.accounts import NumberChange
from waypost.rules.gates import NUMBER_DISABLED, closed, of_account, of_number
from waypost.rules.pacing import quota_of


def _one(statement: str, *arguments: object) -> Plan[list[Row]]:
    return (yield Once(statement, arguments))


class SqlAccounts:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def _write(self, statement: str, *arguments: object) -> list[Row]:
        return await self._engine.transact(_one(statement, *arguments))

    async def create_org(self, org: Org, quota: int | None) -> bool:
        return await self._engine.transact(_create_org(org, quota))

    async def org(self, org: OrgId) -> Org | None:
        found = await self._engine.read("org_get", org)
        return rows.org(found[0]) if found else None

    async def orgs(self) -> Sequence[Org]:
        return [rows.org(row) for row in await self._engine.read("orgs_all")]

    async def add_key(self, key: ApiKey, digest: bytes) -> None:
        await self._write("key_insert", key.id, key.org_id, digest, key.role.value, key.label, key.created_at)

    async def keys(self, org: OrgId, now: Instant) -> Sequence[ApiKey]:
        return [rows.api_key(row) for row in await self._engine.read("keys_of", org, now)]

    async def revoke_key(self, org: OrgId, key: KeyId, at: Instant) -> bool:
        return bool(await self._write("key_revoke", org, key, at))

    async def add_user(self, user: User, digest: bytes) -> None:
        await self._write("person_insert", user.id, user.org_id, digest, user.name, user.role.value, user.created_at)

    async def users(self, org: OrgId) -> Sequence[User]:
        return [rows.user(row) for row in await self._engine.read("people_of", org)]

    async def renew_token(self, org: OrgId, user: UserId, digest: bytes) -> bool:
        return bool(await self._write("person_token", org, user, digest))

    async def remove_user(self, org: OrgId, user: UserId) -> bool:
        return bool(await self._write("person_delete", org, user))

    async def caller(self, digest: bytes, now: Instant) -> Caller | None:
        found = await self._engine.read("caller_find", digest, now)
        return rows.caller(found[0]) if found else None

    async def connect(self, number: Number) -> bool:
        return await self._engine.transact(_connect(number))

    async def numbers(self, org: OrgId | None = None) -> Sequence[Number]:
        found = await (self._engine.read("numbers_all") if org is None else self._engine.read("numbers_of", org))
        return [rows.number(row) for row in found]

    async def change_number(self, org: OrgId, number: NumberId, change: NumberChange, now: Instant) -> Number | None:
        return await self._engine.transact(_change(org, number, change, now))

    async def reseal(self, before: Number, after: Number) -> bool:
        sealed = [(n.sealed_token, n.sealed_app_secret, n.sealed_verify_token) for n in (after, before)]
        return bool(await self._write("number_reseal", before.org_id, before.id, *sealed[0], *sealed[1]))

    async def disconnect(self, org: OrgId, number: NumberId) -> bool:
        return await self._engine.transact(_disconnect(org, number))


def _disconnect(org: OrgId, number: NumberId) -> Plan[bool]:
    found = yield Once("number_delete", (org, number))
    if found:
        yield Once("failover_ended", (number,))
        yield Once("sender_forgotten", (of_number(number), org))  # what waited is to end, not to wait for ever
    return bool(found)


def _create_org(org: Org, quota: int | None) -> Plan[bool]:
    created = yield Once("org_insert", (org.id, org.created_at))
    if created and quota is not None:
        yield Once("permit_ensure", (quota_of(org.id), quota))
    return bool(created)


def _connect(number: Number) -> Plan[bool]:
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
    return True


def _change(org: OrgId, number: NumberId, change: NumberChange, now: Instant) -> Plan[Number | None]:
    found = yield Once(
        "number_change",
        (
            org,
            number,
            change.waba_id,
            change.sealed_token,
            change.sealed_app_secret,
            change.sealed_verify_token,
            change.graph_url,
            change.error_catalogue,
            change.enabled,
            now,
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
    if change.sealed_token is not None:  # whatever the old token could not do, the new one may
        yield from _release(changed)
    if change.enabled is not None:
        yield from _switch(changed, enabled=change.enabled, now=now)
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
    yield from each("gate_put", [rows.gate_row(closed(None, closing, now))])
