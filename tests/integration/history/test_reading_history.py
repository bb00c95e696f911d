"""Archived messages are read as before: histories, lists, devices, search, bots."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from structlog.testing import capture_logs

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.history_apart import ShakyLog, bodies, handed_over, joined, only_in_the_log, prune, texts
from tests.integration.stage.live_devices import Device, chat, customer, history, house, people, posted_id, sync
from tests.integration.stage.thinking import PatientBot, wrote
from waypost.adapters.local.history import MemoryHistory
from waypost.flow.operations import check_invariants
from waypost.model.time import days, hours, seconds
from waypost.ports.history.history import History
from waypost.ports.operations.invariants import Invariant
from waypost.runtime.doctor.findings import DoctorFinding
from waypost.runtime.doctor.history import of_bodies


async def test_a_history_is_read_as_before_when_its_bodies_are_only_in_the_log(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    talk = await customer(apart, text="from outside")
    where = await chat(apart, ann, [bob], "direct")
    for n in range(6):
        await posted_id(apart, ann if n % 2 else bob, where, f"word {n}")
    before = [
        await history(apart, ann, where),
        await history(apart, apart.acme.key, talk),
        await listed(apart, ann.token),
    ]
    await only_in_the_log(apart)
    assert len(log.kept) == 7
    after = [
        await history(apart, ann, where),
        await history(apart, apart.acme.key, talk),
        await listed(apart, ann.token),
    ]
    assert after == before
    assert texts(await history(apart, bob, where, limit=2)) == ["word 5", "word 4"]


@ON_SQLITE
async def test_a_log_that_the_settings_no_longer_name_is_told_and_no_moment_is_promised(
    set_up: OpenStage, log: ShakyLog
) -> None:
    apart = await set_up(log=log)
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    await posted_id(apart, ann, where, "old")
    begun = await sync(apart, bob, cursors={})
    await posted_id(apart, ann, where, "and more")
    assert await examined(apart, None) == []
    await only_in_the_log(apart)
    with capture_logs() as lines:
        apart.log = None
        apart.network.hosts["waypost.test"] = (await apart.add_server()).app

        async def warned() -> bool:
            return any(line["event"] == "history_not_configured" for line in lines)

        assert await apart.eventually(warned)
    (found,) = await examined(apart, None)
    assert (found.level, "WAYPOST_HISTORY_URL" in found.remedy) == ("wrong", True)
    refused = await apart.call("GET", f"/api/v1/conversations/{where}/messages", key=ann.token)
    assert (refused.status, refused.code, refused.headers.get("retry-after")) == (503, "history_unavailable", None)
    by_poll = await sync(apart, bob, expect=503, cursors=begun["heads"], epoch=begun["epoch"])
    assert by_poll["detail"] == refused.json["detail"]


async def examined(stage: Stage, log: History | None) -> Sequence[DoctorFinding]:
    return await of_bodies(stage.world.ledger, log, stage.world.policies, stage.clock.now())


@ON_SQLITE
async def test_the_doctor_finds_a_log_that_has_not_what_was_handed_over(set_up: OpenStage, log: ShakyLog) -> None:
    apart = await set_up(log=log)
    for text in ("one", "two"):
        await customer(apart, text=text)
    ann, bob = await people(apart, 2)
    await posted_id(apart, ann, await chat(apart, ann, [bob], "direct"), "hello")
    assert await examined(apart, MemoryHistory()) == []
    await only_in_the_log(apart)
    (well,) = await examined(apart, log)
    (another,) = await examined(apart, MemoryHistory())
    assert (well.level, another.level, "it has 0 of 2" in another.text) == ("ok", "wrong", True)
    assert "is it the right one" in another.remedy
    log.kept.pop(next(iter(log.kept)))
    (hurt,) = await examined(apart, log)
    assert (hurt.level, "it has 1 of 2" in hurt.text) == ("wrong", True)
    log.away = True
    assert await examined(apart, log) == [], "that is said of the history store itself"


@ON_SQLITE
async def test_the_doctor_looks_for_nothing_that_the_log_keeps_no_longer(set_up: OpenStage, log: ShakyLog) -> None:
    apart = await set_up(log=log, history_days=1.0)
    await customer(apart, text="old")
    await only_in_the_log(apart)
    assert [found.level for found in await examined(apart, MemoryHistory())] == ["wrong"]
    apart.manual.jump(days(2))
    assert await examined(apart, MemoryHistory()) == []


async def listed(stage: Stage, key: str) -> Any:
    return await stage.get("/api/v1/conversations", key=key)


async def test_while_the_log_is_away_the_recent_part_is_shown_and_nothing_leaves_the_database(
    apart: Stage, log: ShakyLog
) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    await posted_id(apart, ann, where, "old")
    await only_in_the_log(apart)
    log.away = True
    await posted_id(apart, bob, where, "new")
    apart.manual.jump(hours(3))
    assert await prune(apart) == 0
    page = await history(apart, ann, where)
    assert (texts(page), page["has_more"]) == (["new"], True)
    refused = await apart.call(
        "GET", f"/api/v1/conversations/{where}/messages?cursor={page['next_cursor']}", key=ann.token
    )
    assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "history_unavailable", "5")
    assert (await apart.call("GET", "/readyz")).status == 200
    log.away = False
    assert texts(await history(apart, ann, where)) == ["new", "old"]
    await only_in_the_log(apart)
    assert texts(await history(apart, ann, where)) == ["new", "old"]


async def test_a_list_shows_no_words_that_it_cannot_read(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    await posted_id(apart, ann, where, "old")
    await only_in_the_log(apart)
    log.away = True
    (shown,) = (await listed(apart, bob.token))["conversations"]
    assert (shown["conversation_id"], shown["last_message"], shown["unread"]) == (where, None, 1)
    log.away = False
    (shown,) = (await listed(apart, bob.token))["conversations"]
    assert shown["last_message"]["content"]["text"] == "old"


async def test_a_device_that_was_away_for_long_catches_up_from_the_log(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    begun = await sync(apart, bob, cursors={})
    for n in range(3):
        await posted_id(apart, ann, where, f"word {n}")
    await only_in_the_log(apart)
    log.away = True
    refused = await sync(apart, bob, expect=503, cursors=begun["heads"], epoch=begun["epoch"])
    assert refused["code"] == "history_unavailable"
    log.away = False
    page = await sync(apart, bob, cursors=begun["heads"], epoch=begun["epoch"])
    assert [item["message"]["content"]["text"] for item in page["items"]] == ["word 0", "word 1", "word 2"]


async def test_what_was_said_is_found_when_it_is_only_in_the_log(apart: Stage, log: ShakyLog) -> None:
    await wrote(apart, "My order is late")
    await only_in_the_log(apart)
    page = await apart.get("/api/v1/search?q=late")
    assert [found["snippet"]["text"] for found in page["results"]] == ["My order is late"]
    log.away = True
    assert (await apart.call("GET", "/api/v1/search?q=late")).code == "history_unavailable"


@ON_SQLITE
async def test_what_the_log_has_lost_is_shown_as_that_and_found_out(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    await posted_id(apart, ann, where, "gone for good")
    await only_in_the_log(apart)
    log.kept.clear()
    (shown,) = (await history(apart, ann, where))["messages"]
    assert shown["content"]["type"] == "unavailable"
    (found,) = await check_invariants.detect(apart.world, check_invariants.DetectorState())
    assert (found.invariant, found.subject) == (Invariant.BODY_LOST, f"conversation {where}")


@ON_SQLITE
async def test_one_lost_text_among_many_of_a_conversation_is_found_out(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    for n in range(12):
        await posted_id(apart, ann, where, f"line {n}")
    await only_in_the_log(apart)
    state = check_invariants.DetectorState()
    assert await check_invariants.detect(apart.world, state) == []
    log.forget(sorted(log.kept)[7:8])
    found = [one for _ in range(2) for one in await check_invariants.detect(apart.world, state)]
    assert [(one.invariant, one.subject) for one in found] == [(Invariant.BODY_LOST, f"conversation {where}")]


async def test_a_connected_device_stays_catching_up_while_the_log_is_away_and_goes_on(
    apart: Stage, log: ShakyLog
) -> None:
    """New items in other feeds still arrive."""
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    phone = Device(bob)
    async with house(apart) as home:
        await phone.live(home)
        await phone.leave()
        await posted_id(apart, ann, where, "while you were away")
        await only_in_the_log(apart)
        log.away = True
        await phone.hello(home)
        await customer(apart, text="from outside")
        running = asyncio.ensure_future(keep_time_going(apart))
        await phone.hears("from outside")
        assert phone.texts() == ["from outside"]
        await phone.say("send", client_message_id="mine", conversation_id=where, content={"type": "text", "text": "hi"})
        await phone.until("ack")
        log.away = False
        await phone.until("live")
        running.cancel()
        assert sorted(phone.texts()) == ["from outside", "hi", "while you were away"]
        await phone.leave()


async def keep_time_going(stage: Stage) -> None:
    while True:
        stage.manual.advance(seconds(0.5))
        await asyncio.sleep(0.01)


async def test_a_bot_is_told_what_only_the_log_has(set_up: OpenStage, log: ShakyLog) -> None:
    bot = PatientBot()
    bot.history = 5
    stage = await set_up(bot=bot, log=log)
    await wrote(stage, "first")
    stage.manual.advance(seconds(4))
    bot.says("an answer")
    await stage.eventually(lambda: has_said(stage, 2))
    await only_in_the_log(stage)
    await wrote(stage, "second")
    stage.manual.advance(seconds(4))
    await stage.eventually(lambda: has_asked(bot, 2))
    assert [line.text for line in bot.asked[1].history] == ["first", "an answer"]
    bot.says("another")
    log.away = True
    await wrote(stage, "third")
    stage.manual.advance(seconds(4))
    await stage.eventually(lambda: has_asked(bot, 3))
    assert [line.text for line in bot.asked[2].history][:1] != ["first"], "the customer waits for no history"
    assert [line.text for line in bot.asked[2].messages] == ["third"]
    bot.says(None)


async def has_said(stage: Stage, count: int) -> bool:
    return len(await bodies(stage)) >= count


async def has_asked(bot: PatientBot, times: int) -> bool:
    return len(bot.asked) >= times


async def test_what_was_moved_after_it_went_is_read_from_the_spot_that_it_had(apart: Stage, log: ShakyLog) -> None:
    await wrote(apart, "by phone")
    await only_in_the_log(apart)
    where = await joined(apart)
    await handed_over(apart)
    shown = (await history(apart, apart.acme.key, where))["messages"]
    assert "by phone" in texts({"messages": shown})
    assert all(message["content"]["type"] != "unavailable" for message in shown)
    assert (await apart.get("/api/v1/search?q=by+phone"))["results"][0]["conversation_id"] == where
