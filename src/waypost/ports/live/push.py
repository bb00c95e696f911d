"""Push notifications: delivery to a device, and the queue of notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.model.ids import WorkerId
from waypost.model.push import (
    Notification,
    NotificationSettings,
    NotificationTask,
    NotifyVerdict,
    PushResult,
    SubscribedDevice,
    Subscription,
    Urgency,
)
from waypost.model.time import Instant, Span


class Pusher(Protocol):
    @property
    def public_key(self) -> str:
        """The key for browser subscriptions; the same in every process of a deployment, and after each restart."""

    async def deliver(
        self, to: Subscription, notification: Notification, *, keep: Span, urgency: Urgency = Urgency.NORMAL
    ) -> PushResult:
        """Send one notification to the device's push service, which keeps it for up to `keep` while the device is off.

        One request, never retried. Never raises for network errors: no answer is PushRetry, since a second
        notification of the same conversation replaces the first. Only the device can decrypt the notification; its
        push service learns neither the conversation nor the exact length.
        A disallowed endpoint is PushRefused and never called; invalid keys are PushGone.
        """


class Notifications(Protocol):
    """The notification queue in the Ledger. It is derived from feeds: posting a message writes nothing for it.

    Every message is an item of a feed, in order and without a gap. The feeds that users with a subscription follow are
    scanned from a stored position.
    """

    async def look(self, after: str, settings: NotificationSettings, now: Instant) -> str:
        """Scan some feeds, by name after `after`, and make due what `rules.live.push.notifiable_message` returns.

        Returns the name to continue from, empty at the end. Each item is processed once, even by concurrent scans: its
        conversation becomes due in the transaction that moves past it. Feeds that gain a follower are scanned, too.
        """

    async def to_notify(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[NotificationTask]:
        """Claim up to `limit` due conversations, longest waiting first, for the lease.

        Concurrent calls never return the same one; a task that is not settled in time is due again, whatever is posted
        in the meantime. Its listeners are the subscribed devices of all users who follow the feed and are participants
        now: not of users who left or were removed, nor of another org. The caller sets `connected`.
        """

    async def settle(
        self,
        task: NotificationTask,
        verdicts: Sequence[tuple[SubscribedDevice, NotifyVerdict]],
        look_again: Instant | None,
        now: Instant,
    ) -> bool:
        """Record the verdicts on listeners, and when the conversation is due again (None: not).

        False, without a change, if the claim was lost; but a dead subscription is removed nevertheless.
        A message that came since the claim keeps the conversation due. Only the very subscription that was claimed is
        removed, not one that the device has sent since. Notified sets `notified`, `notified_at` and no failures;
        NotifyDropped sets `notified` and no failures; NotifyLater sets the device's `not_before` and counts a failure.
        """

    async def next_notification(self) -> Instant | None:
        """When the next conversation may be claimed."""

    async def forget(self, before: Instant, limit: int) -> int:
        """Prune records of sent notifications, oldest first. Returns how many."""
