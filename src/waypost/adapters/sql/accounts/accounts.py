"""Orgs, keys, users and numbers in SQL: rare writes, each in a transaction with its audit entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waypost.adapters.sql.conversations import notifications
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.adapters.sql.rows import gate_rows, message_rows
from waypost.adapters.sql.rows.audit import AuditContext
from waypost.model.account import ApiKey, Caller, Number, Org, User
from waypost.model.audit import SYSTEM, AuditAction, Entity
from waypost.model.gate import GateClosing, GateKind
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import Instant, to_datetime
from waypost.ports.accounts.accounts import NumberChange
from waypost.rules.limits.gates import NUMBER_DISABLED, closed, of_account, of_number
from waypost.rules.limits.send_pace import quota_of


def _one(statement: str, *arguments: object) -> Plan[list[Row]]:
    return (yield Once(statement, arguments))


def _with_entry(change: Once, entry: Plan[None]) -> Plan[bool]:
    """Run a change and append its audit entry, unless it found nothing to change."""
    found = yield change
    if found:
        yield from entry
    return bool(found)


class SqlAccounts:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def _write(self, statement: str, *arguments: object) -> list[Row]:
        return await self._engine.transact(_one(statement, *arguments))

    def _audit(self, org: OrgId, actor: str) -> AuditContext:
        return AuditContext(org, actor, self._engine.now())

    async def create_org(self, org: Org, quota: int | None) -> bool:
        return await self._engine.transact(_create_org(org, quota))

    async def org(self, org: OrgId) -> Org | None:
        found = await self._engine.read("org_get", org)
        return message_rows.org(found[0]) if found else None

    async def orgs(self) -> Sequence[Org]:
        return [message_rows.org(row) for row in await self._engine.read("orgs_all")]

    async def add_key(self, key: ApiKey, digest: bytes, actor: str = SYSTEM) -> None:
        arguments = (key.id, key.org_id, digest, key.role.value, key.label, key.created_at)
        audit = AuditContext(key.org_id, actor, key.created_at)
        entry = audit.written(AuditAction.KEY_CREATED, Entity.KEY, key.id, f"role={key.role.value}")
        await self._engine.transact(_with_entry(Once("key_insert", arguments), entry))

    async def keys(self, org: OrgId, now: Instant) -> Sequence[ApiKey]:
        return [message_rows.api_key(row) for row in await self._engine.read("keys_of", org, now)]

    async def revoke_key(self, org: OrgId, key: KeyId, at: Instant, actor: str = SYSTEM) -> bool:
        what = f"ends {to_datetime(at):%Y-%m-%dT%H:%M:%SZ}"
        entry = self._audit(org, actor).written(AuditAction.KEY_REVOKED, Entity.KEY, key, what)
        return await self._engine.transact(_with_entry(Once("key_revoke", (org, key, at)), entry))

    async def add_user(self, user: User, digest: bytes, actor: str = SYSTEM) -> None:
        arguments = (user.id, user.org_id, digest, user.name, user.role.value, user.created_at)
        audit = AuditContext(user.org_id, actor, user.created_at)
        entry = audit.written(AuditAction.USER_CREATED, Entity.USER, user.id, f"role={user.role.value}")
        await self._engine.transact(_with_entry(Once("person_insert", arguments), entry))

    async def users(self, org: OrgId) -> Sequence[User]:
        return [message_rows.user(row) for row in await self._engine.read("people_of", org)]

    async def renew_token(self, org: OrgId, user: UserId, digest: bytes, actor: str = SYSTEM) -> bool:
        entry = self._audit(org, actor).written(
            AuditAction.USER_TOKEN_RENEWED, Entity.USER, user, "the old token ended"
        )
        return await self._engine.transact(_with_entry(Once("person_token", (org, user, digest)), entry))

    async def remove_user(self, org: OrgId, user: UserId, actor: str = SYSTEM) -> bool:
        entry = self._audit(org, actor).written(AuditAction.USER_REMOVED, Entity.USER, user, "with their token")
        return await self._engine.transact(_remove_user(org, user, entry))

    async def caller(self, digest: bytes, now: Instant) -> Caller | None:
        found = await self._engine.read("caller_find", digest, now)
        return message_rows.caller(found[0]) if found else None

    async def tokens(self, users: Sequence[UserId]) -> Mapping[UserId, bytes]:
        found = await self._engine.read("person_tokens", sorted(set(users))) if users else []
        return {row[0]: bytes(row[1]) for row in found}

    async def connect(self, number: Number, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_connect(number, AuditContext(number.org_id, actor, number.created_at)))

    async def numbers(self, org: OrgId | None = None) -> Sequence[Number]:
        found = await (self._engine.read("numbers_all") if org is None else self._engine.read("numbers_of", org))
        return [message_rows.number(row) for row in found]

    async def change_number(
        self, org: OrgId, number: NumberId, change: NumberChange, now: Instant, actor: str = SYSTEM
    ) -> Number | None:
        return await self._engine.transact(_change(number, change, AuditContext(org, actor, now)))

    async def reseal(self, before: Number, after: Number) -> bool:
        sealed = [(n.sealed_token, n.sealed_app_secret, n.sealed_verify_token) for n in (after, before)]
        return bool(await self._write("number_reseal", before.org_id, before.id, *sealed[0], *sealed[1]))

    async def disconnect(self, org: OrgId, number: NumberId, actor: str = SYSTEM) -> bool:
        return await self._engine.transact(_disconnect(number, self._audit(org, actor)))

    async def tried(self, org: OrgId) -> Mapping[NumberId, Instant]:
        return {NumberId(row[0]): Instant(row[1]) for row in await self._engine.read("numbers_tried", org)}

    async def answered(self, number: Number, now: Instant) -> None:
        await self._write("number_answered", number.id, number.updated_at, now)


def _remove_user(org: OrgId, user: UserId, entry: Plan[None]) -> Plan[bool]:
    found = yield Once("person_delete", (org, user))
    if found:
        yield from notifications.remove_user_devices(user, org)
        yield from entry
    return bool(found)


def _disconnect(number: NumberId, audit: AuditContext) -> Plan[bool]:
    found = yield Once("number_delete", (audit.org, number))
    if found:
        yield Once("failover_ended", (number,))
        yield Once("sign_end", (of_number(number),))
        yield Once("sender_forgotten", (of_number(number), audit.org))  # else its messages would wait for ever
        yield from audit.written(AuditAction.NUMBER_DISCONNECTED, Entity.NUMBER, number, "number disconnected")
    return bool(found)


def _create_org(org: Org, quota: int | None) -> Plan[bool]:
    created = yield Once("org_insert", (org.id, org.created_at))
    if created and quota is not None:
        yield Once("permit_ensure", (quota_of(org.id), quota))
    return bool(created)


def _connect(number: Number, audit: AuditContext) -> Plan[bool]:
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
    yield from _release(number)  # gates of an earlier connection
    yield from _switch(number, enabled=number.enabled, now=number.created_at)
    yield from audit.written(AuditAction.NUMBER_CONNECTED, Entity.NUMBER, number.id, "number connected")
    return True


def _change(number: NumberId, change: NumberChange, audit: AuditContext) -> Plan[Number | None]:
    found = yield Once("number_change", _changed_columns(number, change, audit))
    if not found:
        return None
    changed = message_rows.number(found[0])
    yield from _tier(changed)
    if change.sealed_token is not None or change.graph_url is not None:  # not yet tried with these settings
        yield Once("sign_end", (of_number(number),))
    if change.sealed_token is not None:  # the new token may lift what stopped the old one
        yield from _release(changed)
    if change.enabled is not None:
        yield from _switch(changed, enabled=change.enabled, now=audit.at)
    what = f"changed: {', '.join(change.names())}"
    yield from audit.written(AuditAction.NUMBER_CHANGED, Entity.NUMBER, number, what)
    return changed


def _changed_columns(number: NumberId, change: NumberChange, audit: AuditContext) -> Row:
    return (
        audit.org,
        number,
        change.waba_id,
        change.sealed_token,
        change.sealed_app_secret,
        change.sealed_verify_token,
        change.graph_url,
        change.error_catalogue,
        change.enabled,
        audit.at,
        change.pace,
        change.tier,
        change.failover,
        change.no_failover,
    )


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
    closing = GateClosing(
        org_id=number.org_id,
        name=of_number(number.id),
        kind=GateKind.HOLD,
        code=NUMBER_DISABLED,
        reason="the number is disabled",
    )
    yield from each("gate_put", [gate_rows.gate_row(closed(None, closing, now))])
