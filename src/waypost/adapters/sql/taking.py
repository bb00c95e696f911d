"""One webhook POST, whole: statuses climb the ladder, customers' messages join their conversation, the rest is kept."""

from __future__ import annotations

from dataclasses import dataclass

from waypost.adapters.sql import hearing, rows
from waypost.adapters.sql.intents import Keys
from waypost.adapters.sql.talks import Saying
from waypost.adapters.sql.tries import apply_waiting, freed, told_of
from waypost.adapters.sql.work import Work
from waypost.model.audit import SYSTEM, Action, Entity, Entry
from waypost.model.conversation import Arrival, Lane
from waypost.model.ids import Fence, MessageId, NumberId
from waypost.model.message import AttemptStatus, Delivery, Status
from waypost.model.report import Post, Reported, StatusReport
from waypost.model.time import Instant
from waypost.ports.journal import Move, Taken
from waypost.rules import delivery as rule
from waypost.rules import gates, window
from waypost.rules.lane import is_taken
from waypost.rules.people import spellings


def _pairs(told: Arrival) -> list[tuple[NumberId, str]]:
    """A window is open for whoever writes to any form of the phone: a claim then has one row to look at."""
    return [(told.number, spelled) for spelled in spellings(told.reply_to)]


def _is_confirmed(told: Arrival, work: Work) -> bool:
    return bool(told.consent and told.consent.confirmation) and (told.number, told.wamid) in work.talks.heard


@dataclass(frozen=True, slots=True)
class Take:
    post: Post
    now: Instant

    def needs(self, keys: Keys) -> None:
        keys.reports.extend(self.post.reports)
        keys.arrivals.extend(self.post.arrivals)
        keys.pairs.update(pair for told in self.post.arrivals if told.opens_window for pair in _pairs(told))
        for failure in self.post.closings:
            keys.close(failure.closing)
            keys.failures.add(failure.told.name)

    def decide(self, work: Work) -> Taken:
        reached = self._arrive(work)
        for failure in self.post.closings:
            self._close(failure, work)
        moves: dict[MessageId, Move] = {}
        early = late = unmatched = 0
        for told in self.post.reports:
            binding = work.bound(told)
            work.reports.append(rows.report_row(told, binding.message_id, binding.fence, self.now))
            work.costs += rows.cost_rows(told, binding.message_id)
            if binding.message_id is None or binding.fence is None:
                unmatched += 1
                continue
            before = work.deliveries[binding.message_id]
            early, late = (early + 1, late) if before.status is Status.SENDING else (early, late + 1)
            after = self._apply(told, before, binding.fence, work)
            if after is not before:
                first = moves.get(before.message_id)
                moves[before.message_id] = Move(first.before if first else before, after)
        work.items.extend(
            (i.org_id, i.number, i.kind, i.key, i.state, i.error, self.now, i.body, i.told_at) for i in self.post.items
        )
        promoted = any(freed(work, message_id) for message_id in moves)
        return Taken(
            moved=list(moves.values()),
            early=early,
            late=late,
            unmatched=unmatched,
            promoted=promoted,
            arrived=len(reached),
            buffered=sum(1 for lane in reached if is_taken(lane)),
            reached=tuple(sorted({lane.conversation_id for lane in reached})),
            confirmed=sum(1 for told in self.post.arrivals if _is_confirmed(told, work)),
        )

    def _arrive(self, work: Work) -> list[Lane]:
        """The lanes of new messages, as each found its own."""
        found = []
        for told in self.post.arrivals:
            for pair in _pairs(told) if told.opens_window else ():
                work.change_pair(window.written(work.pair(*pair), told.at))
            before = work.talks.lanes[work.talks.where[told.number, told.wamid]]
            if work.talks.arrive(told, self.now) is not None:
                found.append(before)
                self._consent(told, work)
        return found

    def _consent(self, told: Arrival, work: Work) -> None:
        """A customer's STOP or START that counts is confirmed; one that came too late is only an entry."""
        said, at = told.consent, work.talks.heard.get((told.number, told.wamid))
        if said is None or at is None:
            return
        for key in hearing.rows_of(told, work.talks):
            work.consents[key] = (said.status.value, at, self.now)
        where = work.talks.where[told.number, told.wamid]
        dossier = work.talks.dossiers[where]
        work.audited.append(
            Entry(
                org_id=told.org_id,
                at=self.now,
                entity_type=Entity.ADDRESS if dossier is None else Entity.DOSSIER,
                entity_id=told.reply_to if dossier is None else str(dossier),
                action=Action.CONSENT_CHANGED,
                actor=SYSTEM,
                details=f"WHATSAPP: {said.status.value} (the customer wrote {said.word!r})",
            )
        )
        if said.confirmation is not None:
            message_id, _, _ = work.stored[told.org_id, said.confirmation.idempotency_key]
            body = said.confirmation.payload
            work.talks.say(where, Saying(SYSTEM, "text", body, self.now, message_id=message_id), self.now)

    def _close(self, failure: Reported, work: Work) -> None:
        """Once: what comes again neither prolongs a wait nor holds what somebody has released."""
        closing = failure.closing
        if failure.told.name in work.told_before:
            return
        work.told_before.add(failure.told.name)
        if closing.pair is None:
            work.close(closing, self.now)
        else:
            work.change_pair(gates.block(work.pair(*closing.pair), closing, self.now))

    def _apply(self, told: StatusReport, before: Delivery, fence: Fence, work: Work) -> Delivery:
        """What this report changes, after those that waited for somebody to say whose wamid it is."""
        apply_waiting(work, (told.number, told.wamid), before.message_id, fence, self.now)
        work.change(rule.report(work.deliveries[before.message_id], fence, told, self.now), self.now)
        after = work.deliveries[before.message_id]
        if after is before or before.status not in (Status.SENDING, Status.QUEUED):
            return after
        if after.status is Status.FAILED:
            failed = told_of(before, fence, AttemptStatus.FAILED, self.now, after.error_code, after.error_message)
            work.put_attempt(failed)
        else:
            work.put_attempt(told_of(before, fence, AttemptStatus.SUCCESS, self.now))
        if before.status is Status.QUEUED:
            work.note(before.message_id, self.now, "withdrawn", f"the provider reported {told.kind.value}")
        return after
