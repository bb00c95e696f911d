"""Claims: a short transaction that draws permits, skips locked rows, and leaves messages behind closed gates.

Lock order: permits by name, then the breaker of a probe, then ready rows, then recipient states. A settle that gives a
permit back also locks it before its gates and recipient states, so a claim and a settle never deadlock. Ready rows and
the breaker of a probe are skipped if another transaction holds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.adapters.sql.rows import gate_rows, message_rows
from waypost.adapters.sql.rows.message_rows import FACTS
from waypost.model.gate import DispatchGroup, GateId
from waypost.model.ids import NumberId, OrgId
from waypost.model.message import Channel, ClaimedMessage, Delivery
from waypost.model.recipient_state import NEVER, RecipientState
from waypost.model.time import Instant
from waypost.ports.sending.outbox import Batch, Demand
from waypost.rules.limits import gates, recipient_pace, send_pace
from waypost.rules.limits.send_pace import Permit, Shares
from waypost.rules.limits.window import is_open
from waypost.rules.sending.delivery import claim

STAGE_AT_MOST = 2_000
OUTLETS_AT_ONCE = 64
_DELIVERY = FACTS + 18


def claim_due(demand: Demand, now: Instant) -> Plan[Batch]:
    found = yield from _busy(demand.after, now)
    if not found:
        return Batch([], after=0, more=False, opens_at=None)
    busy = [gate_rows.dispatch_group(row) for row in found]
    permits = yield from _locked(send_pace.open_outlets(busy, now))
    groups = yield from _with_probes(busy, now)
    passable = send_pace.open_outlets(groups, now)
    state = _ClaimState(demand, {group.id: group for group in groups}, permits, open_total=found[0][7], now=now)
    shares = Shares(passable, permits, demand.slots, now)
    yield from _fill(state, shares)
    yield from _write(state)
    stopped = [_probed(group, state) for group in groups if group.id not in shares.emptied]
    at_the_end = len(groups) < OUTLETS_AT_ONCE or groups[-1].id <= demand.after
    return Batch(
        sorted(state.claimed, key=_rank),
        after=shares.reached or (groups[-1].id if len(groups) == OUTLETS_AT_ONCE else 0),
        more=shares.slots <= 0 or not at_the_end,
        opens_at=send_pace.opens_at(stopped, state.permits, now),
        quotas=state.quotas,
    )


def _busy(after: int, now: Instant) -> Plan[list[Row]]:
    """Dispatch groups with ready messages, starting after the last claim's position and wrapping around."""
    found = yield Once("outlets_busy", (after, OUTLETS_AT_ONCE, now))
    room = OUTLETS_AT_ONCE - len(found)
    if after == 0 or room == 0:
        return found
    before = yield Once("outlets_busy", (0, room, now))
    return [*found, *(row for row in before if row[0] <= after)]


def _with_probes(groups: list[DispatchGroup], now: Instant) -> Plan[list[DispatchGroup]]:
    """A breaker that another transaction is probing counts as closed."""
    wanted = {o.gate.id for o in groups if o.gate is not None and gates.wants_probe(o.gate, now)}
    ours = {row[0] for row in (yield from each("gate_probe_lock", [(gate, now) for gate in sorted(wanted)]))}
    return [_shut(o, now) if o.gate is not None and o.gate.id in wanted - ours else o for o in groups]


def _probed(group: DispatchGroup, state: _ClaimState) -> DispatchGroup:
    taken = group.gate is not None and group.gate.id in state.probes
    return _shut(group, state.now) if taken else group


def _shut(group: DispatchGroup, now: Instant) -> DispatchGroup:
    gate = group.gate and replace(group.gate, until=Instant(now + gates.PROBE_AFTER))
    return replace(group, gate=gate)


def _rank(claimed: ClaimedMessage) -> tuple[int, int]:
    return claimed.rank, claimed.id


def _locked(groups: Sequence[DispatchGroup]) -> Plan[dict[str, Permit]]:
    found = yield from each("permit_lock", [(name,) for name in send_pace.needed(groups)])
    return {row[0]: gate_rows.permit(row) for row in found}


def _fill(state: _ClaimState, shares: Shares) -> Plan[None]:
    """Round by round: slots that one dispatch group leaves unused go to groups that have more messages."""
    while shares.hungry and (asked := shares.next_round()):
        picked = yield from each("claim_pick", sorted(asked.items()))
        yield from each("ready_drop", sorted((row[0],) for row in picked))
        yield from each("delivery_sending", sorted(state.take(picked), key=_by_message))
        shares.took(asked, Counter(row[6] for row in picked))


class _Picked(NamedTuple):
    """The columns of `claim_pick` after the delivery, in order."""

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
        """Other channels have no pace per recipient."""
        return self.channel == Channel.WHATSAPP

    def recipient_state(self, sender: NumberId) -> RecipientState:
        return RecipientState(
            sender=sender,
            recipient=self.recipient,
            free_at=self.free_at or NEVER,
            blocked_until=self.blocked_until or NEVER,
            counted_at=self.counted_at or NEVER,
        )


@dataclass(slots=True)
class _ClaimState:
    """What one claim has taken so far."""

    demand: Demand
    groups: dict[int, DispatchGroup]
    permits: dict[str, Permit]
    open_total: int
    now: Instant
    claimed: list[ClaimedMessage] = field(default_factory=list)
    recipients: dict[tuple[str, str], RecipientState] = field(default_factory=dict)
    put_off: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many messages of this claim are deferred per recipient."""
    probes: dict[int, int] = field(default_factory=dict)

    @property
    def quotas(self) -> dict[OrgId, Permit]:
        orgs = {claimed.org_id for claimed in self.claimed}
        return {org: self.permits[name] for org in orgs if (name := send_pace.quota_of(org)) in self.permits}

    def take(self, picked: Sequence[Row]) -> list[Row]:
        """The deliveries to write; a message that a status has settled meanwhile only leaves ready."""
        sending: list[Row] = []
        for row in picked:
            before = message_rows.delivery(row)
            after = claim(before, self.demand.owner, self.open_total, self.now)
            if after is before:
                continue
            sending.append((after.message_id, after.fence, after.tries, after.owner, self.open_total, self.now))
            self.claimed.append(self._claimed(row, after, self.groups[row[6]]))
        return sending

    def _claimed(self, row: Row, delivery: Delivery, group: DispatchGroup) -> ClaimedMessage:
        known, found = message_rows.MessageFacts(*row[:FACTS]), _Picked(*row[_DELIVERY:])
        recipient = self.recipients.get((known.sender, found.recipient)) or found.recipient_state(known.sender)
        put_off = self._put_off(recipient) if found.is_paired else None
        if put_off is None and found.is_paired:
            self.recipients[known.sender, found.recipient] = self._drawn(recipient, group, found.window_until)
        return ClaimedMessage(
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
            start_at=self._draw(group, paced=put_off is None),
            channel=Channel(found.channel),
            subject=found.subject,
            dossier_id=found.dossier_id,
            window_until=found.window_until,
            consent=found.consent,
            address_consent=found.address_consent,
            conversation_id=found.conversation_id,
            shown_in=known.shown_in,
            exempt=bool(found.exempt),
            put_off_until=put_off,
            put_off_by=None if put_off is None else "throttle" if self.now < recipient.blocked_until else "pacing",
            probe=self._probe(group),
            delivery=delivery,
        )

    def _put_off(self, recipient: RecipientState) -> Instant | None:
        """Stagger deferred messages to one recipient, so that each is claimed about once."""
        earliest = recipient_pace.blocked_until(recipient, self.now, self.demand.pair_burst)
        if earliest is None:
            return None
        self.put_off[recipient.sender, recipient.recipient] += 1
        return Instant(earliest + recipient_pace.STEP * (self.put_off[recipient.sender, recipient.recipient] - 1))

    def _draw(self, group: DispatchGroup, *, paced: bool) -> Instant:
        """Draw one permit of the org's quota and one of the number's pace; returns when the send may start."""
        quota = self.permits.get(send_pace.quota_of(group.org_id))
        if quota is not None:
            self.permits[quota.name] = send_pace.draw_quota(quota, 1, self.now)
        pace = self.permits.get(send_pace.pace_of(group))
        if pace is None or group.pace is None or not paced:
            return self.now
        self.permits[pace.name], (start,) = send_pace.draw_pace(pace, group.pace, 1, self.now)
        return start

    def _drawn(self, recipient: RecipientState, group: DispatchGroup, window_until: Instant | None) -> RecipientState:
        """Count one more message to this recipient; a template outside the window may use the number's daily tier."""
        after = recipient_pace.record_send(recipient, self.now, self.demand.pair_burst)
        tier = self.permits.get(send_pace.tier_of(group)) if group.template else None
        if tier is None or is_open(window_until, self.now):
            return after
        today = send_pace.current(tier, self.now)
        if recipient.counted_at >= today.since and recipient.counted_at:
            return after
        self.permits[tier.name] = send_pace.draw_quota(today, 1, self.now)
        return replace(after, counted_at=self.now)

    def _probe(self, group: DispatchGroup) -> GateId | None:
        gate = group.gate
        if gate is None or not gates.wants_probe(gate, self.now):
            return None
        self.probes[gate.id] = self.now + gates.PROBE_AFTER
        return gate.id


def _by_message(row: Row) -> int:
    return int(row[0])


def _write(state: _ClaimState) -> Plan[None]:
    if not state.claimed:
        return
    yield from each("permit_put", [gate_rows.permit_row(state.permits[name]) for name in sorted(state.permits)])
    drawn = [(p.sender, p.recipient, p.free_at, p.counted_at) for _, p in sorted(state.recipients.items())]
    yield from each("pair_draw", drawn)
    yield from each("gate_probe", sorted(state.probes.items()))


def stage(now: Instant) -> Plan[None]:
    """Move messages that have become due from later to ready.

    In a transaction before the claim's own, since a settle waits for rows of later with its permits locked.
    """
    due = yield Once("later_due", (now, STAGE_AT_MOST))
    yield from each("later_drop", [(row[0],) for row in due])
    yield from each("ready_add", [(message_id, group, standing, now) for message_id, group, standing in due])
