"""How a batch of intents becomes one transaction: resolve, lock in one order, decide, write set-wise.

The order is the same for every transaction, table by table and key by key: dossier that is new, contact, conversation
with its lane, chat, outlet, queue, message key, wamid, delivery, permit, gate, pair, feed. Nothing else is locked while
keys are resolved, and nothing is read from the database while decisions are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql import chats, gate_rows, hearing, joining, meeting, remembering, rows, talk_rows
from waypost.adapters.sql.group_commit import Conflict
from waypost.adapters.sql.intents import Intent, Keys, all_keys
from waypost.adapters.sql.plan import Each, Plan, Row, each, read_all
from waypost.adapters.sql.rows import FACTS, Facts
from waypost.adapters.sql.talks import Talks, team_of
from waypost.adapters.sql.turns import CommitTurn
from waypost.adapters.sql.work import Binding, Queue, Work, addressee, outlet_name
from waypost.adapters.sql.writing import write
from waypost.model.chat import NewPost
from waypost.model.conversation import ConversationId
from waypost.model.dossier import ConsentStatus
from waypost.model.ids import Fence, MessageId, NumberId, QueueId, Wamid
from waypost.model.message import Draft
from waypost.model.report import StatusReport
from waypost.rules import entry_ids
from waypost.rules.chat_status import chat_status
from waypost.rules.entry_ids import EntryId
from waypost.rules.lane import holds
from waypost.rules.pacing import quota_of

WamidKey: TypeAlias = tuple[NumberId, Wamid]
ToBind: TypeAlias = dict[WamidKey, tuple[MessageId | None, Fence | None]]


class Decided(NamedTuple):
    answers: list[Any]
    heads: dict[str, int]
    """Of the feeds that moved."""


def decide_together(intents: Sequence[Intent]) -> Plan[Decided]:
    keys = all_keys(intents)
    work = Work(now=max(intent.now for intent in intents))
    yield from _enter_talks(keys, work)
    to_bind = yield from _resolve(keys, work)
    yield from _look_up(keys, work)
    yield from _lock_queues(keys, work)
    yield from _store_messages(keys, work)
    yield from _bind_wamids(to_bind, keys, work)
    yield from _lock_deliveries(work)
    yield from _recognise_failures(keys, work)
    yield from _find_suspects(keys, work)
    yield from _lock_permits(keys, work)
    yield from _lock_gates(keys, work)
    yield from _lock_pairs(keys, work)
    answers = _decide(intents, work)
    yield from _tell_statuses(work)
    return Decided(answers, (yield from write(work)))


def _enter_talks(keys: Keys, work: Work) -> Plan[None]:
    """Conversations come first: whether a turn is still held decides what else there is to store."""
    if not (keys.arrivals or keys.talks or keys.people or keys.notices):
        return
    talks = work.talks
    crowd = yield from meeting.look(keys.arrivals)
    while crowd.joinable:  # before they write: what they say next comes after all that either of them said
        yield from joining.join_all(crowd.joinable, talks, work.now)
        crowd = yield from meeting.look(keys.arrivals)
    work.audited += yield from meeting.meet(keys.arrivals, crowd, talks, work.now)
    yield from meeting.recall(keys.notices, talks)
    yield from meeting.lock({*keys.talks, *talks.where.values(), *talks.noticed.values()}, talks)
    if not talks.conversations.keys() >= set(talks.where.values()):
        raise Conflict("two contacts were joined in the meantime")
    yield from _enter_chats(keys, work)
    yield from meeting.recognise(keys.arrivals, talks)
    yield from hearing.hear(keys.arrivals, talks, work.now)
    yield from meeting.rename(keys.arrivals, crowd, talks, work.now)
    yield from _remember(keys, work)
    _promise(keys, work)
    for row in (yield from each("replies_waiting", [(where,) for where in sorted(keys.silenced)])):
        keys.messages.add(MessageId(row[1]))
        talks.unsent.setdefault(row[0], set()).add(MessageId(row[1]))


def _remember(keys: Keys, work: Work) -> Plan[None]:
    """Whoever answers for the first time answers something: it comes first in their conversation.

    And what the org scheduled is said when it goes out.
    """
    told = yield from remembering.told_before(work.talks)
    keys.messages.update(message.message_id for message in told)
    remembering.show(told, work.talks, work.now)
    unseen = yield from each("message_unseen", [(message_id,) for message_id in sorted(keys.late)])
    work.talks.unseen.update({MessageId(message_id): created_by for message_id, created_by in unseen})


def _enter_chats(keys: Keys, work: Work) -> Plan[None]:
    """What people say and take back: the messages that go out with it, and those that do not any more."""
    talks = work.talks
    yield from chats.enter(keys.people, talks)
    for found in (yield from chats.find_entries(keys.people.entries, talks)):
        entry = talks.found[found[0], found[1]] = talk_rows.entry(found)
        if entry.message_id is not None and (entry.conversation_id, entry.position) in keys.people.taken_back:
            keys.messages.add(entry.message_id)
    keys.drafts += [(post.draft, work.now) for post in keys.people.posts if _goes_out(post, talks) and post.draft]


def _promise(keys: Keys, work: Work) -> None:
    """What is said only because something else holds: a STOP that counts, a turn that is still held."""
    talks = work.talks
    for told in keys.arrivals:
        if told.consent and told.consent.confirmation and (told.number, told.wamid) in talks.heard:
            where = talks.where[told.number, told.wamid]
            keys.drafts.append((replace(told.consent.confirmation, conversation_id=where), work.now))
    for claim, drafts, now in keys.promised:
        where = claim.lane.conversation_id
        if where in talks.lanes and where not in talks.held and holds(talks.lanes[where], claim.lane.fence):
            talks.held.add(where)  # the first in a batch: a second one finds the turn ended
            keys.drafts += [(draft, now) for draft in drafts]


def _goes_out(post: NewPost, talks: Talks) -> bool:
    """What was posted before went out then."""
    known = (post.sender, post.client_message_id) in talks.posted
    return post.conversation_id in talks.conversations and not known


def _tell_statuses(work: Work) -> Plan[None]:
    """Screens show where a message stands: whatever of that changed is told."""
    shown = {
        after.message_id: status
        for after in work.changed()
        if work.facts[after.message_id].talk is not None
        and (status := chat_status(after.status, after.read_at is not None)) != _status_before(after.message_id, work)
    }
    for message, where, position, id_at in (yield from each("entry_of_message", [(id_,) for id_ in sorted(shown)])):
        after = work.deliveries[message]
        body = {
            "message_id": entry_ids.made(EntryId(conversation_id=where, position=position, id_at=id_at)),
            "status": shown[message],
            "provider_message_id": after.provider_id,
            "error_code": after.error_code,
            "error": after.error_message,
        }
        feed = team_of(after.org_id)
        work.talks.tell_one(feed, where, "status", work.now, position, msgspec.json.encode(body).decode())


def _status_before(message: MessageId, work: Work) -> str | None:
    before = work.originals.get(message)
    return chat_status(before.status, before.read_at is not None) if before else None


def _decide(intents: Sequence[Intent], work: Work) -> list[Any]:
    """Ends of turns first: their replies are stored by now, so nobody else in this batch may take the turn away."""
    order = sorted(range(len(intents)), key=lambda n: not isinstance(intents[n], CommitTurn))
    answers = {n: intents[n].decide(work) for n in order}
    return [answers[n] for n in range(len(intents))]


def _resolve(keys: Keys, work: Work) -> Plan[ToBind]:
    """Find the messages that are meant, without locks; returns the wamids that must be bound or waited for."""
    echoed = {told.echo.message_id for told in keys.reports if told.echo}
    provider_ids = yield from _load_facts(keys.messages | echoed, work)
    to_bind: ToBind = {}
    nameless = []
    for told in keys.reports:
        known = _echoed(told, work)
        if known is None or told.echo is None:
            nameless.append(told)
            continue
        work.bindings[told.number, told.wamid] = Binding(known.message_id, told.echo.fence)
        if provider_ids.get(known.message_id) != told.wamid:
            to_bind[told.number, told.wamid] = (known.message_id, told.echo.fence)
    yield from _resolve_by_wamid(nameless, to_bind, work)
    for number, wamid, message_id, fence in keys.acceptances:
        to_bind[number, wamid] = (message_id, fence)
    return to_bind


def _load_facts(wanted: set[MessageId], work: Work) -> Plan[dict[MessageId, Wamid | None]]:
    found = yield from each("facts", [(message_id,) for message_id in sorted(wanted)])
    for row in found:
        work.facts[row[0]] = Facts(*row[:FACTS])
    return {row[0]: row[FACTS] for row in found}


def _echoed(told: StatusReport, work: Work) -> Facts | None:
    """An echo counts only for the number, and so the org, whose secret signed it."""
    known = work.facts.get(told.echo.message_id) if told.echo else None
    return known if known and known.org_id == told.org_id and known.sender == told.number else None


def _resolve_by_wamid(reports: Sequence[StatusReport], to_bind: ToBind, work: Work) -> Plan[None]:
    """What the row of a wamid says stands; an echo that says otherwise cannot take it over."""
    for told in reports:
        to_bind.setdefault((told.number, told.wamid), (None, None))
    for number, wamid, message_id, fence in (yield from each("wamid_find", sorted(to_bind))):
        if message_id is not None:
            work.bindings[number, wamid] = Binding(message_id, fence)
            del to_bind[number, wamid]
    bound = {b.message_id for b in work.bindings.values() if b.message_id is not None}
    yield from _load_facts(bound - work.facts.keys(), work)


def _look_up(keys: Keys, work: Work) -> Plan[None]:
    """By which outlets and queues drafts go, and whose address has said no: one trip where all of it is known."""
    outlets = sorted({outlet_name(draft) for draft, _ in keys.drafts})
    queues = sorted({(draft.org_id, draft.sender, draft.recipient) for draft, _ in keys.drafts if draft.ordered})
    asked = sorted({addressee(draft) for draft, _ in keys.drafts if not draft.exempt})
    found, lined, said = yield from read_all(
        Each("outlet_find", outlets), Each("queue_find", queues), Each("consent_find", asked)
    )
    if len(found) < len(outlets):
        yield from each("outlet_ensure", outlets)
        found = yield from each("outlet_find", outlets)
    if len(lined) < len(queues):
        yield from each("queue_ensure", queues)
        lined = yield from each("queue_find", queues)
    work.outlets.update({(org, sender, template): outlet for org, sender, template, outlet in found})
    work.queue_names.update({(org, sender, recipient): queue_id for org, sender, recipient, queue_id in lined})
    no = ((org, subject, channel) for org, subject, channel, status, _ in said if status == ConsentStatus.REVOKED)
    work.revoked.update(no)


def _lock_queues(keys: Keys, work: Work) -> Plan[None]:
    ids = keys.queues | {known.queue_id for known in work.facts.values() if known.queue_id is not None}
    wanted = sorted(ids | set(work.queue_names.values()))
    for queue_id, head, tail in (yield from each("queue_lock", [(queue_id,) for queue_id in wanted])):
        work.queues[QueueId(queue_id)] = Queue(QueueId(queue_id), head, tail)


def _store_messages(keys: Keys, work: Work) -> Plan[None]:
    """Insert what is new; whoever used the key first, here or in another process, is found instead."""
    drafts = [(draft, now) for draft, now in keys.drafts if draft.exempt or addressee(draft) not in work.revoked]
    queue_of = [
        work.queue_names[draft.org_id, draft.sender, draft.recipient] if draft.ordered else None for draft, _ in drafts
    ]
    wanted = [rows.draft_row(draft, queue, now) for (draft, now), queue in zip(drafts, queue_of, strict=True)]
    fresh = {(org, key): message_id for message_id, org, key in (yield from each("message_insert", wanted))}
    for (draft, now), queue in zip(drafts, queue_of, strict=True):
        name = (draft.org_id, draft.idempotency_key)
        if name in fresh and name not in work.stored:
            work.stored[name] = (fresh[name], draft.digest, True)
            work.add(fresh[name], draft, queue, now, _talk_of(draft, work))
    missing = sorted({(d.org_id, d.idempotency_key) for d, _ in keys.drafts} - work.stored.keys())
    for org, key, message_id, digest in (yield from each("message_by_key", missing)):
        work.stored[org, key] = (message_id, bytes(digest), False)


def _talk_of(draft: Draft, work: Work) -> ConversationId | None:
    """Where it is shown."""
    if draft.conversation_id is not None:
        return ConversationId(draft.conversation_id)
    noticed = work.talks.noticed.get((draft.org_id, draft.idempotency_key))
    return noticed if noticed in work.talks.conversations else None


def _bind_wamids(to_bind: ToBind, keys: Keys, work: Work) -> Plan[None]:
    """Write the wamid row from this side; whichever side comes second meets what the first one left."""
    reported = {(told.number, told.wamid) for told in keys.reports}
    bound: list[WamidKey] = []
    wanted: list[Row] = [(*key, *to_bind[key]) for key in sorted(to_bind)]
    for number, wamid, message_id, fence in (yield from each("wamid_bind", wanted)):
        if message_id in work.facts:
            work.bindings[number, wamid] = Binding(message_id, fence)
            bound.append((number, wamid))
        elif message_id is not None and (number, wamid) in reported:
            raise Conflict("the message was settled by another process in the meantime")
    for row in (yield from each("report_waiting", sorted(bound))):
        told = rows.waiting_report(row)
        work.waiting_reports.setdefault((told.number, told.wamid), []).append(told)


def _lock_deliveries(work: Work) -> Plan[None]:
    wanted = [(message_id,) for message_id in sorted(work.facts) if message_id not in work.deliveries]
    for row in (yield from each("delivery_lock", wanted)):
        work.deliveries[row[0]] = work.originals[row[0]] = rows.delivery(row)


def _recognise_failures(keys: Keys, work: Work) -> Plan[None]:
    """Rare. The delivery of each or its wamid is locked, so nobody stores one of them meanwhile."""
    found = yield from each("report_find", sorted(keys.failures))
    work.told_before.update((number, wamid, kind, participant) for number, wamid, kind, participant in found)


def _find_suspects(keys: Keys, work: Work) -> Plan[None]:
    wanted = [(message_id,) for message_id in sorted(keys.doubtful)]
    work.suspects.update(row[0] for row in (yield from each("suspects", wanted)))


def _lock_permits(keys: Keys, work: Work) -> Plan[None]:
    """Given back when all is decided; nothing of what they say is needed before."""
    names = keys.permits | {quota_of(work.facts[message_id].org_id) for message_id in keys.untried & work.facts.keys()}
    yield from each("permit_lock", [(name,) for name in sorted(names)])


def _lock_gates(keys: Keys, work: Work) -> Plan[None]:
    for row in (yield from each("gate_lock", sorted(keys.gates))):
        gate = gate_rows.gate(row)
        work.gates[gate.org_id, gate.name, gate.kind] = gate


def _lock_pairs(keys: Keys, work: Work) -> Plan[None]:
    for row in (yield from each("pair_lock", sorted(keys.pairs))):
        pair = gate_rows.pair(row)
        work.pairs[pair.sender, pair.recipient] = pair
