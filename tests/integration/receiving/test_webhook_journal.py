"""The journal of webhooks, worked with: replayed, forgotten, and only by its org."""

from __future__ import annotations

from tests.integration.receiving.test_account_updates import (
    BAN,
    JOURNAL,
    LIMIT,
    NUMBERS,
    REINSTATE,
    closed,
    number,
    replay,
    unix,
    update,
)
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.webhooks import a_text, change, envelope, status, status_post
from waypost.flow.operations import maintenance
from waypost.model.time import days, seconds


@ON_SQLITE
async def test_only_what_was_not_acted_on_is_replayed_and_only_by_its_org(stage: Stage) -> None:
    await update(stage, "account_update", BAN)
    await update(stage, "a_field_of_tomorrow", {})
    done, kept = await stage.journal()
    assert (await replay(stage, done["id"])).code == "not_replayable"
    again = await replay(stage, kept["id"])
    assert (again.status, again.json["state"], again.json["id"]) == (200, "kept", kept["id"])
    assert (await replay(stage, kept["id"], stage.globex.key)).status == 404
    for nothing in (10**6, "x", "-1", "9" * 30):
        assert (await replay(stage, nothing)).status == 404
    sender = (await stage.call("POST", "/api/v1/keys", {"role": "sender"})).json["key"]
    assert (await replay(stage, kept["id"], sender)).status == 403


async def test_an_update_that_nobody_acted_on_is_done_when_it_is_replayed(stage: Stage) -> None:
    """As after a crash between the commit and the deed, or by a version that did not know the field."""
    for state in ("pending", "failed", "kept"):
        await update(stage, "business_capability_update", {LIMIT: 2000, "state": state})
        await stage.call("PATCH", f"{NUMBERS}/1001", {"tier": 7})
        await stage.database.run(f"UPDATE journal SET state = '{state}' WHERE body LIKE '%{state}%'")
        (item,) = [each for each in await stage.journal() if each["state"] == state]
        again = await replay(stage, item["id"])
        assert (again.status, again.json["state"]) == (200, "done")
        assert (await number(stage))["tier"] == 2000


@ON_SQLITE
async def test_an_old_update_that_is_replayed_undoes_nothing(stage: Stage) -> None:
    now = unix(stage)
    await update(stage, "account_update", BAN, time=now - 60)
    await stage.database.run("UPDATE journal SET state = 'failed'")
    await update(stage, "account_update", REINSTATE, time=now - 30)
    stage.manual.advance(seconds(60))
    (item,) = await stage.get(f"{JOURNAL}?state=failed")
    assert (await replay(stage, item["id"])).json["state"] == "done"
    assert await closed(stage) == []


@ON_SQLITE
async def test_a_status_that_can_be_read_now_moves_its_message(stage: Stage) -> None:
    message_id, wamid = await stage.sent_silently()
    assert (await stage.post(status_post(stage.acme, status(wamid, "delivered", timestamp="soon")))).status == 200
    (item,) = await stage.get(f"{JOURNAL}?state=failed")
    again = await replay(stage, item["id"])
    assert (again.json["state"], again.json["error"]) == ("failed", item["error"])
    await stage.database.run("UPDATE journal SET body = replace(body, 'soon', '1760000000')")
    assert (await replay(stage, item["id"])).json["state"] == "done"
    assert (await stage.message(message_id))["status"] == "DELIVERED"


@ON_SQLITE
async def test_a_message_without_an_id_stays_failed_with_its_reason(stage: Stage) -> None:
    assert (await stage.post(envelope((stage.acme, [change(stage.acme, messages=[a_text("")])])))).status == 200
    (item,) = await stage.get(f"{JOURNAL}?state=failed")
    assert (await replay(stage, item["id"])).json["error"] == "a message without an id"


@ON_SQLITE
async def test_what_belongs_to_no_number_any_more_fails(stage: Stage) -> None:
    await update(stage, "a_field_of_tomorrow", {})
    (item,) = await stage.journal()
    assert (await stage.call("DELETE", f"{NUMBERS}/1001")).status == 204
    assert (await replay(stage, item["id"])).json["error"] == "its number is no longer connected"


@ON_SQLITE
async def test_the_journal_is_forgotten_after_its_days(stage: Stage) -> None:
    await update(stage, "a_field_of_tomorrow", {})
    stage.manual.jump(days(29))
    assert await maintenance.prune_journal(stage.world) == 0
    stage.manual.jump(days(2))
    assert await maintenance.prune_journal(stage.world) == 1
    assert await stage.journal() == []
