"""A history store that loses what it confirmed: it is asked before bodies are pruned, and given again what it lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.history_apart import ShakyLog, bodies, handed_over, only_in_the_log, prune, texts
from tests.integration.stage.live_devices import chat, history, people, posted_id
from tests.integration.stage.thinking import wrote
from waypost.flow.history import verify
from waypost.model.time import Instant, days, hours, minutes, seconds
from waypost.ports.history.history import ArchiveEntry
from waypost.ports.platform.failure import HistoryUnavailable


async def test_what_it_lost_is_given_to_it_again_before_the_database_lets_go_of_it(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    for text in ("one", "two", "three"):
        await posted_id(apart, ann, where, text)
    await handed_over(apart)
    log.forget(sorted(log.kept)[1:])
    apart.manual.jump(hours(1))
    with capture_logs() as logged:
        await prune(apart)
    assert len(log.kept) == 3
    assert sum(line["messages"] for line in logged if line["event"] == "history_forgot") == 2
    assert await apart.metric("history_forgotten_total") == 2
    assert "two" in "".join(await bodies(apart)), "it may lose them again, so they stay for another hour"
    await only_in_the_log(apart)
    assert texts(await history(apart, bob, where)) == ["three", "two", "one"]


async def test_an_erasure_that_it_lost_is_given_to_it_again(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    secret = await posted_id(apart, ann, where, "a secret")
    await handed_over(apart)
    before = dict(log.kept)
    await apart.call("DELETE", f"/api/v1/messages/{secret}", key=ann.token)
    await handed_over(apart)
    assert log.texts() == ["{}"]
    log.kept = before
    await only_in_the_log(apart)
    assert log.texts() == ["{}"]


@ON_SQLITE
async def test_a_store_that_does_not_answer_delays_the_pruning(apart: Stage, log: ShakyLog) -> None:
    await wrote(apart, "hello")
    await handed_over(apart)
    apart.manual.jump(hours(1))
    log.away = True
    with pytest.raises(HistoryUnavailable):
        await prune(apart)
    assert "hello" in "".join(await bodies(apart))
    log.away = False
    assert await prune(apart) == 1


@ON_SQLITE
async def test_what_it_cannot_keep_any_more_stays_and_blocks_nothing_else(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    await wrote(apart, "poison")
    await posted_id(apart, ann, where, "hello")
    await handed_over(apart)
    log.forget(list(log.kept))
    log.refused = "poison"
    for _ in range(2):
        apart.manual.jump(hours(1))
        await prune(apart)
    (left,) = [text for text in await bodies(apart) if text]
    assert "poison" in left


@ON_SQLITE
async def test_what_has_expired_in_it_is_not_given_to_it_again(set_up: OpenStage, log: ShakyLog) -> None:
    stage = await set_up(log=log, history_days=1.0)
    await wrote(stage, "old")
    await handed_over(stage)
    log.forget(list(log.kept))
    stage.manual.jump(days(2))
    assert await prune(stage) == 1
    assert log.kept == {}
    assert await stage.metric("history_forgotten_total") == 0


@ON_SQLITE
async def test_a_clock_that_is_ahead_does_not_shorten_the_time_in_which_it_may_lose_something(apart: Stage) -> None:
    await wrote(apart, "hello")
    await handed_over(apart)
    apart.manual.jump(hours(25))
    pruner = verify.BodyPruner()
    assert await pruner.round(apart.world) == 0
    apart.manual.advance(verify.UNSYNCED)
    assert await pruner.round(apart.world) == 1


@ON_SQLITE
async def test_what_was_given_again_is_waited_for_again(apart: Stage, log: ShakyLog) -> None:
    await wrote(apart, "hello")
    await handed_over(apart)
    pruner = verify.BodyPruner()
    apart.manual.jump(hours(1))
    assert await pruner.round(apart.world) == 0
    log.forget(list(log.kept))
    apart.manual.advance(verify.UNSYNCED)
    assert await pruner.round(apart.world) == 0
    assert len(log.kept) == 1
    apart.manual.jump(hours(1))
    assert await pruner.round(apart.world) == 0
    apart.manual.advance(verify.UNSYNCED)
    assert await pruner.round(apart.world) == 1


@ON_SQLITE
async def test_what_was_just_given_again_stays_although_another_process_was_about_to_empty_it(
    apart: Stage, log: ShakyLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await wrote(apart, "hello")
    await handed_over(apart)
    apart.manual.jump(hours(1))
    due = await apart.world.ledger.archive.confirmed(Instant(0), apart.clock.now(), 9)
    log.forget(list(log.kept))
    append, emptied = log.append, list[int]()

    async def append_and_be_overtaken(lines: Sequence[ArchiveEntry]) -> None:
        await append(lines)
        emptied.append(await verify.prune_bodies(due, apart.world))

    monkeypatch.setattr(log, "append", append_and_be_overtaken)
    await prune(apart)
    assert emptied == [0]
    assert "hello" in "".join(await bodies(apart)), "the store may lose it once more"


@ON_SQLITE
async def test_after_an_outage_what_it_lost_is_given_to_it_at_once(apart: Stage, log: ShakyLog) -> None:
    """Not only an hour later; what it confirmed long before is not asked for."""
    watch = apart.world.history_watch

    async def knows(lost: bool) -> bool:
        apart.manual.advance(seconds(1.1))
        return (watch.lost is not None) is lost

    await wrote(apart, "long ago")
    await handed_over(apart)
    early = set(log.kept)
    apart.manual.jump(minutes(5))
    await wrote(apart, "just now")
    await handed_over(apart)
    log.away = True
    log.forget(list(log.kept))
    assert await apart.eventually(lambda: knows(True))
    log.away = False
    assert await apart.eventually(lambda: knows(False))
    assert ["just now" in text for text in log.texts()] == [True]
    assert early.isdisjoint(log.kept)
