"""`waypost admin` for dossiers, consents and the audit trail: what it prints, changes and refuses."""

from __future__ import annotations

import pytest

from tests.acceptance.cli.test_admin import refused
from tests.acceptance.conftest import ON_SQLITE
from tests.acceptance.stage.harness import ORG, Ran, Site


@pytest.fixture
def admin(here: Site) -> Site:
    assert here.run("migrate").code == 0
    assert here.run("admin", "create-org", ORG).code == 0
    return here


def test_a_dossier_its_consent_and_its_trail(admin: Site) -> None:
    def run(*words: str) -> object:
        ran = admin.run("admin", words[0], ORG, *words[1:], "--json")
        assert ran.code == 0, ran
        return ran.fields

    opened = run("dossier", "--phone", "+1 555 000 1111", "--name", "Ada")
    shown = {"id": "1", "phone": "+15550001111", "email": "", "name": "Ada", "external_ref": "", "status": "NEW"}
    assert opened == shown | {"opened": "true"}
    assert run("dossier", "--phone", "+15550001111") == shown | {"opened": "false"}
    changed = shown | {"name": "", "external_ref": "crm-7", "status": "WON"}
    assert run("change-dossier", "1", "--name", "", "--external-ref", "crm-7", "--status", "WON") == changed
    assert run("dossiers", "--external-ref", "crm-7") == run("dossiers") == [changed]
    said = admin.run("admin", "consent", ORG, "1", "REVOKED")
    assert (said.code, said.out) == (0, "WHATSAPP REVOKED for dossier 1\n")
    consents = run("consents", "1")
    assert isinstance(consents, list)
    assert [(each["channel"], each["status"]) for each in consents] == [("WHATSAPP", "REVOKED")]
    trail = run("audit", "--entity-type", "DOSSIER", "--entity-id", "1")
    assert isinstance(trail, list)
    assert [(e["action"], e["actor"]) for e in trail] == [
        ("CONSENT_CHANGED", "cli"), ("UPDATED", "cli"), ("CREATED", "cli")
    ]  # fmt: skip
    assert run("activities", "1") == []


@ON_SQLITE
def test_what_cannot_be_done_is_said_in_one_line(admin: Site) -> None:
    def run(*words: str) -> Ran:
        return admin.run("admin", words[0], ORG, *words[1:])

    refused(run("dossier"), "at least one of")
    refused(run("dossier", "--phone", "12"), "phone: ")
    refused(run("dossier", "--email", "ada"), "email: ")
    refused(run("dossier", "--name", "x" * 256), "name: ")
    refused(run("change-dossier", "9", "--name", "x"), "no dossier 9")
    refused(run("change-dossier", "9", "--status", "won"), "status: ")
    refused(run("consent", "9", "GRANTED"), "no dossier 9")
    refused(run("consent", "9", "MAYBE"), "MAYBE", code=2)
    refused(run("audit", "--entity-id", "1"), "--entity-type")
    refused(admin.run("admin", "audit", "nobody"), "no org nobody")
