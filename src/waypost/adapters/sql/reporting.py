"""The short way for most webhooks: nothing but statuses, each of a message that is known to be with the provider.

Such a status needs no queue, no wamid and no attempt: the delivery is locked, the rule decides, the report is kept. A
POST with anything else in it changes nothing here and goes the long way through the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql import rows
from waypost.adapters.sql.plan import Plan, Row, each
from waypost.adapters.sql.rows import FACTS, Facts
from waypost.adapters.sql.taking import Take
from waypost.adapters.sql.writing import once_per_wamid, write_deliveries
from waypost.model.ids import MessageId
from waypost.model.message import Delivery, Status
from waypost.model.report import StatusReport
from waypost.ports.journal import Move, Taken
from waypost.rules.delivery import report

_PAST_THE_QUEUE = (Status.SENT, Status.DELIVERED, Status.FAILED)


def is_short(intent: Take) -> bool:
    return intent.post.only_reports and all(told.echo for told in intent.post.reports)


def report_together(intents: Sequence[Take]) -> Plan[list[Taken | None]]:
    """One answer per intent; None where the long way is needed."""
    page = Page((yield from each("delivery_lock", spoken_of(intents))))
    answers = [page.take(intent) for intent in intents]
    yield from write_deliveries(page.moved())
    yield from each("report_insert", page.reports)
    yield from each("cost_insert", once_per_wamid(page.costs))
    return answers


def spoken_of(intents: Sequence[Take]) -> list[Row]:
    """The messages that the echoes name, in the order of their ids."""
    wanted = {told.echo.message_id for intent in intents for told in intent.post.reports if told.echo}
    return [(message_id,) for message_id in sorted(wanted)]


class Page:
    """Deliveries as they were found, and what has been decided on them so far."""

    def __init__(self, found: list[Row]) -> None:
        self.facts = {row[0]: Facts(*row[:FACTS]) for row in found}
        self.deliveries = {row[0]: rows.delivery(row) for row in found}
        self.changed: set[MessageId] = set()
        self.reports: list[Row] = []
        self.costs: list[Row] = []

    def moved(self) -> list[Delivery]:
        return [self.deliveries[message_id] for message_id in sorted(self.changed)]

    def take(self, intent: Take) -> Taken | None:
        if not all(self._is_plain(told) for told in intent.post.reports):
            return None
        moved: dict[MessageId, Move] = {}
        for told in intent.post.reports:
            before, after = self._apply(told, intent)
            if after is not before:
                first = moved.get(after.message_id)
                moved[after.message_id] = Move(first.before if first else before, after)
        late = len(intent.post.reports)
        return Taken(moved=list(moved.values()), early=0, late=late, unmatched=0, promoted=False)

    def _is_plain(self, told: StatusReport) -> bool:
        """Ours, inside the org that signed it, shown on no screen, and its try is the one the provider has."""
        known = self.facts.get(told.echo.message_id) if told.echo else None
        if known is None or known.org_id != told.org_id or known.sender != told.number or known.talk is not None:
            return False
        delivery = self.deliveries[known.message_id]
        return delivery.provider_id == told.wamid and delivery.status in _PAST_THE_QUEUE

    def _apply(self, told: StatusReport, intent: Take) -> tuple[Delivery, Delivery]:
        if told.echo is None:
            raise ValueError("a status without an echo is not plain")
        before = self.deliveries[told.echo.message_id]
        after = report(before, told.echo.fence, told, intent.now)
        if after is not before:
            self.deliveries[after.message_id] = after
            self.changed.add(after.message_id)
        self.reports.append(rows.report_row(told, before.message_id, told.echo.fence, intent.now))
        if told.charge:
            self.costs += rows.cost_rows(told, before.message_id)
        return before, after
