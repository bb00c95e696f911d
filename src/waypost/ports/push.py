"""Push: one notice to one device that is not connected, and the list of who is to be told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.ids import WorkerId
from waypost.model.push import Habits, Listener, Notice, Result, Subscription, Talk, Urgency, Verdict
from waypost.model.time import Instant, Span


class Pusher(Protocol):
    @property
    def public_key(self) -> str:
        """What a browser must subscribe with; the same in every process of a deployment, and after each restart."""

    async def deliver(
        self, to: Subscription, notice: Notice, *, keep: Span, urgency: Urgency = Urgency.NORMAL
    ) -> Result:
        """Hand one notice to the device's push service, which keeps it for a device that is off, at most for `keep`.

        One request, never repeated by itself. Never raises for what the network or the other side does: no answer is
        Later, since a second notice of the same conversation takes the place of the first. Only the device can read
        the notice; its push service learns neither the conversation nor the exact length.
        An address that notices may not be sent to is Refused and never called; keys that are none are Gone.
        """


class Notices(Protocol):
    """In the Ledger. Who is told is found out here, not where a message is posted: a post writes nothing for it.

    Every message is an item of a feed, and feeds are kept, in order and without a gap. So those that somebody with a
    subscription follows are looked through, behind a number that is stored.
    """

    async def look(self, after: str, habits: Habits, now: Instant) -> str:
        """Look some of the feeds through, by name after `after`: what `rules.push.to_tell` names is due from then on.

        Returns the name to go on from, empty at the end. Once, whoever looks at the same time: each item makes its
        conversation due in the transaction that goes past it. A feed that a follower joins is looked through, too.
        """

    async def to_notify(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[Talk]:
        """Take up to `limit` conversations that are due, longest waiting first, for as long as the lease.

        Two who ask at once never get the same one; what is not settled in time is due again, whatever is posted
        meanwhile. A talk's listeners are the devices with a subscription of everybody who follows its feed and takes
        part now: not of who has left or was removed, nor of another org. `connected` is left for others to say.
        """

    async def settle(
        self, talk: Talk, verdicts: Sequence[tuple[Listener, Verdict]], look_again: Instant | None, now: Instant
    ) -> bool:
        """Write what became of the listeners that have a verdict, and when the conversation is due again (None: not).

        False, and nothing changes, when it is no longer this claim's; but a Dead subscription is removed all the same.
        A message that came since the claim keeps the conversation due. Only the very subscription that was claimed is
        removed, not one that the device has sent since. Told sets `told`, `told_at` and no failures; Dropped sets
        `told` and no failures; PutOff sets the device's `not_before` and counts a failure.
        """

    async def next_notice(self) -> Instant | None:
        """When the next conversation may be taken."""

    async def forget(self, before: Instant, limit: int) -> int:
        """Let go of who was told of what, the oldest first. Returns how many."""
