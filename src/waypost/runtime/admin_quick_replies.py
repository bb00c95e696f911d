"""`waypost admin …` for the answers that an org's people give often."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from waypost.flow import quick_replies
from waypost.model.audit import OPERATOR
from waypost.model.ids import OrgId
from waypost.ports.quick_replies import NoRoom
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
) -> None:
    """Add a quick reply, or change the one of this name."""
    answer = of_known(org, lambda world: quick_replies.put(OrgId(org), name, text, world, OPERATOR))
    if isinstance(answer, Invalid):
        raise Failed(f"{answer.field.upper()} {answer.reason}")
    if isinstance(answer, NoRoom):
        raise Failed(
            f"org {org} has {answer.most} quick replies, as many as it may: "
            f"`waypost admin remove-quick-reply {org} NAME` makes room"
        )
    sys.stdout.write(f"quick reply {answer.name} is set\n")


def remove_reply(org: Org, name: Name) -> None:
    """Remove a quick reply."""
    if not of_known(org, lambda world: quick_replies.remove(OrgId(org), name, world, OPERATOR)):
        raise Failed(f"org {org} has no quick reply {name}: `waypost admin quick-replies {org}` lists them")
    sys.stdout.write(f"removed {name}\n")
