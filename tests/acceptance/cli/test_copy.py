"""From SQLite to PostgreSQL: cut in the middle, taken up again, compared, and served from there."""

from __future__ import annotations

import signal

import asyncpg

from tests.acceptance.cli.test_admin import refused
from tests.acceptance.cli.test_restore import CUSTOMER, OTHER, end, post, sent_to
from tests.acceptance.conftest import Place
from tests.acceptance.stage.clients import Api, Sandbox, clients
from tests.acceptance.stage.desk import Desk, desk
from tests.acceptance.stage.harness import Site, until
from tests.acceptance.stage.talking import say

STOP_AT = 3
"""The entry of a chat that does not come through at first."""
_TOLL = f"""
CREATE FUNCTION toll() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF NEW.position = {STOP_AT} THEN PERFORM pg_advisory_xact_lock(42); END IF; RETURN NEW; END $$;
CREATE TRIGGER toll BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION toll();
"""


async def lived(here: Site, api: Api, sandbox: Sandbox) -> tuple[Desk, int]:
    running = here.serve()
    await api.ready()
    at = await desk(here, api)
    await at.screen.catch_up()
    await at.write("one", "two", "three", "four", "five")
    assert await at.screen.catch_up() == ["one", "two", "three", "four", "five"]
    await at.write("six")
    await say(sandbox, CUSTOMER, text="Größe 42, 'please'; \\ ok? 👍")
    waits = await api.post({"to": f"+{OTHER}", "payloadJson": {"text": "Hello"}, "scheduledAt": "2099-01-01T00:00:00Z"})
    await until(lambda: at.finds("six"), "the words are in the index")
    refused(here.run("admin", "copy", "--to", "postgresql://127.0.0.1:1/x"), "another program has .* open")
    await end(running)
    return at, waits.body["id"]


async def cut_in_the_middle(here: Site, target: str) -> None:
    """The third entry waits for a lock of ours: there the copy is killed, with two entries of the chat copied."""
    ours = await asyncpg.connect(target)
    try:
        await ours.execute(_TOLL)
        await ours.execute("SELECT pg_advisory_lock(42)")
        copying = here.start("admin", "copy", "--to", target, "--batch", "1")

        async def waits() -> bool:
            assert copying.exit_code is None, copying.output
            return bool(
                await ours.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
            )

        async def gone() -> bool:
            named = "application_name = 'waypost-admin' AND datname = current_database()"
            return not await ours.fetchval(f"SELECT count(*) FROM pg_stat_activity WHERE {named}")

        await until(waits, "the copy has come to the third entry")
        copying.signal(signal.SIGINT)
        assert copying.ended() == 1, copying.output
        assert "run the same command again to continue" in copying.output
        assert "Traceback" not in copying.output
        await until(gone, "PostgreSQL has seen that it was cut off")
        copying = here.start("admin", "copy", "--to", target, "--batch", "1")
        await until(waits, "the copy has come there again")
        copying.kill()
        refused(here.run("admin", "orgs", WAYPOST_DATABASE_URL=target), "a copy into this database is not finished")
        await ours.execute("SELECT pg_advisory_unlock(42)")
        await ours.execute("DROP FUNCTION toll CASCADE")

        await until(gone, "PostgreSQL has seen that the copy is gone")
        assert 0 < await ours.fetchval("SELECT count(*) FROM entry") < STOP_AT
    finally:
        await ours.close()


async def test_a_copy_that_was_killed_goes_on_and_is_served_from_there(place: Place, postgres_url: str) -> None:
    here = place("sqlite")
    here.connect()
    async with clients(here, reuse=False) as (api, sandbox):
        at, waits = await lived(here, api, sandbox)
        assert here.run("migrate", WAYPOST_DATABASE_URL=postgres_url).code == 0
        await cut_in_the_middle(here, postgres_url)
        done = here.run("admin", "copy", "--to", postgres_url)
        assert done.code == 0, done
        assert "the rest of an earlier run" in done.out
        assert "counts and hashes are the same" in done.out

        refused(here.run("serve", "--port", "0"), "copied to another, which is in use instead")
        refused(here.run("admin", "copy", "--to", postgres_url), "this copy is finished")
        here.database_url = postgres_url
        running = here.serve()
        await api.ready()
        await everything_is_there(at, api, sandbox, waits)
        await end(running)


async def everything_is_there(at: Desk, api: Api, sandbox: Sandbox, waits: int) -> None:
    assert await at.screen.catch_up() == ["six"], "a device goes on where it was"
    assert (await api.message(waits))["status"] == "QUEUED"
    fresh = await post(api, OTHER)
    assert fresh > waits
    await api.settled(fresh)
    assert await sent_to(sandbox, OTHER) == 1
    assert await at.history() == ["one", "two", "three", "four", "five", "six"]
    await at.write("seven")
    assert await at.screen.catch_up() == ["seven"]
    (talk,) = (await api.get(f"/api/v1/conversations?phone={CUSTOMER}"))["conversations"]
    assert talk["last_message"]["content"]["text"] == "Größe 42, 'please'; \\ ok? 👍"
    assert await at.finds("six")
