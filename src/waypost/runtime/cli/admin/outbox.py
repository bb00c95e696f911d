"""`waypost admin outbox`, `retry` and `cancel`: an org's messages."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from waypost.flow.world import World
from waypost.model.audit import OPERATOR
from waypost.model.ids import MessageId, OrgId
from waypost.model.message import Message, Status
from waypost.ports.sending.messages import Query
from waypost.ports.sending.outbox import MessageChanged, MessageChangeResult, NotAllowed
from waypost.rules.content import email, recipient
from waypost.runtime.cli.app import CommandFailed
from waypost.runtime.cli.tables import JsonOption, OrgArgument, day, of_known, table

LARGEST = 2**63 - 1
MessageIdArgument = Annotated[int, typer.Argument(metavar="MESSAGE_ID", min=1, max=LARGEST, help="The message's id.")]


def register(admin: typer.Typer) -> None:
    for command in (outbox, retry, cancel):
        admin.command()(command)


def outbox(
    org: OrgArgument,
    status: Annotated[Status | None, typer.Option(help="Only those with this status.")] = None,
    to: Annotated[str | None, typer.Option(help="Only those to this phone number, user id or email address.")] = None,
    dossier_id: Annotated[int | None, typer.Option(min=1, max=LARGEST, help="Only those of this dossier.")] = None,
    before: Annotated[int | None, typer.Option(min=1, max=LARGEST, help="Only ids below this one.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 100,
    json: JsonOption = False,
) -> None:
    """List an org's messages, newest first."""
    query = Query(
        status=status,
        recipient=None if to is None else _recipient(to),
        dossier_id=dossier_id,
        before=None if before is None else MessageId(before),
    )
    found = of_known(org, lambda world: world.ledger.messages.find(OrgId(org), query, limit))
    table(["id", "to", "template", "status", "tries", "created", "error"], [_row(each) for each in found], as_json=json)


def _recipient(to: str) -> str:
    found = email.address(to) if "@" in to else recipient.address(to)
    if not isinstance(found, str):
        raise CommandFailed(
            f"--to {to[:40]}: write a phone number with its country code, a user id or an email address"
        )
    return found


def _row(message: Message) -> list[str]:
    draft, delivery = message.draft, message.delivery
    return [
        str(message.id),
        draft.recipient,
        draft.template or "",
        delivery.status.value,
        str(delivery.tries),
        day(message.created_at),
        delivery.error_code or "",
    ]


def retry(org: OrgArgument, message_id: MessageIdArgument) -> None:
    """Send a failed, cancelled or parked message again: attempts are counted from 0, due now."""

    async def change(world: World) -> MessageChangeResult:
        return await world.ledger.outbox.retry(OrgId(org), MessageId(message_id), world.clock.now(), OPERATOR)

    _print_change(
        of_known(org, change), org, message_id, "queued", "a FAILED, CANCELLED or parked one can be sent again"
    )


def cancel(org: OrgArgument, message_id: MessageIdArgument) -> None:
    """Cancel a queued message."""

    async def change(world: World) -> MessageChangeResult:
        return await world.ledger.outbox.cancel(OrgId(org), MessageId(message_id), world.clock.now(), OPERATOR)

    _print_change(of_known(org, change), org, message_id, "cancelled", "a QUEUED one can be cancelled")


def _print_change(changed: MessageChangeResult, org: str, message_id: int, done: str, allowed: str) -> None:
    if isinstance(changed, NotAllowed):
        raise CommandFailed(f"message {message_id} is {changed.message.delivery.status.value}: only {allowed}")
    if not isinstance(changed, MessageChanged):
        raise CommandFailed(f"org {org} has no message {message_id}")
    sys.stdout.write(f"{done} {message_id}\n")
