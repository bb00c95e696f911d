"""`waypost why`: explains one message; the first line is the answer."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from waypost.flow.operations.why_waiting import circumstances
from waypost.flow.world import World
from waypost.model.ids import MessageId
from waypost.model.time import to_datetime
from waypost.rules.operations.timeline import timeline
from waypost.rules.operations.why import why
from waypost.rules.receiving.webhook import status_details
from waypost.runtime.cli import tables
from waypost.runtime.cli.app import CommandFailed


async def explain(message_id: int, world: World) -> None:
    delivery = await world.ledger.lookup.delivery(MessageId(message_id))
    life = await world.ledger.messages.life(delivery.org_id, MessageId(message_id)) if delivery else None
    if life is None:
        raise CommandFailed(f"there is no message {message_id} in this database")
    console = tables.console()
    message = life.message
    known = await circumstances(message, world)
    reason = why(message, known, world.clock.now())
    status = message.delivery.status.value
    console.print(f"Message {message.id} of org {message.draft.org_id}, {status}: {reason}", markup=False)
    table = Table("at (UTC)", "what", "detail", box=None, pad_edge=False, header_style="dim")
    updates = [(each.received_at, each.kind, status_details(each.body)) for each in life.statuses]
    for moment in timeline(message, list(life.attempts), updates, list(life.events), known.answers):
        table.add_row(f"{to_datetime(moment.at):%Y-%m-%d %H:%M:%S.%f}"[:-3], moment.kind, Text(moment.detail))
    console.print(table)
    for attempt in life.attempts:
        if attempt.response:
            console.print(f"attempt {attempt.attempt_no}, the provider answered: {attempt.response}", markup=False)
