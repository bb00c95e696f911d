"""The contract of a channel: one message out, and one of five definite outcomes."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from waypost.model.outcome import Accepted, Outcome, ProviderRejected, Unreached, Unsure
from waypost.rules.limits.error_catalogue import ErrorAction, ErrorCatalogue


class ChannelPeerMode(StrEnum):
    """How the other side treats the next message."""

    TAKE = "take"
    REFUSE_FOR_GOOD = "refuse for good"
    REFUSE_FOR_NOW = "refuse for now"
    TAKE_AND_HANG_UP = "take and hang up"
    """Before it has answered."""
    TAKE_AND_SAY_NOTHING = "take and say nothing"
    """For longer than the adapter waits."""


class ChannelFixture(Protocol):
    """What the test of a channel provides: its adapter, and a scripted other side."""

    codes: ErrorCatalogue
    """Decides the outcome of a Rejected."""
    secrets: tuple[str, ...]
    """Secrets that no outcome may show."""

    def be(self, mood: ChannelPeerMode) -> None:
        """From now on; every refusal repeats the secrets, as a careless server would."""

    async def leave(self) -> None:
        """The other side stops listening."""

    async def send(self, text: str) -> Outcome:
        """Send a new message with this text through the adapter."""

    def arrived(self) -> list[str]:
        """The texts that the other side received, in order, answered or not."""


class ChannelContract:
    """Inherit it, and provide a fixture `stage`."""

    async def test_a_message_that_is_taken_is_accepted_under_an_id_of_its_own(self, stage: ChannelFixture) -> None:
        outcomes = [await stage.send("one"), await stage.send("two")]
        ids = {outcome.wamid for outcome in outcomes if isinstance(outcome, Accepted)}
        assert len(ids) == 2, outcomes
        assert all(0 < len(given) <= 255 and given.isprintable() for given in ids)
        assert stage.arrived() == ["one", "two"]

    async def test_a_refusal_for_good_is_rejected_with_a_code_that_fails(self, stage: ChannelFixture) -> None:
        stage.be(ChannelPeerMode.REFUSE_FOR_GOOD)
        outcome = await stage.send("one")
        assert isinstance(outcome, ProviderRejected), outcome
        assert stage.codes.action(outcome.code) is ErrorAction.FAIL
        assert outcome.message
        assert stage.arrived() == []

    async def test_a_refusal_for_now_is_rejected_with_a_code_that_is_retried(self, stage: ChannelFixture) -> None:
        stage.be(ChannelPeerMode.REFUSE_FOR_NOW)
        outcome = await stage.send("one")
        assert isinstance(outcome, ProviderRejected), outcome
        assert stage.codes.action(outcome.code) is ErrorAction.RETRY
        assert stage.arrived() == []

    async def test_nobody_there_is_unreached(self, stage: ChannelFixture) -> None:
        await stage.leave()
        assert isinstance(await stage.send("one"), Unreached)

    async def test_nobody_there_any_more_is_unreached(self, stage: ChannelFixture) -> None:
        """A connection kept from an earlier message must not make the outcome unsure."""
        assert isinstance(await stage.send("one"), Accepted)
        await stage.leave()
        assert isinstance(await stage.send("two"), Unreached)
        assert stage.arrived() == ["one"]

    async def test_taken_and_hung_up_is_unsure_and_not_sent_twice(self, stage: ChannelFixture) -> None:
        stage.be(ChannelPeerMode.TAKE_AND_HANG_UP)
        assert isinstance(await stage.send("one"), Unsure)
        assert stage.arrived() == ["one"]

    async def test_taken_and_not_answered_is_unsure_and_not_sent_twice(self, stage: ChannelFixture) -> None:
        stage.be(ChannelPeerMode.TAKE_AND_SAY_NOTHING)
        assert isinstance(await stage.send("one"), Unsure)
        assert stage.arrived() == ["one"]

    async def test_whatever_went_wrong_the_next_message_goes(self, stage: ChannelFixture) -> None:
        for mood in ChannelPeerMode:
            stage.be(mood)
            await stage.send(mood)
            stage.be(ChannelPeerMode.TAKE)
            assert isinstance(await stage.send(f"after {mood}"), Accepted)
            assert stage.arrived().count(f"after {mood}") == 1

    async def test_no_outcome_shows_a_secret(self, stage: ChannelFixture) -> None:
        assert stage.secrets
        for mood in ChannelPeerMode:
            stage.be(mood)
            shown = repr(await stage.send("one"))
            assert not [secret for secret in stage.secrets if secret in shown], mood
