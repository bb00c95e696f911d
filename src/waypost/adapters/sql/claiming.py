"""Claims: a short transaction of their own that draws permits, skips what is locked, and passes by what is closed.

Locked in this order: permits by name, then the breaker of a probe, then what is ready, then pairs. A settle that gives
a permit back locks it before its gates and pairs too, so a claim and a settle never wait for each other in a circle.
What is ready, and the breaker of a probe, are skipped when somebody else holds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from waypost.adapters.sql import gate_rows, rows
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.adapters.sql.rows import FACTS
from waypost.model.gate import GateId, Outlet
from waypost.model.ids import NumberId, OrgId
from waypost.model.message import Channel, Claimed, Delivery
from waypost.model.pair import NEVER, Pair
from waypost.model.time import Instant
from waypost.ports.outbox import Batch, Demand
from waypost.rules import gates, pacing
from waypost.rules import pair as pairs
from waypost.rules.delivery import claim
from waypost.rules.pacing import Permit, Shares
from waypost.rules.window import is_open

STAGE_AT_MOST = 2_000
OUTLETS_AT_ONCE = 64
_DELIVERY = FACTS + 18


def claim_due(demand: Demand, now: Instant) -> Plan[Batch]:
    found = yield from _busy(demand.after, now)
    if not found:
        return Batch([], after=0, more=False, opens_at=None)
    busy = [gate_rows.outlet(row) for row in found]
    permits = yield from _locked(pacing.open_outlets(busy, now))
    outlets = yield from _with_probes(busy, now)
    passable = pacing.open_outlets(outlets, now)
    hand = _Hand(demand, {outlet.id: outlet for outlet in outlets}, permits, open_total=found[0][7], now=now)
    shares = Shares(passable, permits, demand.slots, now)
    yield from _fill(hand, shares)
    yield from _write(hand)
    stopped = [_probed(outlet, hand) for outlet in outlets if outlet.id not in shares.emptied]
    at_the_end = len(outlets) < OUTLETS_AT_ONCE or outlets[-1].id <= demand.after
    return Batch(
        sorted(hand.claimed, key=_rank),
        after=shares.reached or (outlets[-1].id if len(outlets) == OUTLETS_AT_ONCE else 0),
        more=shares.slots <= 0 or not at_the_end,
        opens_at=pacing.opens_at(stopped, hand.permits, now),
        quotas=hand.quotas,
    )


def _busy(after: int, now: Instant) -> Plan[list[Row]]:
    """Outlets that have something ready, from where the last claim stopped, and round to there again."""
    found = yield Once("outlets_busy", (after, OUTLETS_AT_ONCE, now))
    room = OUTLETS_AT_ONCE - len(found)
    if after == 0 or room == 0:
        return found
    before = yield Once("outlets_busy", (0, room, now))
    return [*found, *(row for row in before if row[0] <= after)]


def _with_probes(outlets: list[Outlet], now: Instant) -> Plan[list[Outlet]]:
    """A breaker that somebody else probes at this very moment is closed."""
    wanted = {o.gate.id for o in outlets if o.gate is not None and gates.wants_probe(o.gate, now)}
    ours = {row[0] for row in (yield from each("gate_probe_lock", [(gate, now) for gate in sorted(wanted)]))}
    return [_shut(o, now) if o.gate is not None and o.gate.id in wanted - ours else o for o in outlets]


def _probed(outlet: Outlet, hand: _Hand) -> Outlet:
    taken = outlet.gate is not None and outlet.gate.id in hand.probes
    return _shut(outlet, hand.now) if taken else outlet


def _shut(outlet: Outlet, now: Instant) -> Outlet:
    gate = outlet.gate and replace(outlet.gate, until=Instant(now + gates.PROBE_AFTER))
    return replace(outlet, gate=gate)


def _rank(claimed: Claimed) -> tuple[int, int]:
    return claimed.rank, claimed.id


def _locked(outlets: Sequence[Outlet]) -> Plan[dict[str, Permit]]:
    found = yield from each("permit_lock", [(name,) for name in pacing.needed(outlets)])
    return {row[0]: gate_rows.permit(row) for row in found}


def _fill(hand: _Hand, shares: Shares) -> Plan[None]:
    """Round by round: what one outlet leaves over goes to those that have more."""
    while shares.hungry and (asked := shares.next_round()):
        picked = yield from each("claim_pick", sorted(asked.items()))
        yield from each("ready_drop", sorted((row[0],) for row in picked))
        yield from each("delivery_sending", sorted(hand.take(picked), key=_by_message))
        shares.took(asked, Counter(row[6] for row in picked))


class _Picked(NamedTuple):
    """What `claim_pick` brings after the delivery, in its order."""

    recipient: str
    template: str | None
    payload: str
    expires_at: Instant | None
    created_at: Instant
    ready_at: Instant
    rank: int
    channel: str
    subject: str | None
    dossier_id: int | None
    window_until: Instant | None
    free_at: Instant | None
    blocked_until: Instant | None
    counted_at: Instant | None
    consent: str | None
    address_consent: str | None
    conversation_id: int | None
    exempt: bool

    @property
    def is_paired(self) -> bool:
        """Other channels know no pace between two."""
        return self.channel == Channel.WHATSAPP

    def pair(self, sender: NumberId) -> Pair:
        return Pair(
            sender=sender,
            recipient=self.recipient,
            free_at=self.free_at or NEVER,
            blocked_until=self.blocked_until or NEVER,
            counted_at=self.counted_at or NEVER,
        )


@dataclass(slots=True)
class _Hand:
    """What one claim holds so far."""

    demand: Demand
    outlets: dict[int, Outlet]
    permits: dict[str, Permit]
    open_total: int
    now: Instant
    claimed: list[Claimed] = field(default_factory=list)
    pairs: dict[tuple[str, str], Pair] = field(default_factory=dict)
    put_off: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many of this claim wait for each pair."""
    probes: dict[int, int] = field(default_factory=dict)

    @property
    def quotas(self) -> dict[OrgId, Permit]:
        orgs = {claimed.org_id for claimed in self.claimed}
        return {org: self.permits[name] for org in orgs if (name := pacing.quota_of(org)) in self.permits}

    def take(self, picked: Sequence[Row]) -> list[Row]:
        """The deliveries to write; what was settled by evidence on its way into ready only leaves it."""
        sending: list[Row] = []
        for row in picked:
            before = rows.delivery(row)
            after = claim(before, self.demand.owner, self.open_total, self.now)
            if after is before:
                continue
            sending.append((after.message_id, after.fence, after.tries, after.owner, self.open_total, self.now))
            self.claimed.append(self._claimed(row, after, self.outlets[row[6]]))
        return sending

    def _claimed(self, row: Row, delivery: Delivery, outlet: Outlet) -> Claimed:
        known, found = rows.Facts(*row[:FACTS]), _Picked(*row[_DELIVERY:])
        pair = self.pairs.get((known.sender, found.recipient)) or found.pair(known.sender)
        put_off = self._put_off(pair) if found.is_paired else None
        if put_off is None and found.is_paired:
            self.pairs[known.sender, found.recipient] = self._drawn(pair, outlet, found.window_until)
        return Claimed(
            id=known.message_id,
            fence=delivery.fence,
            generation=delivery.generation,
            tries=delivery.tries,
            org_id=known.org_id,
            sender=known.sender,
            recipient=found.recipient,
            template=found.template,
            payload=found.payload,
            max_attempts=known.max_attempts,
            expires_at=found.expires_at,
            queue_id=known.queue_id,
            created_at=found.created_at,
            claimed_at=self.now,
            ready_at=found.ready_at,
            priority=known.priority,
            rank=found.rank,
            start_at=self._draw(outlet, paced=put_off is None),
            channel=Channel(found.channel),
            subject=found.subject,
            dossier_id=found.dossier_id,
            window_until=found.window_until,
            consent=found.consent,
            address_consent=found.address_consent,
            conversation_id=found.conversation_id,
            talk=known.talk,
            exempt=bool(found.exempt),
            put_off_until=put_off,
            put_off_by=None if put_off is None else "throttle" if self.now < pair.blocked_until else "pacing",
            probe=self._probe(outlet),
            delivery=delivery,
        )

    def _put_off(self, pair: Pair) -> Instant | None:
        """Those who must wait for one customer wait one behind the other, so that each is looked at about once."""
        earliest = pairs.put_off(pair, self.now, self.demand.pair_burst)
        if earliest is None:
            return None
        self.put_off[pair.sender, pair.recipient] += 1
        return Instant(earliest + pairs.STEP * (self.put_off[pair.sender, pair.recipient] - 1))

    def _draw(self, outlet: Outlet, *, paced: bool) -> Instant:
        """One permit of the org's quota and one of the number's pace; returns when it is its turn."""
        quota = self.permits.get(pacing.quota_of(outlet.org_id))
        if quota is not None:
            self.permits[quota.name] = pacing.draw_quota(quota, 1, self.now)
        pace = self.permits.get(pacing.pace_of(outlet))
        if pace is None or outlet.pace is None or not paced:
            return self.now
        self.permits[pace.name], (start,) = pacing.draw_pace(pace, outlet.pace, 1, self.now)
        return start

    def _drawn(self, pair: Pair, outlet: Outlet, window_until: Instant | None) -> Pair:
        """One more message to this customer; a template outside the window may make a new customer of the day."""
        after = pairs.drawn(pair, self.now, self.demand.pair_burst)
        tier = self.permits.get(pacing.tier_of(outlet)) if outlet.template else None
        if tier is None or is_open(window_until, self.now):
            return after
        today = pacing.current(tier, self.now)
        if pair.counted_at >= today.since and pair.counted_at:
            return after
        self.permits[tier.name] = pacing.draw_quota(today, 1, self.now)
        return replace(after, counted_at=self.now)

    def _probe(self, outlet: Outlet) -> GateId | None:
        gate = outlet.gate
        if gate is None or not gates.wants_probe(gate, self.now):
            return None
        self.probes[gate.id] = self.now + gates.PROBE_AFTER
        return gate.id


def _by_message(row: Row) -> int:
    return int(row[0])


def _write(hand: _Hand) -> Plan[None]:
    if not hand.claimed:
        return
    yield from each("permit_put", [gate_rows.permit_row(hand.permits[name]) for name in sorted(hand.permits)])
    drawn = [(p.sender, p.recipient, p.free_at, p.counted_at) for _, p in sorted(hand.pairs.items())]
    yield from each("pair_draw", drawn)
    yield from each("gate_probe", sorted(hand.probes.items()))


def stage(now: Instant) -> Plan[None]:
    """What has become due moves from later to ready.

    In a transaction before the claim's own: a settle waits for rows of later with its permits locked.
    """
    due = yield Once("later_due", (now, STAGE_AT_MOST))
    yield from each("later_drop", [(row[0],) for row in due])
    yield from each("ready_add", [(message_id, outlet, standing, now) for message_id, outlet, standing in due])
