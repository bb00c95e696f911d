"""The contract of hints: every listener is woken, and a late one only loses time."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from waypost.model.time import Span, seconds
from waypost.ports.platform.hints import GONE, OUTBOX, Hints, about_message, worker_gone

SOON: Span = seconds(10)
"""Far longer than a hint takes, so that only a hint ends the wait."""
NOW: Span = Span(0)

TwoHints: TypeAlias = tuple[Hints, Hints]
"""Of two processes on one machine."""


class HintsContract:
    async def test_a_hint_wakes_whoever_waits(self, hints: Hints) -> None:
        with hints.listen(OUTBOX) as listener:
            waiting = asyncio.ensure_future(listener.wait(SOON))
            await asyncio.sleep(0)  # it waits now
            hints.give([OUTBOX])
            assert await waiting

    async def test_a_hint_between_listening_and_waiting_is_not_missed(self, hints: Hints) -> None:
        with hints.listen(OUTBOX) as listener:
            hints.give([OUTBOX])
            assert await listener.wait(NOW)

    async def test_without_a_hint_the_wait_ends_in_time(self, hints: Hints) -> None:
        with hints.listen(OUTBOX) as listener:
            assert not await listener.wait(seconds(0.01))

    async def test_hints_are_coalesced(self, hints: Hints) -> None:
        with hints.listen(OUTBOX) as listener:
            for _ in range(5):
                hints.give([OUTBOX])
            assert await listener.wait(NOW)
            assert not await listener.wait(NOW)

    async def test_a_hint_before_listening_is_not_heard(self, hints: Hints) -> None:
        hints.give([OUTBOX])
        with hints.listen(OUTBOX) as listener:
            assert not await listener.wait(NOW)

    async def test_only_those_who_listen_to_the_topic_are_woken(self, hints: Hints) -> None:
        with hints.listen(about_message(1)) as one, hints.listen(about_message(2)) as two:
            hints.give([about_message(1)])
            assert await one.wait(NOW)
            assert not await two.wait(NOW)

    async def test_everyone_who_listens_is_woken(self, hints: Hints) -> None:
        with hints.listen(OUTBOX) as one, hints.listen(OUTBOX) as two:
            hints.give([about_message(1), OUTBOX])
            assert await one.wait(NOW)
            assert await two.wait(NOW)

    async def test_whoever_stops_listening_leaves_the_others_alone(self, hints: Hints) -> None:
        with hints.listen(OUTBOX) as staying:
            with hints.listen(OUTBOX):
                pass
            hints.give([OUTBOX])
            assert await staying.wait(NOW)

    async def test_an_ear_on_a_kind_of_hint_is_told_the_names(self, hints: Hints) -> None:
        with hints.listen(GONE) as listener, hints.listen(worker_gone("a")) as exact:
            hints.give([worker_gone("a"), about_message(1), worker_gone("b:1"), worker_gone("a")])
            assert await listener.wait(NOW)
            assert listener.named() == ["a", "b:1"]
            assert listener.named() == []
            assert await exact.wait(NOW)
            assert exact.named() == []

    async def test_giving_nothing_wakes_nobody(self, hints: Hints) -> None:
        with hints.listen(OUTBOX) as listener:
            hints.give([])
            assert not await listener.wait(NOW)


class LocalBroadcastContract:
    """For hints that reach the other processes of the machine."""

    async def test_a_hint_wakes_the_other_process(self, two_hints: TwoHints) -> None:
        here, there = two_hints
        with there.listen(OUTBOX) as listener:
            here.give([OUTBOX])
            assert await listener.wait(SOON)

    async def test_the_other_process_is_told_the_names(self, two_hints: TwoHints) -> None:
        here, there = two_hints
        with there.listen(GONE) as listener:
            here.give([worker_gone("a"), worker_gone("b")])
            assert await listener.wait(SOON)
            assert listener.named() == ["a", "b"]

    async def test_every_topic_of_a_long_list_arrives(self, two_hints: TwoHints) -> None:
        here, there = two_hints
        topics = [about_message(n) for n in range(6_000)]
        with there.listen(topics[0]) as first, there.listen(topics[-1]) as last:
            here.give(topics)
            assert await first.wait(SOON)
            assert await last.wait(SOON)

    async def test_a_hint_comes_back_to_nobody(self, two_hints: TwoHints) -> None:
        here, there = two_hints
        with here.listen(OUTBOX) as own, there.listen(OUTBOX) as listener:
            here.give([OUTBOX])
            assert await listener.wait(SOON)
            assert await own.wait(NOW)
            there.give(["answer"])
            with here.listen("answer") as answer:
                assert await answer.wait(SOON)
            assert not await own.wait(NOW)

    async def test_a_process_that_hung_up_is_not_missed(self, two_hints: TwoHints) -> None:
        here, there = two_hints
        there.close()
        with here.listen(OUTBOX) as own:
            here.give([OUTBOX])
            assert await own.wait(SOON)
