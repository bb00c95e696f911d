"""`waypost admin …` for the answers that an org's people give often."""

from __future__ import annotations

import sys
from typing import Annotated, assert_never

import typer
from msgspec import UNSET

from waypost.flow import quick_replies
from waypost.model.audit import OPERATOR
from waypost.model.ids import OrgId
from waypost.model.quick_reply import QuickReply
from waypost.ports.quick_replies import Gone, NoRoom, Taken
from waypost.rules.shape import Invalid
from waypost.runtime.cli import Failed
from waypost.runtime.tables import Json, Org, day, of_known, table

Name = Annotated[str, typer.Argument(metavar="NAME", help="What is typed after the slash; capitals do not matter.")]


def register(admin: typer.Typer) -> None:
    admin.command("quick-replies")(list_replies)
    admin.command("set-quick-reply")(set_reply)
    admin.command("remove-quick-reply")(remove_reply)


def list_replies(org: Org, json: Json = False) -> None:
    """List an org's quick replies."""
    found = of_known(org, lambda world: world.ledger.quick_replies.of(OrgId(org)))
    rows = [[reply.name, reply.text, day(reply.updated_at), reply.updated_by] for reply in found]
    table(["name", "text", "updated", "by"], rows, as_json=json)


def set_reply(
    org: Org,
    name: Name,
    text: Annotated[str, typer.Argument(help="What is said; {name} becomes the customer's name.")],
    replaces: Annotated[str | None, typer.Option(metavar="NAME", help="The one that gets this name and text.")] = None,
) -> None:
    """Add a quick reply, change the one of this name, or rename one."""
    old = UNSET if replaces is None else replaces
    answer = of_known(org, lambda world: quick_replies.put(OrgId(org), name, text, world, OPERATOR, replaces=old))
    if not isinstance(answer, QuickReply):
        raise Failed(_why_not(org, answer))
    sys.stdout.write(f"quick reply {answer.name} is set\n")


def _why_not(org: str, answer: Invalid | NoRoom | Taken | Gone) -> str:
    match answer:
        case Invalid(field, reason):
            return f"{field.upper()} {reason}"
        case NoRoom(most):
            room = f"`waypost admin remove-quick-reply {org} NAME` makes room"
            return f"org {org} has {most} quick replies, as many as it may: {room}"
        case Taken(name):
            return f"org {org} has a quick reply {name} already: choose another name"
        case Gone(name):
            return _unknown(org, name)
        case _:
            assert_never(answer)


def remove_reply(org: Org, name: Name) -> None:
    """Remove a quick reply."""
    if not of_known(org, lambda world: quick_replies.remove(OrgId(org), name, world, OPERATOR)):
        raise Failed(_unknown(org, name))
    sys.stdout.write(f"removed {name}\n")


def _unknown(org: str, name: str) -> str:
    return f"org {org} has no quick reply {name}: `waypost admin quick-replies {org}` lists them"
