"""`waypost admin …`: what it prints, what it changes, and one line for everything that cannot be done."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import Place
from tests.acceptance.stage.harness import ORG, Ran, Site, site

NUMBER = {
    "--phone-number-id": "106540352242922",
    "--waba-id": "102290129340398",
    "--token": "hush-token",
    "--app-secret": "hush-secret",
    "--verify-token": "hush-verify",
}


def options(**changes: str) -> list[str]:
    chosen = NUMBER | {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return [word for pair in chosen.items() for word in pair]


@pytest.fixture
def admin(here: Site) -> Site:
    assert here.run("migrate").code == 0
    return here


@pytest.fixture(scope="module")
def org(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for all that change nothing in it, or nothing that matters to the others."""
    folder = tmp_path_factory.mktemp("org")
    with site(folder, f"sqlite:///{folder / 'waypost.db'}") as here:
        assert here.run("admin", "create-org", ORG).code == 0
        yield here


def refused(ran: Ran, said: str, code: int = 1) -> None:
    assert ran.code == code, ran
    assert re.fullmatch(r"waypost: .*\n", ran.err), ran.err
    assert re.search(said, ran.err), ran.err
    assert not ran.out


def test_an_org_its_number_keys_and_people_from_the_first_to_the_last(admin: Site) -> None:
    made = admin.run("admin", "create-org", ORG, "--json").fields
    assert list(made) == ["org_id", "api_key"]
    assert made["org_id"] == ORG
    assert [found["org_id"] for found in admin.run("admin", "orgs", "--json").fields] == [ORG]

    connected = admin.run("admin", "connect-whatsapp", ORG, *options())
    assert (connected.code, connected.out) == (0, f"connected 106540352242922 to {ORG}\n")
    assert admin.run("admin", "numbers", ORG, "--json").fields == [
        {
            "phone_number_id": "106540352242922",
            "waba_id": "102290129340398",
            "catalogue": "meta",
            "enabled": "true",
            "pace": "1000",
            "tier": "none",
        }
    ]
    assert admin.run("admin", "enable", ORG, "106540352242922", "--off").out == "disabled 106540352242922\n"
    assert admin.run("admin", "numbers", ORG, "--json").fields[0]["enabled"] == "false"
    assert admin.run("admin", "enable", ORG, "106540352242922").out == "enabled 106540352242922\n"
    assert admin.run("admin", "disconnect", ORG, "106540352242922").code == 0
    assert admin.run("admin", "numbers", ORG, "--json").fields == []

    key = admin.run("admin", "create-key", ORG, "--role", "readonly", "--label", "reports", "--json").fields
    assert list(key) == ["key_id", "role", "api_key"]
    keys = admin.run("admin", "keys", ORG, "--json").fields
    assert {(found["role"], found["label"]) for found in keys} == {("admin", "first key"), ("readonly", "reports")}
    assert admin.run("admin", "revoke-key", ORG, key["key_id"]).code == 0
    assert len(admin.run("admin", "keys", ORG, "--json").fields) == 1

    user = admin.run("admin", "create-user", ORG, "Ada", "--json").fields
    assert list(user) == ["user_id", "token"]
    assert admin.run("admin", "users", ORG, "--json").fields == [
        {"user_id": user["user_id"], "name": "Ada", "role": "agent"}
    ]
    renewed = admin.run("admin", "renew-token", ORG, user["user_id"], "--json").fields
    assert renewed["user_id"] == user["user_id"]
    assert renewed["token"] != user["token"]
    assert admin.run("admin", "remove-user", ORG, user["user_id"]).code == 0
    assert admin.run("admin", "users", ORG, "--json").fields == []
    assert admin.run("admin", "journal", ORG, "--json").fields == []


def test_a_person_is_shown_tables(org: Site) -> None:
    made = org.run("admin", "create-user", ORG, "[bold]Grace[/nothing]", "--role", "admin")
    assert made.code == 0
    shown = org.run("admin", "users", ORG)
    assert shown.code == 0
    assert "[bold]Grace[/nothing]" in shown.out, "a name is shown as it is"
    assert org.run("admin", "numbers", ORG).out == "none\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["create-org", ORG], f"there is an org {ORG} already"),
        (["create-org", "-no-"], "No such option"),
        (["create-org", "a b"], "1 to 63 letters"),
        (["connect-whatsapp", "nobody", *options()], "there is no org nobody: make it with"),
        (["connect-whatsapp", ORG, *options(graph_url="ftp://x")], "--graph-url must be an http"),
        (["connect-whatsapp", ORG, *options(error_catalogue="mine")], "--error-catalogue is meta or seed"),
        (["connect-whatsapp", ORG, *options(app_secret="")], "^waypost: app-secret: "),
        (["connect-whatsapp", ORG, *options(phone_number_id="a/b")], "^waypost: phone-number-id: "),
        (["enable", ORG, "123"], f"org {ORG} has no number 123"),
        (["disconnect", ORG, "123"], f"org {ORG} has no number 123"),
        (["create-key", "nobody"], "there is no org nobody"),
        (["create-key", ORG, "--role", "king"], "--role is admin, sender or readonly"),
        (["revoke-key", ORG, "key_x"], f"org {ORG} has no live key key_x"),
        (["create-user", "nobody", "Ada"], "there is no org nobody"),
        (["create-user", ORG, "Ada", "--role", "king"], "--role is agent or admin"),
        (["create-user", ORG, ""], "^waypost: name: "),
        (["renew-token", ORG, "user_x"], f"org {ORG} has no user user_x"),
        (["remove-user", ORG, "user_x"], f"org {ORG} has no user user_x"),
        (["numbers", "nobody"], "there is no org nobody"),
        (["keys", "nobody"], "there is no org nobody"),
        (["users", "nobody"], "there is no org nobody"),
        (["journal", "nobody"], "there is no org nobody"),
        (["journal", ORG, "--state", "odd"], "--state is one of pending, done, kept, failed"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(org: Site, command: list[str], said: str) -> None:
    ran = org.run("admin", *command)
    refused(ran, said, code=2 if "option" in said else 1)
    assert "hush" not in ran.err


def test_a_number_is_connected_once(org: Site) -> None:
    assert org.run("admin", "connect-whatsapp", ORG, *options()).code == 0
    refused(org.run("admin", "connect-whatsapp", ORG, *options()), "is connected already: .*disconnect")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["admin", "create-org"], "Missing argument 'ORG': see `waypost admin create-org --help`"),
        (["admin", "connect-whatsapp", ORG], "Missing option '--phone-number-id'"),
        (["admin", "fly"], "No such command 'fly': see `waypost admin --help`"),
        (["fly"], "No such command 'fly': see `waypost --help`"),
        (["serve", "--workers", "0"], "--workers"),
        (["serve", "--port", "http"], "--port"),
        (["serve", "--port", "99999"], "--port"),
        (["why"], "Missing argument"),
        (["why", "me"], "message_id"),
        (["why", "0"], "message_id"),
        (["why", "99999999999999999999"], "message_id"),
    ],
)
def test_a_wrong_command_line_is_said_in_one_line(org: Site, command: list[str], said: str) -> None:
    refused(org.run(*command), said, code=2)


def test_a_message_that_is_not_there_cannot_be_explained(admin: Site) -> None:
    refused(admin.run("why", "7"), "there is no message 7 in this database")


def test_help_is_help(place: Place) -> None:
    here = place("sqlite")
    for command in ([], ["demo"], ["serve"], ["sandbox"], ["migrate"], ["why"], ["doctor"], ["simulate"], ["admin"]):
        shown = here.run(*command, "--help")
        assert shown.code == 0
        assert shown.out.strip().startswith("Usage: waypost")
    assert here.run("--version").out.startswith("waypost ")
    nothing = here.run()
    assert nothing.code == 2
    assert "serve" in nothing.out
    assert not nothing.err


def test_a_database_that_is_old_or_away_is_said_by_every_command(place: Place) -> None:
    here = place("postgres")
    refused(here.run("admin", "orgs"), "needs .*`waypost migrate`")
    refused(here.run("why", "1"), "needs .*`waypost migrate`")
    away = {"WAYPOST_DATABASE_URL": "postgresql://me:hush@127.0.0.1:1/x"}
    for command in (["admin", "orgs"], ["why", "1"], ["migrate"]):
        refused(here.run(*command, **away), "PostgreSQL cannot be reached")
    assert here.run("migrate").out.startswith("applied ")
    assert here.run("migrate").out == "the schema is up to date\n"
    assert here.run("admin", "orgs").out == "none\n"


def test_a_mailbox_is_connected_changed_and_let_go_and_its_password_never_shown(org: Site) -> None:
    server = ("--address", "shop@example.com", "--host", "mail.example.com")
    login = ("--username", "shop", "--password", "hush-password")
    made = org.run("admin", "connect-mailbox", ORG, *server, *login, "--json").fields
    assert made["address"] == "shop@example.com"
    listed = org.run("admin", "mailboxes", ORG)
    assert "mail.example.com:587" in listed.out
    assert "hush" not in listed.out
    refused(org.run("admin", "connect-mailbox", ORG, *server), "connected already")
    refused(org.run("admin", "connect-mailbox", ORG, "--address", "shop", "--host", "x"), "address must be an email")
    assert org.run("admin", "change-mailbox", ORG, made["mailbox_id"], "--password", "hush-2").code == 0
    refused(org.run("admin", "change-mailbox", ORG, "mail_nobody", "--password", "x"), "has no mailbox")
    assert org.run("admin", "disconnect-mailbox", ORG, made["mailbox_id"]).code == 0
    refused(org.run("admin", "disconnect-mailbox", ORG, made["mailbox_id"]), "has no mailbox")


def test_a_quick_reply_is_set_listed_and_removed(org: Site) -> None:
    assert org.run("admin", "set-quick-reply", ORG, "Hello", "Hello {name}!").out == "quick reply Hello is set\n"
    assert org.run("admin", "set-quick-reply", ORG, "hello", "Hi [b]{name}[/b]").code == 0
    (listed,) = org.run("admin", "quick-replies", ORG, "--json").fields
    assert (listed["name"], listed["text"], listed["by"]) == ("hello", "Hi [b]{name}[/b]", "cli")
    refused(org.run("admin", "set-quick-reply", ORG, "two words", "x"), "NAME has white space: join its words")
    refused(org.run("admin", "set-quick-reply", ORG, "a", "x", "--replaces", "b"), "has no quick reply b: ")
    assert org.run("admin", "set-quick-reply", ORG, "hey", "Hi", "--replaces", "hello").code == 0
    assert org.run("admin", "set-quick-reply", ORG, "Hello", "Hi", "--replaces", "hey").code == 0
    assert org.run("admin", "remove-quick-reply", ORG, "HELLO").out == "removed HELLO\n"
    refused(org.run("admin", "remove-quick-reply", ORG, "hello"), f"has no quick reply hello: .*quick-replies {ORG}")


def test_a_failover_that_cannot_be_is_refused(org: Site) -> None:
    refused(org.run("admin", "failover", ORG, "1", "--to", "2"), "not a number that this org has connected")
    refused(org.run("admin", "failover", ORG, "1"), "has no number 1")
