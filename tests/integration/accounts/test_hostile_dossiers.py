"""Hostile values in each field of a dossier or a consent: refused by name, and nothing stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.accounts.test_dossiers import CONSENTS, DOSSIERS, opened, trail
from tests.integration.sending.test_hostile_messages import BROKEN, ODD
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import PHONE

BODIES: dict[str, dict[str, Any]] = {
    DOSSIERS: {"phone": PHONE, "email": "ada@example.com", "name": "Ada", "externalRef": "crm-7"},
    CONSENTS: {"dossierId": 1, "channel": "WHATSAPP", "status": "GRANTED"},
}
METHODS = {DOSSIERS: "POST", CONSENTS: "PUT"}


@pytest.mark.parametrize(("path", "field"), [(path, field) for path, body in BODIES.items() for field in body])
@ON_SQLITE
async def test_each_field_is_refused_by_name(stage: Stage, path: str, field: str) -> None:
    await opened(stage, externalRef="the only one")
    before = await trail(stage)
    others = json.dumps({name: value for name, value in BODIES[path].items() if name != field}).encode()
    for what, value in {**BROKEN, **ODD}.items():
        body = b'{"' + field.encode() + b'": ' + value + b", " + others[1:]
        answer = await stage.call(METHODS[path], path, body=body)
        told = (field, what, answer.status, answer.body[:300])
        assert answer.status in (400, 422), told
        assert answer.code in ("invalid_json", "invalid_payload"), told
        assert answer.json["field"] == field, told
        assert len(answer.body) < 2000, told
    assert len((await stage.get(DOSSIERS))["content"]) == 1
    assert await trail(stage) == before
