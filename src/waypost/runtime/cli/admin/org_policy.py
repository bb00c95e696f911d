"""`waypost admin policy` and `waypost admin spend`: an org's own settings, and its spend."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer

from waypost.flow.accounts import policies
from waypost.flow.accounts.policies import PolicyChanged
from waypost.flow.world import World
from waypost.model.audit import OPERATOR
from waypost.model.ids import OrgId
from waypost.model.money import By
from waypost.model.policy import Policy
from waypost.rules.accounts.policy import InvalidPolicy
from waypost.rules.limits import budget
from waypost.runtime.cli.app import CommandFailed
from waypost.runtime.cli.tables import JsonOption, OrgArgument, of_known
from waypost.runtime.cli.tables import table as print_table


def register(admin: typer.Typer) -> None:
    admin.command("policy")(policy)
    admin.command("spend")(spend)


def policy(
    org: OrgArgument,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="e.g. unsure=park, quietHours.from=21:00, budget=null."),
    ] = None,
) -> None:
    """Show an org's policy as JSON, or change a part of it."""
    patch = patch_of(changes or [])

    async def change(world: World) -> Policy:
        if not patch:
            return await world.ledger.policies.get(OrgId(org))
        answer = await policies.merge_policy(OrgId(org), patch, world, OPERATOR)
        if isinstance(answer, InvalidPolicy):
            raise CommandFailed(f"{answer.field or 'policy'}: {answer.reason}")
        if not isinstance(answer, PolicyChanged):
            raise CommandFailed("the policy was changed at the same time: try again")
        return answer.after

    found = of_known(org, change)
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")


def patch_of(changes: list[str]) -> dict[str, Any]:
    """`a.b=1` as a merge patch; a value that is not JSON is a text."""
    patch: dict[str, Any] = {}
    for change in changes:
        path, found, value = change.partition("=")
        if not found or not all(path.split(".")):
            raise CommandFailed(f"--set {change}: write it as KEY=VALUE")
        *outer, name = path.split(".")
        place = patch
        for part in outer:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                raise CommandFailed(f"--set {change}: {part} is set as a whole already")
            place = inner
        place[name] = _value(value)
    return patch


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def spend(
    org: OrgArgument,
    by: Annotated[str, typer.Option(help="day, template, category or dossier.")] = "day",
    json: JsonOption = False,
) -> None:
    """Show what an org has spent since the first of the month."""
    if by not in ("day", "template", "category", "dossier"):
        raise CommandFailed("--by is day, template, category or dossier")
    heading: By = by  # type: ignore[assignment]  # checked above

    async def read(world: World) -> list[list[str]]:
        today = budget.as_date(budget.day_of(world.clock.now()))
        from waypost.http.limits.spend import spent  # noqa: PLC0415  # the web framework: a quarter of a second that no other command should pay

        rows = await spent(OrgId(org), today.replace(day=1), today, heading, world)
        return [[r.key or "", str(r.messages), str(r.unpriced), f"{r.amount:f}", r.currency or ""] for r in rows]

    print_table([by, "messages", "unpriced", "amount", "currency"], of_known(org, read), as_json=json)
