"""The migration that makes both forms of a phone number one person fills its column as the rule would."""

from __future__ import annotations

import sqlite3

from waypost.adapters.sql.engine.migrations import migrations
from waypost.rules.conversations.phone_forms import shared_alias

PHONES = (
    *("+525512345678", "+541123456789", "+5511987654321", "+551176543210"),
    *("+551133334444", "+5511933334444", "+5491187654321", "+5215587654321"),
    *("+16505551234", "+491511234567", "+52551234567", "+5255123456789"),
)
TWINS = ("+5215512345678", "+5491123456789", "+551187654321")


def test_every_number_with_two_forms_gets_its_alias_and_of_two_dossiers_the_older_one() -> None:
    with sqlite3.connect(":memory:") as database:
        known = migrations("waypost.adapters.sqlite")
        new = next(each for each in known if each.name == "one_person")
        for each in known[: new.version - 1]:
            database.executescript(each.text)
        database.executemany(
            "INSERT INTO dossier (org_id, phone, status, created_at, updated_at) VALUES ('acme', ?, 'NEW', 0, 0)",
            [(phone,) for phone in (*PHONES, *TWINS)],
        )
        database.executescript(new.text)
        filled = dict(database.execute("SELECT phone, phone_alias FROM dossier").fetchall())
    assert {phone: filled[phone] for phone in PHONES} == {phone: shared_alias(phone) for phone in PHONES}
    assert {filled[phone] for phone in TWINS} == {None}
