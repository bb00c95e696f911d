"""`waypost doctor` on real databases: what it says, in words and as JSON, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import apsw

from tests.acceptance.conftest import Place
from tests.acceptance.stage.clients import clients
from tests.acceptance.stage.harness import Ran
from waypost.adapters.sql.engine.migrations import migrations


def troubles(ran: Ran) -> dict[str, str]:
    """Text and remedy of what is not well."""
    assert ran.fields["ok"] is (ran.code == 0)
    return {each["text"]: each["remedy"] for each in ran.fields["findings"] if each["level"] != "ok"}


def findings(ran: Ran) -> str:
    return "\n".join(each["text"] for each in ran.fields["findings"])


async def test_a_webhook_that_can_be_reached_is_found_well_and_another_is_told_why_not(place: Place) -> None:
    here = place("sqlite")
    here.connect()
    here.serve()
    async with clients(here, reuse=False) as (api, _):
        await api.ready()
        well = here.run("doctor", "--json", WAYPOST_PUBLIC_URL=here.url)
        assert well.code == 0, well.out
        assert [text for text in troubles(well) if "are free" not in text] == []
        assert "inbound answers in" in findings(well)
        assert "`waypost migrate` has nothing to do" in findings(well)
        elsewhere = here.run("doctor", "--json", WAYPOST_PUBLIC_URL=here.sandbox_url)
        open_net = here.run("doctor", "--json", WAYPOST_PUBLIC_URL="http://chat.example.com")
    (remedy,) = [remedy for text, remedy in troubles(elsewhere).items() if "webhook" in text]
    assert remedy == "let GET through to this server unchanged, without a login"
    assert "http://chat.example.com is not https: Meta calls only https" in troubles(open_net)
    assert here.verify_token not in well.out + elsewhere.out + elsewhere.err + open_net.out


def test_an_old_file_that_everybody_can_read_is_named_and_not_touched(place: Place) -> None:
    here = place("sqlite")
    assert here.run("migrate").code == 0
    path = Path(here.database_url.removeprefix("sqlite:///"))
    path.chmod(0o644)
    file, newest = apsw.Connection(str(path)), migrations("waypost.adapters.sqlite")[-1]
    file.execute(f"PRAGMA user_version = {newest.version - 1}").fetchall()
    found = troubles(here.run("doctor", "--json"))
    assert f"schema {newest.version - 1}: the next start applies {newest.name}" in found
    assert file.execute("PRAGMA user_version").get == newest.version - 1
    file.execute(f"PRAGMA user_version = {newest.version}").fetchall()
    file.close()
    assert f"{path} can be read by every user of this machine" in troubles(here.run("doctor", "--json"))
