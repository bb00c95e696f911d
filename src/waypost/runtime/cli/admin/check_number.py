"""`waypost admin try-number`: checks with the provider whether a number works."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
import typer

from waypost.flow.accounts.check_number import NumberCheck
from waypost.flow.accounts.check_number import try_number as tried
from waypost.http.accounts.number_check_view import trial_view
from waypost.model.ids import NumberId, OrgId
from waypost.rules.receiving.number_check import NumberCheckState
from waypost.runtime.cli.app import CommandFailed
from waypost.runtime.cli.tables import JsonOption, OrgArgument, of_known, show


def register(admin: typer.Typer) -> None:
    admin.command("try-number")(try_number)


def try_number(
    org: OrgArgument,
    phone_number_id: Annotated[str, typer.Argument(help="The phone number id at Meta.")],
    json: JsonOption = False,
) -> None:
    """Check with the provider whether a number works with its token; exits with 1 if not."""
    found = of_known(org, lambda world: tried(OrgId(org), NumberId(phone_number_id), world))
    if found is None:
        raise CommandFailed(f"org {org} has no number {phone_number_id}")
    if json:
        sys.stdout.write(msgspec.json.encode(trial_view(found)).decode() + "\n")
    else:
        show(_facts(found), as_json=False)
    if found.verdict.state is not NumberCheckState.WORKS:
        raise typer.Exit(1)


def _facts(found: NumberCheck) -> dict[str, str]:
    verdict = found.verdict
    return {
        "state": verdict.state.value,
        "said": verdict.said,
        **({"what_to_do": verdict.remedy} if verdict.remedy else {}),
        **({"webhook_url": verdict.record.webhook_url} if verdict.record.webhook_url else {}),
    }
