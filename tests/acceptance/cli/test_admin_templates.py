"""`waypost admin templates` and `try-number`: what is known is told, also that the provider does not answer."""

from __future__ import annotations

import re

from tests.acceptance.conftest import ON_SQLITE
from tests.acceptance.stage.harness import ORG, Site, free_port


def connected(here: Site) -> Site:
    assert here.run("migrate").code == 0
    assert here.run("admin", "create-org", ORG).code == 0
    options = ["--phone-number-id", "1", "--waba-id", "2", "--token", "t", "--app-secret", "s", "--verify-token", "v"]
    nobody = f"http://127.0.0.1:{free_port()}/v25.0"
    assert here.run("admin", "connect-whatsapp", ORG, *options, "--graph-url", nobody).code == 0
    return here


def test_an_account_that_was_never_fetched_has_no_list_and_says_why(here: Site) -> None:
    ran = connected(here).run("admin", "templates", ORG, "--json")
    assert (ran.code, ran.fields) == (0, [])
    assert ran.err == "waypost: account 2 could not be fetched: no connection could be made\n"
    tried = here.run("admin", "try-number", ORG, "1", "--json")
    assert (tried.code, tried.fields["state"]) == (1, "unreachable")
    assert tried.fields["said"] == "the provider does not answer: no connection could be made"
    assert here.run("admin", "try-number", ORG, "2").err == f"waypost: org {ORG} has no number 2\n"


@ON_SQLITE
def test_a_sync_that_fails_is_a_failure(here: Site) -> None:
    ran = connected(here).run("admin", "templates", ORG, "--sync")
    assert (ran.code, ran.out) == (1, "")
    assert re.fullmatch(r"waypost: account 2 could not be fetched: .* stays\)\n", ran.err)
    assert here.run("admin", "templates", "nobody").code == 1
