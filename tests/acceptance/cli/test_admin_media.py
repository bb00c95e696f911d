"""`waypost admin …` for customers' files: what an operator types and sees."""

from __future__ import annotations

import apsw
import pytest

from tests.acceptance.cli.test_admin import refused
from tests.acceptance.stage.harness import NUMBER, ORG, Site


@pytest.fixture
def failed(here: Site) -> Site:
    """An org with one file that could not be fetched and one that is on the shelf."""
    assert here.run("migrate").code == 0
    assert here.run("admin", "create-org", ORG).code == 0
    (database,) = here.folder.rglob("*.db")
    names = "org_id number conversation_id position provider_id mime_type state tries created_at error key size"
    connection = apsw.Connection(str(database))
    for row in (
        (ORG, NUMBER, 1, 1, "77", "image/png", "failed", 3, 1_760_000_000_000_000, "it is gone", None, None),
        (ORG, NUMBER, 1, 2, "78", "image/png", "stored", 1, 1_760_000_000_000_000, None, f"{ORG}/ab/2", 5),
    ):
        connection.execute(f"INSERT INTO media ({names.replace(' ', ', ')}) VALUES ({', '.join('?' * 12)})", row)
    connection.close()
    shelf = database.parent / "media" / ORG / "ab"
    shelf.mkdir(parents=True)
    (shelf / "2").write_bytes(b"a cat")
    return here


@pytest.mark.parametrize("ledger", ["sqlite"], indirect=True)
def test_files_are_listed_tried_again_and_saved(failed: Site) -> None:
    (listed,) = failed.run("admin", "media", ORG, "--json").fields
    assert (listed["media_id"], listed["state"], listed["error"]) == ("1", "failed", "it is gone")
    (stored,) = failed.run("admin", "media", ORG, "--state", "stored", "--json").fields
    assert (stored["media_id"], stored["size"]) == ("2", "5")

    saved = failed.run("admin", "save-media", ORG, "2", "--to", "cat.png")
    assert (saved.code, saved.out) == (0, "saved 5 bytes as cat.png\n")
    assert (failed.folder / "cat.png").read_bytes() == b"a cat"
    refused(failed.run("admin", "save-media", ORG, "2", "--to", "cat.png"), "cannot be saved")
    refused(failed.run("admin", "save-media", ORG, "1", "--to", "dog.png"), "file 1 is failed: it is gone")
    refused(failed.run("admin", "save-media", ORG, "9", "--to", "dog.png"), "has no file 9")

    assert failed.run("admin", "retry-media", ORG, "1").out == "1 to be fetched again\n"
    refused(failed.run("admin", "retry-media", ORG, "1"), "has no failed file 1")
    assert failed.run("admin", "retry-media", ORG).out == "0 to be fetched again\n"
    (waiting,) = failed.run("admin", "media", ORG, "--state", "pending", "--json").fields
    assert (waiting["media_id"], waiting["tries"]) == ("1", "0")
