"""Keys that change: the one that seals secrets at rest, and those of callers."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.cli.test_admin import options, refused
from tests.acceptance.conftest import ON_SQLITE
from tests.acceptance.stage.harness import ORG, SECRET_KEY, Site

NEW = "a new key for tests, as long as it must be"


@pytest.fixture
def admin(here: Site) -> Site:
    assert here.run("migrate").code == 0
    assert here.run("admin", "create-org", ORG).code == 0
    assert here.run("admin", "connect-whatsapp", ORG, *options()).code == 0
    return here


def test_every_secret_is_sealed_anew_under_a_new_key(admin: Site) -> None:
    sealed = "its secrets cannot be opened"
    assert sealed in admin.run("doctor", WAYPOST_SECRET_KEY=NEW).out
    assert sealed not in admin.run("doctor", WAYPOST_SECRET_KEY=NEW, WAYPOST_SECRET_KEY_OLD=SECRET_KEY).out
    rotate = {"WAYPOST_SECRET_KEY": NEW, "WAYPOST_SECRET_KEY_OLD": SECRET_KEY}
    assert admin.run("admin", "rotate-secret-key", **rotate).out.startswith("1 re-encrypted, 0 were already: ")
    assert admin.run("admin", "rotate-secret-key", **rotate).out.startswith("0 re-encrypted, 1 were already: ")
    assert sealed not in admin.run("doctor", WAYPOST_SECRET_KEY=NEW).out
    assert sealed in admin.run("doctor").out


@ON_SQLITE
def test_a_wrong_old_key_changes_nothing(admin: Site) -> None:
    ran = admin.run("admin", "rotate-secret-key", WAYPOST_SECRET_KEY=NEW, WAYPOST_SECRET_KEY_OLD="wrong")
    refused(ran, "neither key decrypts the secrets of number 106540352242922")
    assert "its secrets cannot be opened" not in admin.run("doctor").out


@ON_SQLITE
def test_a_short_key_is_refused_in_production(admin: Site) -> None:
    said = r"WAYPOST_SECRET_KEY has 5 characters, at least 32 are needed"
    for command in (("serve", "--port", "0"), ("admin", "rotate-secret-key")):
        refused(admin.run(*command, WAYPOST_SECRET_KEY="short", WAYPOST_SECRET_KEY_OLD="x"), said)


@ON_SQLITE
def test_a_callers_key_is_rotated_and_the_old_one_ends(admin: Site) -> None:
    made = admin.run("admin", "create-key", ORG, "--role", "sender", "--label", "shop", "--json").fields
    fresh = admin.run("admin", "rotate-key", ORG, made["key_id"], "--json").fields
    assert re.fullmatch(r"wpk_.{20,}", fresh["api_key"])
    listed = {key["key_id"]: key for key in admin.run("admin", "keys", ORG, "--json").fields}
    assert {made["key_id"], fresh["key_id"]} <= set(listed)
    assert (listed[fresh["key_id"]]["role"], listed[fresh["key_id"]]["label"]) == ("sender", "shop")
    admin.run("admin", "rotate-key", ORG, fresh["key_id"], "--grace-minutes", "0")
    assert fresh["key_id"] not in {key["key_id"] for key in admin.run("admin", "keys", ORG, "--json").fields}
    refused(admin.run("admin", "rotate-key", ORG, fresh["key_id"]), "has no live key")
