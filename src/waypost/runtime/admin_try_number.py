"""`waypost admin try-number`: whether the provider knows a number with its token."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
import typer

from waypost.flow.try_number import Tried
from waypost.flow.try_number import try_number as tried
from waypost.http.trial_view import trial_view
from waypost.model.ids import NumberId, OrgId
from waypost.rules.number_trial import Trial
from waypost.runtime.cli import Failed
from waypost.runtime.tables import Json, Org, of_known, show


def register(admin: typer.Typer) -> None:
    admin.command("try-number")(try_number)


def try_number(
    org: Org,
    phone_number_id: Annotated[str, typer.Argument(help="Meta's id of the number.")],
    json: Json = False,
) -> None:
    """Ask the provider whether it knows a number with its token; 1 when it does not work."""
    found = of_known(org, lambda world: tried(OrgId(org), NumberId(phone_number_id), world))
    if found is None:
        raise Failed(f"org {org} has no number {phone_number_id}")
    if json:
        sys.stdout.write(msgspec.json.encode(trial_view(found)).decode() + "\n")
    else:
        show(_facts(found), as_json=False)
    if found.verdict.state is not Trial.WORKS:
        raise typer.Exit(1)


def _facts(found: Tried) -> dict[str, str]:
    verdict = found.verdict
    return {
        "state": verdict.state.value,
        "said": verdict.said,
        **({"what_to_do": verdict.remedy} if verdict.remedy else {}),
        **({"webhook_url": verdict.record.webhook_url} if verdict.record.webhook_url else {}),
    }
