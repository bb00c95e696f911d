"""Templates in SQL: an account's list is replaced as a whole, a status individually."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.model.ids import OrgId
from waypost.model.template import Template, TemplateStatusChange
from waypost.model.time import Instant
from waypost.ports.accounts.templates import Synced
from waypost.rules.content.template_reading import read_definition


class SqlTemplates:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def replace(self, org: OrgId, waba_id: str, templates: Sequence[Template], asked_at: Instant) -> bool:
        return await self._engine.transact(_replace(org, waba_id, templates, asked_at))

    async def of(self, org: OrgId, waba_id: str) -> Sequence[Template]:
        found = await self._engine.read("templates_of", org, waba_id)
        return [template for row in found if (template := _template(row))]

    async def synced(self, org: OrgId, waba_id: str) -> Synced | None:
        found = await self._engine.read("template_sync_get", org, waba_id)
        return Synced(Instant(found[0][0]), found[0][1]) if found else None

    async def change_status(self, org: OrgId, waba_id: str, change: TemplateStatusChange, at: Instant) -> bool:
        return await self._engine.transact(change_status(org, waba_id, change, at))

    async def stale(self, before: Instant) -> Sequence[tuple[OrgId, str]]:
        return [(OrgId(org), waba_id) for org, waba_id in await self._engine.read("template_sync_stale", before)]


def _template(row: Row) -> Template | None:
    status, definition = row
    template = read_definition(definition)
    return replace(template, status=status) if template else None


def _replace(org: OrgId, waba_id: str, templates: Sequence[Template], asked_at: Instant) -> Plan[bool]:
    if not (yield Once("template_sync_put", (org, waba_id, asked_at))):
        return False
    since = yield Once("template_told_since", (org, waba_id, asked_at))
    newer = {(name, language): (status, at) for name, language, status, at in since}
    yield Once("template_clear", (org, waba_id))
    listed = {(template.name, template.language): template for template in templates}
    rows = [
        (org, waba_id, *key, *newer.get(key, (template.status, asked_at)), template.definition)
        for key, template in sorted(listed.items())
    ]
    yield from each("template_insert", rows)
    return True


def change_status(org: OrgId, waba_id: str, change: TemplateStatusChange, at: Instant) -> Plan[bool]:
    """Part of a plan of its own, or of a webhook's."""
    yield Once("template_sync_lock", (org, waba_id))
    changed = yield Once("template_status", (org, waba_id, change.name, change.language, change.status, at))
    return bool(changed)
