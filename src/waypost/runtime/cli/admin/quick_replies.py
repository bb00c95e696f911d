"""`waypost admin …` for an org's quick replies."""

from __future__ import annotations

import sys
from typing import Annotated, assert_never

import typer
from msgspec import UNSET

from waypost.flow.accounts import quick_replies
from waypost.model.audit import OPERATOR
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.ports.accounts.quick_replies import QuickReplyGone, QuickReplyLimitReached, QuickReplyNameTaken
from waypost.rules.text.json_validation import InvalidField
from waypost.runtime.cli.app import CommandFailed
from waypost.runtime.cli.tables import JsonOption, OrgArgument, day, of_known, table

QuickReplyNameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="What is typed after the slash; case-insensitive.")
]


def register(admin: typer.Typer) -> None:
    admin.command("quick-replies")(list_replies)
    admin.command("set-quick-reply")(set_reply)
    admin.command("remove-quick-reply")(remove_reply)


def list_replies(org: OrgArgument, json: JsonOption = False) -> None:
    """List an org's quick replies."""
    found = of_known(org, lambda world: world.ledger.quick_replies.of(OrgId(org)))
    rows = [[reply.name, reply.text, day(reply.updated_at), reply.updated_by] for reply in found]
    table(["name", "text", "updated", "by"], rows, as_json=json)


def set_reply(
    org: OrgArgument,
    name: QuickReplyNameArgument,
    text: Annotated[str, typer.Argument(help="The text; {name} becomes the customer's name.")],
    replaces: Annotated[
        str | None, typer.Option(metavar="NAME", help="The existing quick reply to rename or rewrite.")
    ] = None,
) -> None:
    """Add a quick reply, change the one of this name, or rename one."""
    old = UNSET if replaces is None else replaces
    answer = of_known(org, lambda world: quick_replies.put(OrgId(org), name, text, world, OPERATOR, replaces=old))
    if not isinstance(answer, QuickReply):
        raise CommandFailed(_why_not(org, answer))
    sys.stdout.write(f"quick reply {answer.name} is set\n")


def _why_not(org: str, answer: InvalidField | QuickReplyLimitReached | QuickReplyNameTaken | QuickReplyGone) -> str:
    match answer:
        case InvalidField(field, reason):
            return f"{field.upper()} {reason}"
        case QuickReplyLimitReached(most):
            room = f"`waypost admin remove-quick-reply {org} NAME` makes room"
            return f"org {org} has {most} quick replies, the maximum: {room}"
        case QuickReplyNameTaken(name):
            return f"org {org} has a quick reply {name} already: choose another name"
        case QuickReplyGone(name):
            return _unknown(org, name)
        case _:
            assert_never(answer)


def remove_reply(org: OrgArgument, name: QuickReplyNameArgument) -> None:
    """Remove a quick reply."""
    if not of_known(org, lambda world: quick_replies.remove(OrgId(org), name, world, OPERATOR)):
        raise CommandFailed(_unknown(org, name))
    sys.stdout.write(f"removed {name}\n")


def _unknown(org: str, name: str) -> str:
    return f"org {org} has no quick reply {name}: `waypost admin quick-replies {org}` lists them"
