"""Messages are archived to a separate history store, and pruned from the database an hour later."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.history_apart import ShakyLog, bodies, handed_over, joined, only_in_the_log, prune, texts
from tests.integration.stage.live_devices import chat, customer, history, people, person, posted_id, say
from tests.integration.stage.thinking import wrote
from waypost.adapters.local.history import MemoryHistory
from waypost.adapters.sql.conversations.conversations import SqlFeeds
from waypost.flow.history import archive
from waypost.flow.operations import maintenance
from waypost.model.conversation import ConversationId
from waypost.model.time import days, hours, minutes, seconds
from waypost.ports.history.history import ArchiveEntry
from waypost.ports.platform.failure import Unavailable
from waypost.runtime.process import server
from waypost_testing.contracts.conversation_steps import END


async def test_bodies_stay_for_an_hour_after_they_were_handed_over(apart: Stage) -> None:
    ann, bob = await people(apart, 2)
    await posted_id(apart, ann, await chat(apart, ann, [bob]), "hello")
    await handed_over(apart)
    apart.manual.jump(minutes(50))
    assert await prune(apart) == 0
    apart.manual.jump(minutes(10))
    assert await prune(apart) == 1


async def test_what_is_taken_back_goes_from_the_log_too(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    at_once, late = await posted_id(apart, ann, where, "a slip"), await posted_id(apart, ann, where, "a secret")
    await apart.call("DELETE", f"/api/v1/messages/{at_once}", key=ann.token)
    await only_in_the_log(apart)
    assert any("a secret" in text for text in log.texts())
    answer = await apart.call("DELETE", f"/api/v1/messages/{late}", key=ann.token)
    assert answer.status == 204, answer
    await handed_over(apart)
    assert log.texts() == ["{}", "{}"]
    shown = (await history(apart, bob, where))["messages"]
    assert [message["content"] for message in shown] == [{"type": "deleted"}] * 2


async def test_an_answer_that_is_lost_costs_nothing_but_work(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    log.mute = True
    await posted_id(apart, ann, where, "hello")

    async def appended() -> bool:
        apart.manual.advance(seconds(1.1))
        return bool(log.kept)

    assert await apart.eventually(appended)
    assert await apart.database.run("SELECT 1 FROM handed_over") == []
    log.mute = False
    await only_in_the_log(apart)
    assert texts(await history(apart, ann, where)) == ["hello"]


@ON_SQLITE
async def test_a_log_that_is_lost_is_told_once_with_the_reason_and_so_is_its_return(
    set_up: OpenStage, log: ShakyLog
) -> None:
    """Also without traffic: from the start, and from then on."""
    log.away = True
    with capture_logs() as lines:
        stage = await set_up(log=log)

        async def history_events() -> list[str]:
            stage.manual.advance(seconds(1.1))
            return [line["event"] for line in lines if line["event"].startswith("history_")]

        async def has_events(count: int) -> bool:
            return len(await history_events()) >= count

        assert await stage.eventually(lambda: has_events(1))
        await wrote(stage, "hello")
        for _ in range(20):
            await stage.eventually(lambda: has_events(1))
        log.away = False
        assert await stage.eventually(lambda: has_events(2))
        log.away = True
        assert await stage.eventually(lambda: has_events(3))
    assert await history_events() == ["history_lost", "history_is_back", "history_lost"]
    assert [line["error"] for line in lines if line["event"] == "history_lost"] == ["it is away"] * 2


@ON_SQLITE
async def test_a_log_that_comes_and_is_anothers_is_told_with_that_reason_and_counts_as_lost(
    set_up: OpenStage, log: ShakyLog
) -> None:
    """A failure at the start would not tell the operator to fix the settings."""
    log.away = log.foreign = True
    with capture_logs() as lines:
        stage = await set_up(log=log)

        async def has_reasons(count: int) -> bool:
            stage.manual.advance(seconds(1.1))
            return len(reasons()) >= count

        def reasons() -> list[str]:
            return [line["error"] for line in lines if line["event"] == "history_lost"]

        assert await stage.eventually(lambda: has_reasons(1))
        log.away = False
        await wrote(stage, "hello")
        assert await stage.eventually(lambda: has_reasons(2))
        failures = await stage.metric("history_failure_total")

        async def fails_again() -> bool:
            return await has_reasons(1) and await stage.metric("history_failure_total") > failures + 5

        assert await stage.eventually(fails_again)
    assert reasons() == ["it is away", "it is another's"]
    assert "history_is_back" not in [line["event"] for line in lines]
    assert log.kept == {}


@ON_SQLITE
async def test_a_log_that_hangs_is_named_at_the_end_and_the_database_is_closed_all_the_same(
    set_up: OpenStage, log: ShakyLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CLOSING", 0.05)
    stage = await set_up(log=log)
    leaving = await stage.add_server()
    log.hangs = True
    with capture_logs() as lines:
        assert not await leaving.stop(seconds(0))
    assert [line["event"] for line in lines if "_did_not_" in line["event"]] == ["history_did_not_close"]
    with pytest.raises(Unavailable):
        await leaving.world.ledger.ping()
    log.hangs = False


async def test_without_a_log_of_its_own_nothing_is_handed_over_and_nothing_is_away(stage: Stage) -> None:
    await wrote(stage, "hello")
    stage.manual.advance(hours(2))
    await maintenance.prune_feeds(stage.world)
    assert await stage.database.run("SELECT 1 FROM handed_over") == []
    assert await stage.database.run("SELECT 1 FROM feed_reader WHERE reader = 'log'") == []
    assert "" not in await bodies(stage)


async def test_what_is_too_large_for_the_log_stays_in_the_database_and_the_others_go(
    apart: Stage, log: ShakyLog
) -> None:
    log.refused = "so much"
    where = await customer(apart)
    await wrote(apart, "large", rest="so much " * 200_000)
    await wrote(apart, "after it")
    await handed_over(apart)
    apart.manual.jump(hours(1))
    await prune(apart)
    assert sorted(map(bool, await bodies(apart))) == [False, False, True]
    assert [text for text in log.texts() if "so much" in text] == []
    ann = await person(apart)
    assert texts(await history(apart, ann, where)) == ["after it", "large", "hi"]
    assert await apart.metric("history_too_large_total") == 1


@pytest.mark.parametrize("forgetful", [False, True])
@ON_SQLITE
async def test_what_was_moved_before_the_log_had_it_is_handed_over(
    forgetful: bool, apart: Stage, log: ShakyLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that rule it would never be archived: the positions in the feeds belong to other messages now."""
    if forgetful:

        async def nothing(*_: object) -> int:
            return 0

        monkeypatch.setattr(archive, "_deliver_moved", nothing)
    log.away = True
    where = await joined(apart)
    log.away = False
    await handed_over(apart)
    spots = [
        entry.archive_key
        for entry in await apart.world.ledger.conversations.entries(ConversationId(int(where)), END, 9)
    ]
    kept = {(entry.conversation_id, entry.id_at) for entry in await log.some(spots)}
    missing = [spot for spot in spots if (spot.conversation_id, spot.id_at) not in kept]
    assert bool(missing) is forgetful


@ON_SQLITE
async def test_what_the_log_cannot_keep_stops_its_own_feed_and_no_other(apart: Stage, log: ShakyLog) -> None:
    log.refused = "poison"
    await wrote(apart, "poison", "after it")
    ann, bob = await people(apart, 2)
    await posted_id(apart, ann, await chat(apart, ann, [bob]), "hello")

    async def kept() -> bool:
        apart.manual.advance(seconds(1.1))
        return len(log.kept) == 1

    assert await apart.eventually(kept)
    assert "hello" in log.texts()[0]
    log.refused = ""
    await handed_over(apart)
    assert len(log.kept) == 3


@pytest.mark.parametrize("forgetful", [False, True])
@ON_SQLITE
async def test_feeds_are_not_forgotten_before_the_log_has_heard_of_them(
    forgetful: bool, apart: Stage, log: ShakyLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it is away. Without that rule messages from that time would never be archived."""
    real_forget = SqlFeeds.forget
    if forgetful:
        monkeypatch.setattr(SqlFeeds, "forget", lambda self, before, limit, **_: real_forget(self, before, limit))
    log.away = True
    await wrote(apart, "one", "two", "three")
    apart.manual.jump(days(40))
    await maintenance.prune_feeds(apart.world)
    log.away = False
    await handed_over(apart)
    assert len(log.kept) == (1 if forgetful else 3)
    apart.manual.jump(days(1))
    await maintenance.prune_feeds(apart.world)
    (left,) = await apart.database.run("SELECT count(*) FROM feed_item")
    assert left[0] == 1


async def test_how_far_a_message_came_is_kept_with_it(apart: Stage, log: ShakyLog) -> None:
    where = await customer(apart)
    ann = await person(apart)
    await say(apart, ann, where, "an answer")

    async def delivered() -> bool:
        apart.manual.advance(seconds(1.1))
        return any(entry.status == "delivered" for entry in log.kept.values())

    assert await apart.eventually(delivered)


async def test_an_org_says_how_long_its_history_is_kept(set_up: OpenStage) -> None:
    log = NotingLog()
    stage = await set_up(log=log, history_days=30)
    await customer(stage, account=stage.globex)
    changed = await stage.call("PATCH", "/api/v1/policy", {"historyDays": 7})
    assert (changed.status, changed.json["defaults"]["historyDays"]) == (200, 30)
    stage.manual.advance(seconds(3))
    await customer(stage)
    await handed_over(stage)
    assert log.lives == {"acme": days(7), "globex": days(30)}


class NotingLog(MemoryHistory):
    """How long each org's messages are kept; a number has its org in its name."""

    def __init__(self) -> None:
        super().__init__()
        self.lives: dict[str, int] = {}

    async def append(self, lines: Sequence[ArchiveEntry]) -> None:
        for line in lines:
            assert line.expires_at is not None
            org = "acme" if line.entry.wamid == "wamid.in" and line.entry.conversation_id == 2 else "globex"
            self.lives[org] = line.expires_at - line.entry.id_at
        await super().append(lines)
