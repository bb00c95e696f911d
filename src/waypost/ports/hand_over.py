"""From the Ledger to the Log: what the feeds told and the Log does not have yet, and bodies that only the Log keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.chat import FeedName
from waypost.model.conversation import ConversationId, Position
from waypost.model.log import Waiting
from waypost.model.reading import Stretch
from waypost.model.time import Instant


class Told(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An item of a feed that the Log is to hear of."""

    feed: FeedName
    seq: int
    at: Instant
    kind: str
    """message, deleted, status, or joined: the entries of the conversation that were moved are to be taken."""
    conversation_id: ConversationId
    waiting: Waiting | None
    """What the item is about. None where it was moved since, which a later item tells, or is another feed's to hand
    over: what several people's own feeds tell is taken from its sender's."""


class Emptied(msgspec.Struct, frozen=True):
    bodies: int
    more: bool
    """Come again at once."""


class HandOver(Protocol):
    async def told(self, stretches: Sequence[Stretch]) -> Sequence[Told]:
        """The items of these stretches that matter to the Log, feed by feed, in order."""

    async def moved(self, conversation: ConversationId, after: Position, limit: int) -> Sequence[Waiting]:
        """Of what was moved in or into a conversation, the next by position."""

    async def confirm(self, stretches: Sequence[Stretch], now: Instant) -> Sequence[Stretch]:
        """The Log has all of these. Returns those whose place was where they begin; the others were confirmed by
        somebody else, and nothing changes for them."""

    async def empty(self, before: Instant, limit: int, again: Instant, *, spare_waiting: bool) -> Emptied:
        """Empty the bodies of the messages in up to `limit` stretches that were confirmed before then, the oldest
        first, as far as the index of words has read their feeds. Never of what was erased, or moved since, or is too
        large for the Log, by `rules.hand_over.LARGEST_BODY`: nobody else has it. With `spare_waiting`, not what the bot
        is still to answer: that stretch is looked at again at `again`."""

    async def away(self, after: ConversationId, upto: ConversationId, share: float) -> Sequence[Waiting]:
        """Of each conversation with an id above the first, up to the second: its entry at this share of its length, if
        that one's body is only in the Log. For the loss detector, which comes with another share each time."""
