"""`waypost admin …` for quotas, gates, windows, statistics, dead letters and numbers."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
import typer

from waypost.flow.accounts import access
from waypost.flow.operations import limits_admin
from waypost.flow.operations.limits_admin import Quota
from waypost.flow.sending import dead_letters
from waypost.flow.world import World
from waypost.http.sending.views import ChangeNumber
from waypost.model.audit import OPERATOR
from waypost.model.gate import GateId
from waypost.model.ids import MessageId, NumberId, OrgId
from waypost.model.time import Instant
from waypost.ports.accounts.accounts import NumberChange
from waypost.rules.content import recipient
from waypost.rules.content.address import web_address
from waypost.rules.operations.figures import Percentiles
from waypost.runtime.cli.admin.app import app
from waypost.runtime.cli.app import CommandFailed, with_world
from waypost.runtime.cli.tables import JsonOption, OrgArgument, checked, day, known_org, of_known, show, table

MOST = 2**31 - 1
ErrorCodeOption = Annotated[str | None, typer.Option(help="Only those that failed with this error code.")]


@app.command()
def quota(org: OrgArgument, json: JsonOption = False) -> None:
    """Show an org's quota for 24 hours and how much of it is used."""
    _show_quota(of_known(org, lambda world: limits_admin.quota_of(OrgId(org), world)), as_json=json)


@app.command()
def set_quota(
    org: OrgArgument,
    limit: Annotated[str, typer.Argument(metavar="LIMIT", help="Messages in 24 hours, or `none` for no limit.")],
    json: JsonOption = False,
) -> None:
    """Change an org's quota; raising it releases waiting messages."""
    wanted = None if limit == "none" else int(limit) if limit.isascii() and limit.isdigit() else 0
    if wanted is not None and not 1 <= wanted <= MOST:
        raise CommandFailed(f"LIMIT is a number from 1 to {MOST}, or none")
    _show_quota(of_known(org, lambda world: limits_admin.set_quota(OrgId(org), wanted, world, OPERATOR)), as_json=json)


def _show_quota(found: Quota, *, as_json: bool) -> None:
    facts = {
        "messages_sent": str(found.sent),
        "quota_limit": _number(found.limit),
        "remaining_quota": _number(found.remaining),
        "reset_at": day(found.resets_at),
        "throttled_until": _when(found.throttled_until, "not throttled"),
    }
    show(facts, as_json=as_json)


def _number(value: int | None) -> str:
    return "none" if value is None else str(value)


def _when(moment: Instant | None, never: str) -> str:
    return never if moment is None else day(moment)


@app.command()
def gates(org: OrgArgument, json: JsonOption = False) -> None:
    """List an org's closed gates, with the reason and the number of waiting messages."""
    found = of_known(org, lambda world: world.ledger.gates.of_org(OrgId(org), world.clock.now()))
    rows = [
        [
            str(each.gate.id),
            each.gate.name,
            each.gate.kind.value,
            each.gate.code,
            day(each.gate.since),
            _when(each.gate.until, "until released"),
            str(each.waiting),
            each.gate.reason,
        ]
        for each in found
    ]
    table(["id", "name", "kind", "code", "since", "until", "waiting", "reason"], rows, as_json=json)


@app.command()
def release(
    org: OrgArgument,
    gate_id: Annotated[int, typer.Argument(min=1, max=2**63 - 1, help="The gate's id, as `gates` lists it.")],
) -> None:
    """Release a gate, once its cause is gone."""
    released = of_known(org, lambda world: limits_admin.release(OrgId(org), GateId(gate_id), world, OPERATOR))
    if isinstance(released, limits_admin.NumberDisabled):
        raise CommandFailed(f"number {released.number} is disabled: `waypost admin enable {org} {released.number}`")
    if isinstance(released, limits_admin.GateNotFound):
        raise CommandFailed(f"org {org} has no closed gate {gate_id}: `waypost admin gates {org}` lists them")
    sys.stdout.write(f"released {released.gate.name}\n")


@app.command()
def window(
    org: OrgArgument,
    phone: Annotated[str, typer.Argument(help="The customer's phone number or user id.")],
    json: JsonOption = False,
) -> None:
    """Show whether a customer's 24-hour window is open, and until when."""
    customer = recipient.address(phone)
    if isinstance(customer, recipient.InvalidPhone):
        raise CommandFailed(f"{phone[:40]} is not a phone number: 7 to 15 digits, with its country code")
    found = of_known(org, lambda world: limits_admin.window_with(OrgId(org), customer, world))
    facts = {
        "phone_number": customer,
        "open": str(found.open).lower(),
        "window_opens_at": _when(found.pair.opened_at if found.pair else None, "never"),
        "window_expires_at": _when(found.pair.expires_at if found.pair else None, "never"),
        "last_outbound_message_at": _when(found.last_outbound_at, "never"),
    }
    show(facts, as_json=json)


@app.command()
def stats(org: OrgArgument, json: JsonOption = False) -> None:
    """Show message counts by status, and how long the newest messages took."""
    found = of_known(org, lambda world: limits_admin.figures_of(OrgId(org), world))
    facts = {status.value: str(count) for status, count in found.counts.items()}
    facts |= {f"tries number {number}": str(count) for number, count in sorted(found.retries.items())}
    facts["queued to sent"] = _spread(found.queued_to_sent)
    facts["sent to delivered"] = _spread(found.sent_to_delivered)
    show(facts, as_json=json)


def _spread(spread: Percentiles) -> str:
    if spread.p50 is None:
        return "none yet"
    return f"p50 {spread.p50:.3g} s, p95 {spread.p95:.3g} s, p99 {spread.p99:.3g} s of {spread.count}"


@app.command()
def error_codes(
    org: OrgArgument,
    catalogue: Annotated[
        str | None, typer.Option(help="meta, seed or smtp; by default that of the org's first number.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show how each error code of the provider is handled."""
    if catalogue not in (None, "meta", "seed", "smtp"):
        raise CommandFailed("--catalogue is meta, seed or smtp")

    async def read(world: World) -> list[list[str]]:
        from waypost.http.sending.error_codes import in_force  # noqa: PLC0415  # the web framework: a quarter of a second that no other command should pay

        chosen = world.catalogues[catalogue or await in_force(OrgId(org), world)]
        return [[row.code, row.action.value, row.scope.value if row.scope else "", row.title] for row in chosen.rows()]

    table(["code", "action", "scope", "title"], of_known(org, read), as_json=json)


@app.command("dead-letters")
def dead(
    org: OrgArgument,
    error_code: ErrorCodeOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 100,
    json: JsonOption = False,
) -> None:
    """List FAILED messages, newest first."""
    found = of_known(org, lambda world: world.ledger.messages.dead(OrgId(org), error_code, None, limit))
    rows = [
        [
            str(m.id),
            m.draft.recipient,
            day(m.delivery.updated_at),
            m.delivery.error_code or "",
            m.delivery.error_message or "",
        ]
        for m in found
    ]
    table(["id", "to", "ended", "error", "message"], rows, as_json=json)


@app.command()
def replay(
    org: OrgArgument,
    ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID]...", help="Message ids, as `dead-letters` lists them.")
    ] = None,
    error_code: ErrorCodeOption = None,
    every: Annotated[bool, typer.Option("--all", help="All dead letters.")] = False,
) -> None:
    """Send failed messages again: by id, by error code, or all."""
    if not ids and error_code is None and not every:
        raise CommandFailed("choose the messages: ids, --error-code or --all")
    named = [MessageId(each) for each in ids] if ids else None
    request = dead_letters.ReplayRequest(org_id=OrgId(org), actor=OPERATOR, ids=named, error_code=error_code)

    async def all_of_them(world: World) -> int:
        await known_org(org, world)
        count, replayed = 0, await dead_letters.replay(request, world)
        while replayed.more and replayed.count:
            count, replayed = count + replayed.count, await dead_letters.replay(request, world)
        return count + replayed.count

    sys.stdout.write(f"replayed {with_world(all_of_them, existing=True)}\n")


@app.command()
def change_number(
    org: OrgArgument,
    phone_number_id: Annotated[str, typer.Argument(help="The phone number id at Meta.")],
    pace: Annotated[int | None, typer.Option(help="Messages per second, 1 to 1000.")] = None,
    tier: Annotated[int | None, typer.Option(help="New customers per day that templates may reach.")] = None,
    token: Annotated[
        str | None, typer.Option(help="A new access token; releases messages the old one held back.")
    ] = None,
    app_secret: Annotated[str | None, typer.Option(help="The app secret, which signs webhooks.")] = None,
    graph_url: Annotated[str | None, typer.Option(help="Another base URL of the Cloud API.")] = None,
    error_catalogue: Annotated[str | None, typer.Option(help="meta or seed.")] = None,
) -> None:
    """Change a number; omitted options stay. `enable` switches it on and off."""
    named = {
        "pace": pace,
        "tier": tier,
        "token": token,
        "app_secret": app_secret,
        "graph_url": graph_url,
        "error_catalogue": error_catalogue,
    }
    given = {name: value for name, value in named.items() if value is not None}
    if not given:
        raise CommandFailed("nothing to change: give at least one option")
    if graph_url is not None and web_address(graph_url) is None:
        raise CommandFailed("--graph-url must be an http(s) address, e.g. http://127.0.0.1:8081/v25.0")
    wanted = msgspec.structs.asdict(checked(ChangeNumber, **given))
    _change(org, phone_number_id, {name: wanted[name] for name in given})
    sys.stdout.write(f"changed {phone_number_id}\n")


def _change(org: str, number: str, given: dict[str, object]) -> None:
    secrets = {name: str(given.pop(name)) for name in access.SECRETS if name in given}

    async def change(world: World) -> None:
        wanted = msgspec.convert(given, NumberChange)
        if await access.change_number(OrgId(org), NumberId(number), wanted, secrets, world, OPERATOR) is None:
            raise CommandFailed(f"org {org} has no number {number}")

    with_world(change, existing=True)
