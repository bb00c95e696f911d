"""`waypost admin …` for the rules: quotas, gates, windows, figures, dead letters, and what a number may do."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
import typer

from waypost.flow import admit, dead_letters, policy
from waypost.flow.policy import Quota
from waypost.flow.world import World
from waypost.http.views import ChangeNumber
from waypost.model.audit import OPERATOR
from waypost.model.gate import GateId
from waypost.model.ids import MessageId, NumberId, OrgId
from waypost.model.time import Instant
from waypost.ports.accounts import NumberChange
from waypost.rules import recipient
from waypost.rules.address import web_address
from waypost.rules.figures import Spread
from waypost.runtime.admin import app
from waypost.runtime.cli import Failed, with_world
from waypost.runtime.tables import Json, Org, checked, day, known_org, of_known, show, table

MOST = 2**31 - 1
ErrorCode = Annotated[str | None, typer.Option(help="Only those that ended with this error.")]


@app.command()
def quota(org: Org, json: Json = False) -> None:
    """What an org sent and may still send in its 24 hours."""
    _show_quota(of_known(org, lambda world: policy.quota_of(OrgId(org), world)), as_json=json)


@app.command()
def set_quota(
    org: Org,
    limit: Annotated[str, typer.Argument(metavar="LIMIT", help="Messages in 24 hours, or `none` for no limit.")],
    json: Json = False,
) -> None:
    """Change an org's quota; a higher one frees what waits."""
    wanted = None if limit == "none" else int(limit) if limit.isascii() and limit.isdigit() else 0
    if wanted is not None and not 1 <= wanted <= MOST:
        raise Failed(f"LIMIT is a number from 1 to {MOST}, or none")
    _show_quota(of_known(org, lambda world: policy.set_quota(OrgId(org), wanted, world, OPERATOR)), as_json=json)


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
def gates(org: Org, json: Json = False) -> None:
    """What is closed for an org, why, and how many messages wait."""
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
    org: Org, gate_id: Annotated[int, typer.Argument(min=1, max=2**63 - 1, help="The gate's id, as `gates` lists it.")]
) -> None:
    """Open a gate, once its cause is gone."""
    released = of_known(org, lambda world: policy.release(OrgId(org), GateId(gate_id), world, OPERATOR))
    if isinstance(released, policy.Disabled):
        raise Failed(f"number {released.number} is disabled: `waypost admin enable {org} {released.number}`")
    if isinstance(released, policy.NoGate):
        raise Failed(f"org {org} has no closed gate {gate_id}: `waypost admin gates {org}` lists them")
    sys.stdout.write(f"released {released.gate.name}\n")


@app.command()
def window(
    org: Org, phone: Annotated[str, typer.Argument(help="The customer's phone number or user id.")], json: Json = False
) -> None:
    """Whether a customer may be answered freely, and until when."""
    customer = recipient.address(phone)
    if isinstance(customer, recipient.Unreadable):
        raise Failed(f"{phone[:40]} is not a phone number: 7 to 15 digits, with its country code")
    found = of_known(org, lambda world: policy.window_with(OrgId(org), customer, world))
    facts = {
        "phone_number": customer,
        "open": str(found.open).lower(),
        "window_opens_at": _when(found.pair.opened_at if found.pair else None, "never"),
        "window_expires_at": _when(found.pair.expires_at if found.pair else None, "never"),
        "last_outbound_message_at": _when(found.last_outbound_at, "never"),
    }
    show(facts, as_json=json)


@app.command()
def stats(org: Org, json: Json = False) -> None:
    """Counts by status, and how long the newest messages took."""
    found = of_known(org, lambda world: policy.figures_of(OrgId(org), world))
    facts = {status.value: str(count) for status, count in found.counts.items()}
    facts |= {f"tries number {number}": str(count) for number, count in sorted(found.retries.items())}
    facts["queued to sent"] = _spread(found.queued_to_sent)
    facts["sent to delivered"] = _spread(found.sent_to_delivered)
    show(facts, as_json=json)


def _spread(spread: Spread) -> str:
    if spread.p50 is None:
        return "none yet"
    return f"p50 {spread.p50:.3g} s, p95 {spread.p95:.3g} s, p99 {spread.p99:.3g} s of {spread.count}"


@app.command()
def error_codes(
    org: Org,
    catalogue: Annotated[
        str | None, typer.Option(help="meta, seed or smtp; else that of the org's first number.")
    ] = None,
    json: Json = False,
) -> None:
    """What each error code of the provider leads to."""
    if catalogue not in (None, "meta", "seed", "smtp"):
        raise Failed("--catalogue is meta, seed or smtp")

    async def read(world: World) -> list[list[str]]:
        from waypost.http.error_codes import in_force  # noqa: PLC0415  # the web framework: a quarter of a second that no other command should pay

        chosen = world.catalogues[catalogue or await in_force(OrgId(org), world)]
        return [[row.code, row.action.value, row.scope.value if row.scope else "", row.title] for row in chosen.rows()]

    table(["code", "action", "scope", "title"], of_known(org, read), as_json=json)


@app.command("dead-letters")
def dead(
    org: Org,
    error_code: ErrorCode = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 100,
    json: Json = False,
) -> None:
    """List messages that ended FAILED, newest first."""
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
    org: Org,
    ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID]...", help="Messages, as `dead-letters` lists them.")
    ] = None,
    error_code: ErrorCode = None,
    every: Annotated[bool, typer.Option("--all", help="All that there are.")] = False,
) -> None:
    """Send failed messages again: those that are named, those with one error, or all."""
    if not ids and error_code is None and not every:
        raise Failed("say which: ids, --error-code or --all")
    named = [MessageId(each) for each in ids] if ids else None
    wish = dead_letters.Replay(org_id=OrgId(org), actor=OPERATOR, ids=named, error_code=error_code)

    async def all_of_them(world: World) -> int:
        await known_org(org, world)
        count, replayed = 0, await dead_letters.replay(wish, world)
        while replayed.more and replayed.count:
            count, replayed = count + replayed.count, await dead_letters.replay(wish, world)
        return count + replayed.count

    sys.stdout.write(f"replayed {with_world(all_of_them, existing=True)}\n")


@app.command()
def change_number(
    org: Org,
    phone_number_id: Annotated[str, typer.Argument(help="Meta's id of the number.")],
    pace: Annotated[int | None, typer.Option(help="Messages per second, 1 to 1000.")] = None,
    tier: Annotated[int | None, typer.Option(help="New customers a day that templates may reach.")] = None,
    token: Annotated[str | None, typer.Option(help="A new access token; what the old one held goes on.")] = None,
    app_secret: Annotated[str | None, typer.Option(help="What Meta signs webhooks with.")] = None,
    graph_url: Annotated[str | None, typer.Option(help="Another place for the Cloud API.")] = None,
    error_catalogue: Annotated[str | None, typer.Option(help="meta or seed.")] = None,
) -> None:
    """Change a number; what is left out stays. `enable` switches it on and off."""
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
        raise Failed("nothing to change: name at least one option")
    if graph_url is not None and web_address(graph_url) is None:
        raise Failed("--graph-url must be an http(s) address, e.g. http://127.0.0.1:8081/v25.0")
    wanted = msgspec.structs.asdict(checked(ChangeNumber, **given))
    _change(org, phone_number_id, {name: wanted[name] for name in given})
    sys.stdout.write(f"changed {phone_number_id}\n")


def _change(org: str, number: str, given: dict[str, object]) -> None:
    secrets = {name: str(given.pop(name)) for name in admit.SECRETS if name in given}

    async def change(world: World) -> None:
        wanted = msgspec.convert(given, NumberChange)
        if await admit.change_number(OrgId(org), NumberId(number), wanted, secrets, world, OPERATOR) is None:
            raise Failed(f"org {org} has no number {number}")

    with_world(change, existing=True)
