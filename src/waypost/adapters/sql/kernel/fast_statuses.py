"""The fast path of most webhooks: only statuses, each of a message that the provider has accepted.

Such a status needs no queue, no wamid and no attempt: lock the delivery, apply the rule, store the status. A POST with
anything else in it changes nothing here and takes the full path through the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.engine.plan import Plan, Row, each
from waypost.adapters.sql.kernel.apply_webhook import ApplyWebhook
from waypost.adapters.sql.kernel.flush import once_per_wamid, write_deliveries
from waypost.adapters.sql.rows import message_rows
from waypost.adapters.sql.rows.message_rows import FACTS, MessageFacts
from waypost.model.ids import MessageId
from waypost.model.message import Delivery, Status
from waypost.model.webhook import StatusUpdate
from waypost.ports.receiving.journal import AppliedWebhook, DeliveryChange
from waypost.rules.sending.delivery import apply_status

_PAST_THE_QUEUE = (Status.SENT, Status.DELIVERED, Status.FAILED)


def is_fast_status(intent: ApplyWebhook) -> bool:
    return intent.post.only_statuses and all(update.echo for update in intent.post.statuses)


def apply_statuses_fast(intents: Sequence[ApplyWebhook]) -> Plan[list[AppliedWebhook | None]]:
    """Return one answer per intent; None if it needs the full path."""
    batch = DeliveryBatch((yield from each("delivery_lock", named_messages(intents))))
    answers = [batch.apply(intent) for intent in intents]
    yield from write_deliveries(batch.moved())
    yield from each("report_insert", batch.status_rows)
    yield from each("cost_insert", once_per_wamid(batch.costs))
    return answers


def named_messages(intents: Sequence[ApplyWebhook]) -> list[Row]:
    """The messages that the echoes name, in the order of their ids."""
    wanted = {update.echo.message_id for intent in intents for update in intent.post.statuses if update.echo}
    return [(message_id,) for message_id in sorted(wanted)]


class DeliveryBatch:
    """The deliveries of a batch, with the changes decided so far."""

    def __init__(self, found: list[Row]) -> None:
        self.facts = {row[0]: MessageFacts(*row[:FACTS]) for row in found}
        self.deliveries = {row[0]: message_rows.delivery(row) for row in found}
        self.changed: set[MessageId] = set()
        self.status_rows: list[Row] = []
        self.costs: list[Row] = []

    def moved(self) -> list[Delivery]:
        return [self.deliveries[message_id] for message_id in sorted(self.changed)]

    def apply(self, intent: ApplyWebhook) -> AppliedWebhook | None:
        if not all(self._is_plain(update) for update in intent.post.statuses):
            return None
        moved: dict[MessageId, DeliveryChange] = {}
        for update in intent.post.statuses:
            before, after = self._apply(update, intent)
            if after is not before:
                first = moved.get(after.message_id)
                moved[after.message_id] = DeliveryChange(first.before if first else before, after)
        late = len(intent.post.statuses)
        return AppliedWebhook(moved=list(moved.values()), early=0, late=late, unmatched=0, promoted=False)

    def _is_plain(self, update: StatusUpdate) -> bool:
        """The message belongs to the signing org, no conversation shows it, and this attempt is the accepted one."""
        known = self.facts.get(update.echo.message_id) if update.echo else None
        if (
            known is None
            or known.org_id != update.org_id
            or known.sender != update.number
            or known.shown_in is not None
        ):
            return False
        delivery = self.deliveries[known.message_id]
        return delivery.provider_id == update.wamid and delivery.status in _PAST_THE_QUEUE

    def _apply(self, update: StatusUpdate, intent: ApplyWebhook) -> tuple[Delivery, Delivery]:
        if update.echo is None:
            raise ValueError("a status without an echo must take the full path")
        before = self.deliveries[update.echo.message_id]
        after = apply_status(before, update.echo.fence, update, intent.now)
        if after is not before:
            self.deliveries[after.message_id] = after
            self.changed.add(after.message_id)
        self.status_rows.append(message_rows.report_row(update, before.message_id, update.echo.fence, intent.now))
        if update.charge:
            self.costs += message_rows.cost_rows(update, before.message_id)
        return before, after
