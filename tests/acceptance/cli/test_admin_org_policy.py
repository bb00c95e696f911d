"""`waypost admin policy` and `spend`: shown, changed in part, refused in one line."""

from __future__ import annotations

from tests.acceptance.conftest import ON_SQLITE
from tests.acceptance.stage.harness import ORG, Site


def settled(here: Site) -> Site:
    assert here.run("migrate").code == 0
    assert here.run("admin", "create-org", ORG).code == 0
    return here


def test_a_policy_is_shown_and_changed_in_part(here: Site) -> None:
    settled(here)
    assert here.run("admin", "policy", ORG).fields == {}
    changes = ["unsure=park", "quietHours.from=21:00", "quietHours.to=08:00", "backoffMinutes=[1,5]"]
    ran = here.run("admin", "policy", ORG, *(part for change in changes for part in ("--set", change)))
    assert ran.code == 0
    night = {"from": "21:00", "to": "08:00", "timezone": "UTC", "exemptPriority": None}
    assert ran.fields == {"unsure": "park", "quietHours": night, "backoffMinutes": [1, 5]}
    assert here.run("admin", "policy", ORG, "--set", "quietHours=null").fields == {
        "unsure": "park",
        "backoffMinutes": [1, 5],
    }


@ON_SQLITE
def test_what_cannot_be_is_refused_in_one_line(here: Site) -> None:
    settled(here)
    for change, field in [
        ("unsure=maybe", "unsure: "),
        ("colour=blue", "colour: "),
        ("quietHours.from=21:00", "quietHours.to: "),
        ("nothing", "--set nothing: "),
    ]:
        ran = here.run("admin", "policy", ORG, "--set", change)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
        assert ran.err.startswith(f"waypost: {field}"), ran.err
    assert here.run("admin", "policy", "nobody").code == 1
    assert here.run("admin", "policy", ORG).fields == {}


@ON_SQLITE
def test_a_spend_of_nothing_is_none(here: Site) -> None:
    settled(here)
    assert here.run("admin", "spend", ORG, "--json").fields == []
    assert here.run("admin", "spend", ORG, "--by", "hour").code == 1
