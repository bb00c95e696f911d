"""The contract of a channel: one message out, and never a doubt about which of five ways it ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from waypost.model.outcome import Accepted, Outcome, Rejected, Unreached, Unsure
from waypost.rules.catalogue import Action, Catalogue


class Mood(StrEnum):
    """What the other side does with the next message."""

    TAKE = "take"
    REFUSE_FOR_GOOD = "refuse for good"
    REFUSE_FOR_NOW = "refuse for now"
    TAKE_AND_HANG_UP = "take and hang up"
    """Before it has answered."""
    TAKE_AND_SAY_NOTHING = "take and say nothing"
    """For longer than the adapter waits."""


class Stage(Protocol):
    """What a channel's test brings: its adapter, and another side that does as it is told."""

    codes: Catalogue
    """Which decides what becomes of a Rejected."""
    secrets: tuple[str, ...]
    """What no outcome may show."""

    def be(self, mood: Mood) -> None:
        """From now on; every refusal repeats the secrets, as a careless server would."""

    async def leave(self) -> None:
        """The other side goes away: nobody listens at its address any more."""

    async def send(self, text: str) -> Outcome:
        """A new message with this text, through the adapter."""

    def arrived(self) -> list[str]:
        """The texts that the other side took, in order, answered or not."""


class ChannelContract:
    """Inherit it, and give it a fixture `stage`."""

    async def test_a_message_that_is_taken_is_accepted_under_an_id_of_its_own(self, stage: Stage) -> None:
        outcomes = [await stage.send("one"), await stage.send("two")]
        ids = {outcome.wamid for outcome in outcomes if isinstance(outcome, Accepted)}
        assert len(ids) == 2, outcomes
        assert all(0 < len(given) <= 255 and given.isprintable() for given in ids)
        assert stage.arrived() == ["one", "two"]

    async def test_a_refusal_for_good_is_rejected_with_a_code_that_fails(self, stage: Stage) -> None:
        stage.be(Mood.REFUSE_FOR_GOOD)
        outcome = await stage.send("one")
        assert isinstance(outcome, Rejected), outcome
        assert stage.codes.action(outcome.code) is Action.FAIL
        assert outcome.message
        assert stage.arrived() == []

    async def test_a_refusal_for_now_is_rejected_with_a_code_that_is_retried(self, stage: Stage) -> None:
        stage.be(Mood.REFUSE_FOR_NOW)
        outcome = await stage.send("one")
        assert isinstance(outcome, Rejected), outcome
        assert stage.codes.action(outcome.code) is Action.RETRY
        assert stage.arrived() == []

    async def test_nobody_there_is_unreached(self, stage: Stage) -> None:
        await stage.leave()
        assert isinstance(await stage.send("one"), Unreached)

    async def test_nobody_there_any_more_is_unreached(self, stage: Stage) -> None:
        """A connection that was kept from an earlier message must not turn this into a doubt."""
        assert isinstance(await stage.send("one"), Accepted)
        await stage.leave()
        assert isinstance(await stage.send("two"), Unreached)
        assert stage.arrived() == ["one"]

    async def test_taken_and_hung_up_is_unsure_and_not_sent_twice(self, stage: Stage) -> None:
        stage.be(Mood.TAKE_AND_HANG_UP)
        assert isinstance(await stage.send("one"), Unsure)
        assert stage.arrived() == ["one"]

    async def test_taken_and_not_answered_is_unsure_and_not_sent_twice(self, stage: Stage) -> None:
        stage.be(Mood.TAKE_AND_SAY_NOTHING)
        assert isinstance(await stage.send("one"), Unsure)
        assert stage.arrived() == ["one"]

    async def test_whatever_went_wrong_the_next_message_goes(self, stage: Stage) -> None:
        for mood in Mood:
            stage.be(mood)
            await stage.send(mood)
            stage.be(Mood.TAKE)
            assert isinstance(await stage.send(f"after {mood}"), Accepted)
            assert stage.arrived().count(f"after {mood}") == 1

    async def test_no_outcome_shows_a_secret(self, stage: Stage) -> None:
        assert stage.secrets
        for mood in Mood:
            stage.be(mood)
            shown = repr(await stage.send("one"))
            assert not [secret for secret in stage.secrets if secret in shown], mood
