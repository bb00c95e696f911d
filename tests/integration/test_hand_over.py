"""What was said is handed over to a Log of its own, goes from the database an hour later, and is read as before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.conftest import OpenStage
from tests.integration.harness import ON_SQLITE, Stage
from tests.integration.live_devices import Device, chat, customer, history, house, people, person, said, say, sync
from tests.integration.thinking import PatientBot, wrote
from tests.integration.webhooks import PHONE
from waypost.adapters.local.log import MemoryLog
from waypost.adapters.sql.conversations import SqlFeeds
from waypost.flow import detect, hand_over, tend
from waypost.model.conversation import ConversationId, Entry, Spot
from waypost.model.ids import NumberId, OrgId
from waypost.model.report import Post
from waypost.model.time import Instant, days, hours, minutes, seconds
from waypost.ports.detector import Invariant
from waypost.ports.failure import Rejected, Unavailable
from waypost.ports.log import Line, Mark
from waypost.testing.contracts.arrivals import USER, known_as
from waypost.testing.contracts.examples import an_arrival
from waypost.testing.contracts.talking import END


class ShakyLog(MemoryLog):
    """It does not answer while it is away, or only loses its answers."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.mute = False
        self.refused = ""

    async def append(self, lines: Sequence[Line]) -> None:
        self._reached()
        if self.refused and any(self.refused in line.entry.body for line in lines):
            raise Rejected("it cannot keep this")
        await super().append(lines)
        if self.mute:
            raise Unavailable("no answer came")

    async def page(self, before: Spot, limit: int) -> Sequence[Entry]:
        self._reached()
        return await super().page(before, limit)

    async def some(self, spots: Sequence[Spot]) -> Sequence[Entry]:
        self._reached()
        return await super().some(spots)

    async def erase(self, spots: Sequence[Spot], at: Instant) -> None:
        self._reached()
        await super().erase(spots, at)

    async def settle(self, marks: Sequence[Mark]) -> None:
        self._reached()
        await super().settle(marks)

    def _reached(self) -> None:
        if self.away:
            raise Unavailable("it is away")

    def texts(self) -> list[str]:
        return [entry.body for entry in self.kept.values()]


@pytest.fixture
def log() -> ShakyLog:
    return ShakyLog()


@pytest.fixture
async def apart(set_up: OpenStage, log: ShakyLog) -> Stage:
    return await set_up(log=log)


async def bodies(stage: Stage) -> list[str]:
    """As the database has them."""
    return [row[0] for row in await stage.database.run("SELECT body FROM entry ORDER BY conversation_id, position")]


async def handed_over(stage: Stage) -> None:
    """Everything that feeds tell, also to the index of words."""

    async def look() -> bool:
        stage.manual.advance(seconds(1.1))
        behind = await stage.database.run(
            "SELECT f.name FROM feed f"
            " WHERE f.head > coalesce((SELECT min(r.seq) FROM feed_reader r WHERE r.feed = f.name), 0)"
            " OR (SELECT count(*) FROM feed_reader r WHERE r.feed = f.name) < 2"
        )
        return not behind

    assert await stage.eventually(look)


async def only_in_the_log(stage: Stage) -> None:
    """After the hour."""
    await handed_over(stage)
    stage.manual.jump(hours(1))
    await hand_over.empty_bodies(stage.world)
    assert set(await bodies(stage)) <= {"", "{}"}


def texts(page: Any) -> list[str]:
    return [message["content"]["text"] for message in page["messages"]]


async def test_a_history_is_read_as_before_when_its_bodies_are_only_in_the_log(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    talk = await customer(apart, text="from outside")
    where = await chat(apart, ann, [bob], "direct")
    for n in range(6):
        await said(apart, ann if n % 2 else bob, where, f"word {n}")
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


async def listed(stage: Stage, key: str) -> Any:
    return await stage.get("/api/v1/conversations", key=key)


async def test_bodies_stay_for_an_hour_after_they_were_handed_over(apart: Stage) -> None:
    ann, bob = await people(apart, 2)
    await said(apart, ann, await chat(apart, ann, [bob]), "hello")
    await handed_over(apart)
    apart.manual.jump(minutes(50))
    assert await hand_over.empty_bodies(apart.world) == 0
    apart.manual.jump(minutes(10))
    assert await hand_over.empty_bodies(apart.world) == 1


async def test_while_the_log_is_away_the_recent_part_is_shown_and_nothing_leaves_the_database(
    apart: Stage, log: ShakyLog
) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    await said(apart, ann, where, "old")
    await only_in_the_log(apart)
    log.away = True
    await said(apart, bob, where, "new")
    apart.manual.jump(hours(3))
    assert await hand_over.empty_bodies(apart.world) == 0
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
    await said(apart, ann, where, "old")
    await only_in_the_log(apart)
    log.away = True
    (shown,) = (await listed(apart, bob.token))["conversations"]
    assert (shown["conversation_id"], shown["last_message"], shown["unread"]) == (where, None, 1)
    log.away = False
    (shown,) = (await listed(apart, bob.token))["conversations"]
    assert shown["last_message"]["content"]["text"] == "old"


async def test_what_is_taken_back_goes_from_the_log_too(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    at_once, late = await said(apart, ann, where, "a slip"), await said(apart, ann, where, "a secret")
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
    await said(apart, ann, where, "hello")

    async def appended() -> bool:
        apart.manual.advance(seconds(1.1))
        return bool(log.kept)

    assert await apart.eventually(appended)
    assert await apart.database.run("SELECT 1 FROM handed_over") == []
    log.mute = False
    await only_in_the_log(apart)
    assert texts(await history(apart, ann, where)) == ["hello"]


async def test_a_device_that_was_away_for_long_catches_up_from_the_log(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    begun = await sync(apart, bob, cursors={})
    for n in range(3):
        await said(apart, ann, where, f"word {n}")
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


async def test_without_a_log_of_its_own_nothing_is_handed_over_and_nothing_is_away(stage: Stage) -> None:
    await wrote(stage, "hello")
    stage.manual.advance(hours(2))
    await tend.forget_feeds(stage.world)
    assert await stage.database.run("SELECT 1 FROM handed_over") == []
    assert await stage.database.run("SELECT 1 FROM feed_reader WHERE reader = 'log'") == []
    assert "" not in await bodies(stage)


@ON_SQLITE
async def test_what_the_log_has_lost_is_shown_as_that_and_found_out(apart: Stage, log: ShakyLog) -> None:
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    await said(apart, ann, where, "gone for good")
    await only_in_the_log(apart)
    log.kept.clear()
    (shown,) = (await history(apart, ann, where))["messages"]
    assert shown["content"]["type"] == "unavailable"
    (found,) = await detect.detect(apart.world, detect.Memory())
    assert (found.invariant, found.subject) == (Invariant.BODY_LOST, f"conversation {where}")


async def test_a_connected_device_stays_catching_up_while_the_log_is_away_and_goes_on(
    apart: Stage, log: ShakyLog
) -> None:
    """What is new in other feeds comes all the same."""
    ann, bob = await people(apart, 2)
    where = await chat(apart, ann, [bob], "direct")
    phone = Device(bob)
    async with house(apart) as home:
        await phone.live(home)
        await phone.leave()
        await said(apart, ann, where, "while you were away")
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


async def joined(stage: Stage) -> str:
    """Somebody hides their number, and shows it one day: one conversation in the end."""
    ledger, now = stage.world.ledger, stage.clock.now()
    number = NumberId("1001")
    for n, told in enumerate(
        (an_arrival(USER, now, number), an_arrival(PHONE, now, number), known_as(PHONE, USER, text="as one"))
    ):
        await ledger.journal.take(Post([], [], [replace(told, org_id=OrgId("acme"), number=number)]), Instant(now + n))
    (talk,) = await ledger.conversations.at(OrgId("acme"), f"user:{USER}")
    return str(talk.id)


@pytest.mark.parametrize("forgetful", [False, True])
@ON_SQLITE
async def test_what_was_moved_before_the_log_had_it_is_handed_over(
    forgetful: bool, apart: Stage, log: ShakyLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that rule the Log would never hear of it: the places that the feeds named are others' now."""
    if forgetful:

        async def nothing(*_: object) -> int:
            return 0

        monkeypatch.setattr(hand_over, "_deliver_moved", nothing)
    log.away = True
    where = await joined(apart)
    log.away = False
    await handed_over(apart)
    spots = [entry.spot for entry in await apart.world.ledger.conversations.entries(ConversationId(int(where)), END, 9)]
    kept = {(entry.conversation_id, entry.id_at) for entry in await log.some(spots)}
    missing = [spot for spot in spots if (spot.conversation_id, spot.id_at) not in kept]
    assert bool(missing) is forgetful


async def test_what_was_moved_after_it_went_is_read_from_the_spot_that_it_had(apart: Stage, log: ShakyLog) -> None:
    await wrote(apart, "by phone")
    await only_in_the_log(apart)
    where = await joined(apart)
    await handed_over(apart)
    shown = (await history(apart, apart.acme.key, where))["messages"]
    assert "by phone" in texts({"messages": shown})
    assert all(message["content"]["type"] != "unavailable" for message in shown)
    assert (await apart.get("/api/v1/search?q=by+phone"))["results"][0]["conversation_id"] == where


@ON_SQLITE
async def test_what_the_log_cannot_keep_stops_its_own_feed_and_no_other(apart: Stage, log: ShakyLog) -> None:
    log.refused = "poison"
    await wrote(apart, "poison", "after it")
    ann, bob = await people(apart, 2)
    await said(apart, ann, await chat(apart, ann, [bob]), "hello")

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
    """However long it is away. Without that rule it would never hear of what was said meanwhile."""
    real_forget = SqlFeeds.forget
    if forgetful:
        monkeypatch.setattr(SqlFeeds, "forget", lambda self, before, limit, **_: real_forget(self, before, limit))
    log.away = True
    await wrote(apart, "one", "two", "three")
    apart.manual.jump(days(40))
    await tend.forget_feeds(apart.world)
    log.away = False
    await handed_over(apart)
    assert len(log.kept) == (1 if forgetful else 3)
    apart.manual.jump(days(1))
    await tend.forget_feeds(apart.world)
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
    stage = await set_up(log=log, log_days=30)
    await customer(stage, account=stage.globex)
    changed = await stage.call("PATCH", "/api/v1/policy", {"historyDays": 7})
    assert (changed.status, changed.json["defaults"]["historyDays"]) == (200, 30)
    stage.manual.advance(seconds(3))
    await customer(stage)
    await handed_over(stage)
    assert log.lives == {"acme": days(7), "globex": days(30)}


class NotingLog(MemoryLog):
    """How long each org's messages are to live; a number has its org in its name."""

    def __init__(self) -> None:
        super().__init__()
        self.lives: dict[str, int] = {}

    async def append(self, lines: Sequence[Line]) -> None:
        for line in lines:
            assert line.expires_at is not None
            org = "acme" if line.entry.wamid == "wamid.in" and line.entry.conversation_id == 2 else "globex"
            self.lives[org] = line.expires_at - line.entry.id_at
        await super().append(lines)
