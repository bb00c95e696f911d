"""`waypost admin …` for the rules and `waypost why`: what an operator types, sees and changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cli.test_admin import options, refused
from tests.acceptance.conftest import ON_SQLITE
from tests.acceptance.stage.harness import NUMBER, ORG, Ran, Site, site


@pytest.fixture
def connected(here: Site) -> Site:
    """An org with a number and one message in a file, and nobody who sends."""
    assert here.run("migrate").code == 0
    assert here.run("admin", "create-org", ORG).code == 0
    assert here.run("admin", "connect-whatsapp", ORG, *options(phone_number_id=NUMBER)).code == 0
    (here.folder / "one.csv").write_text("to,text\n+16505551234,hello\n")
    assert here.run("send", ORG, "--csv", "one.csv").code == 0
    return here


def first_line(ran: Ran) -> str:
    assert ran.code == 0, ran
    return ran.out.splitlines()[0]


def test_quota_gates_and_why_from_the_command_line(connected: Site) -> None:
    admin = connected.run
    quota = admin("admin", "quota", ORG, "--json").fields
    assert (quota["messages_sent"], quota["quota_limit"], quota["remaining_quota"]) == ("0", "none", "none")
    assert admin("admin", "set-quota", ORG, "5", "--json").fields["remaining_quota"] == "5"
    assert admin("admin", "set-quota", ORG, "none", "--json").fields["quota_limit"] == "none"
    refused(admin("admin", "set-quota", ORG, "0"), "LIMIT is a number from 1")
    refused(admin("admin", "set-quota", ORG, "many"), "LIMIT is a number from 1")

    off = first_line(admin("why", "1"))
    assert off == (
        f"Message 1 of org {ORG}, QUEUED: due, but no worker has ever run on this database: "
        "start one with `waypost serve --roles worker`"
    )
    assert admin("admin", "enable", ORG, NUMBER, "--off").code == 0
    held = first_line(admin("why", "1"))
    assert held.startswith(f"Message 1 of org {ORG}, QUEUED: it is held (number:{NUMBER}): the number is disabled")
    assert f"`waypost admin enable {ORG} {NUMBER}`" in held
    (gate,) = admin("admin", "gates", ORG, "--json").fields
    assert (gate["name"], gate["kind"], gate["waiting"]) == (f"number:{NUMBER}", "hold", "1")
    refused(admin("admin", "release", ORG, gate["id"]), f"`waypost admin enable {ORG} {NUMBER}`")
    assert admin("admin", "enable", ORG, NUMBER).code == 0
    assert admin("admin", "gates", ORG, "--json").fields == []
    refused(admin("admin", "release", ORG, gate["id"]), "has no closed gate")


@ON_SQLITE
def test_a_message_is_listed_cancelled_and_sent_again(connected: Site) -> None:
    admin = connected.run
    (message,) = admin("admin", "outbox", ORG, "--to", "1 650 555 1234", "--json").fields
    assert (message["id"], message["to"], message["status"]) == ("1", "+16505551234", "QUEUED")
    assert admin("admin", "cancel", ORG, "1").out == "cancelled 1\n"
    refused(admin("admin", "cancel", ORG, "1"), "message 1 is CANCELLED: only a QUEUED one")
    assert admin("admin", "retry", ORG, "1").out == "queued 1\n"
    refused(admin("admin", "retry", ORG, "7"), f"org {ORG} has no message 7")


@ON_SQLITE
def test_a_number_is_changed_and_what_cannot_be_is_said(connected: Site) -> None:
    admin = connected.run
    changed = admin("admin", "change-number", ORG, NUMBER, "--pace", "5", "--tier", "250", "--token", "hush-new")
    assert (changed.code, changed.out) == (0, f"changed {NUMBER}\n")
    (number,) = admin("admin", "numbers", ORG, "--json").fields
    assert (number["pace"], number["tier"]) == ("5", "250")
    refused(admin("admin", "change-number", ORG, NUMBER, "--pace", "1001"), "pace")
    refused(admin("admin", "change-number", ORG, NUMBER), "nothing to change")
    refused(admin("admin", "change-number", ORG, "999", "--pace", "5"), "has no number 999")
    refused(admin("admin", "change-number", ORG, NUMBER, "--error-catalogue", "x"), "error-catalogue")
    refused(admin("admin", "change-number", ORG, NUMBER, "--graph-url", "x"), "--graph-url must be")


@ON_SQLITE
def test_figures_windows_and_dead_letters_of_an_org_that_sent_nothing(connected: Site) -> None:
    admin = connected.run
    assert admin("admin", "stats", ORG, "--json").fields["QUEUED"] == "1"
    window = admin("admin", "window", ORG, "+16505551234", "--json").fields
    assert (window["open"], window["window_expires_at"]) == ("false", "never")
    refused(admin("admin", "window", ORG, "12"), "is not a phone number")
    assert admin("admin", "dead-letters", ORG, "--json").fields == []
    refused(admin("admin", "replay", ORG), "choose the messages: ids, --error-code or --all")
    assert admin("admin", "replay", ORG, "--all").out == "replayed 0\n"
    assert admin("admin", "replay", ORG, "1", "2").out == "replayed 0\n"
    refused(admin("admin", "quota", "nobody"), "there is no org nobody")


def test_a_file_is_sent_once_however_often_it_is_given(connected: Site) -> None:
    rows = [f'+1650555{n:04d},"hello, {n}",{n % 10}' for n in range(1200)]
    file = connected.folder / "many.csv"
    file.write_text("\n".join(["to,text,priority", *rows[:700]]) + "\n")
    checked = connected.run("send", ORG, "--csv", "many.csv", "--dry-run")
    assert (checked.code, checked.out) == (0, "700 would be stored, 0 refused\n")
    assert connected.run("send", ORG, "--csv", "many.csv").out == "700 stored, 0 were there already, 0 refused\n"
    file.write_text("\n".join(["to,text,priority", *rows, "12,no,5", "+16505550000,hi,high"]) + "\n")
    again = connected.run("send", ORG, "--csv", "many.csv")
    assert (again.code, again.out) == (1, "500 stored, 700 were there already, 2 refused\n")
    first, second = again.err.splitlines()
    assert first.startswith("waypost: row 1202: to: must be a phone number")
    assert second == "waypost: row 1203: priority: 'high' is not a whole number"
    assert connected.run("admin", "stats", ORG, "--json").fields["QUEUED"] == "1201"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("text\nhello\n", "column `to`"),
        ("", "column `to`"),
        ("to,txt\n+16505551234,x\n", "column 'txt' is not known"),
        ("to,text\n+16505551234\n", "row 2 has another number of cells"),
        ("to,text\n+16505551234,a,b\n", "row 2 has another number of cells"),
        ('to,text\n+16505551234,"a\n', "cannot be read as CSV"),
        (b"to,text\n+16505551234,\xff\n", "cannot be read as CSV in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_sends_nothing(tmp_path: Path, content: str | bytes, said: str) -> None:
    (tmp_path / "wrong.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with site(tmp_path, f"sqlite:///{tmp_path / 'waypost.db'}") as here:
        refused(here.run("send", ORG, "--csv", "wrong.csv"), said)
