"""Turns: who answers which burst, and that it is answered once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import msgspec

from waypost.model.conversation import Claim, Conversation, ConversationId, EndedTurn, Entry, Lane, Position, Times
from waypost.model.ids import Fence, MessageId, OrgId, WorkerId
from waypost.model.message import Draft
from waypost.model.time import Instant, Span
from waypost.rules.lane import LeaseLost

TimesOf: TypeAlias = Callable[[OrgId], Times]


class TurnDemand(msgspec.Struct, frozen=True):
    owner: WorkerId
    slots: int


class Committed(msgspec.Struct, frozen=True, tag=True):
    lane: Lane
    replies: Sequence[MessageId]
    """In the outbox, in their order."""
    blocked: int
    """Replies that were not stored: the customer has said no, or another message has their idempotency key."""


class Postponed(msgspec.Struct, frozen=True, tag=True):
    """A failed turn is tried again, exactly the same burst."""

    at: Instant


class GivenUp(msgspec.Struct, frozen=True, tag=True):
    """A failed turn is a dead letter now."""

    floor: str


class NoConversation(msgspec.Struct, frozen=True, tag=True):
    """This org has none with that id."""


class FloorTaken(msgspec.Struct, frozen=True, tag=True):
    lane: Lane
    cancelled: Sequence[MessageId]
    """The bot's words that had not left yet."""


class OpenTurn(msgspec.Struct, frozen=True, kw_only=True):
    lane: Lane
    conversation: Conversation
    waiting: int
    """Messages that ask for an answer."""
    waiting_since: Instant | None
    """When the first of them was stored."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What a bot decided."""

    drafts: tuple[Draft, ...] = ()
    hand_over: str | None = None
    """To any person, for this reason."""


class Lanes(Protocol):
    async def claim(self, demand: TurnDemand, times_of: TimesOf, now: Instant) -> Sequence[Claim]:
        """Take turns that are due, and those whose worker fell silent; each is taken by one worker only.

        Whoever takes over gets exactly the burst that the first one had, under the same turn id.
        """

    async def commit(self, claim: Claim, answered: Answered, now: Instant) -> Committed | LeaseLost:
        """Store the replies and end the turn, together, if it is still this claim's; else change nothing."""

    async def fail(
        self, claim: Claim, error: str, times: Times, now: Instant, *, hopeless: bool = False, wait: Span | None = None
    ) -> Postponed | GivenUp | LeaseLost:
        """No answer came: try the same burst again after a while, or give it up and let a person see it."""

    async def renew(self, held: Sequence[tuple[ConversationId, Fence, Span]], now: Instant) -> set[ConversationId]:
        """Keep these turns for their lease from now; returns those that are still held."""

    async def let_go(self, claims: Sequence[Claim], now: Instant) -> None:
        """Give turns back before they were answered; no try is spent."""

    async def abandon(self, owner: WorkerId, now: Instant) -> int:
        """A worker is known to be gone: its turns may be taken over at once. Returns how many."""

    async def take_floor(
        self, org: OrgId, conversation: ConversationId, holder: str, now: Instant, actor: str
    ) -> FloorTaken | NoConversation:
        """A person answers from now on: the bot's turn is lost, what it said and was not sent is cancelled."""

    async def hand_back(
        self, org: OrgId, conversation: ConversationId, times: Times, now: Instant, actor: str
    ) -> FloorTaken | NoConversation:
        """The bot answers from now on."""

    async def next_due(self) -> Instant | None:
        """When the next turn is due or its lease ends."""

    async def stale(self, now: Instant) -> int:
        """How many turns are held by workers that fell silent."""

    async def open(self, org: OrgId, limit: int) -> Sequence[OpenTurn]:
        """Turns that are held or wait for their time, the longest first."""

    async def failed(self, org: OrgId, limit: int) -> Sequence[EndedTurn]:
        """Dead letters: turns that were given up, newest first."""

    async def ended(self, org: OrgId, conversation: ConversationId, hi: Position) -> EndedTurn | None:
        """How the turn up to this message ended, if it is this org's and has."""

    async def replay(
        self, org: OrgId, conversation: ConversationId, hi: Position, now: Instant, actor: str
    ) -> Lane | NoConversation | LeaseLost:
        """Let the bot answer a given-up burst after all; LeaseLost when something was answered since, or when it is
        none: it was replayed already, or never given up."""

    async def forget(self, before: Instant, limit: int) -> int:
        """Let go of turns that ended before then, the oldest first; dead letters stay. Returns how many."""

    async def history(self, conversation: ConversationId, before: Position, limit: int) -> Sequence[Entry]:
        """The latest entries before a position, oldest first."""
