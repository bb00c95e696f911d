"""The webhook journal in SQL: applies a POST, reads and prunes its items, and applies account updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec.structs import replace

from waypost.adapters.sql.accounts.preferences import apply_preferences
from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.adapters.sql.kernel.apply_webhook import ApplyWebhook
from waypost.adapters.sql.kernel.commit_queues import Writer
from waypost.adapters.sql.rows import gate_rows, message_rows
from waypost.adapters.sql.sending.templates import change_status
from waypost.model.gate import Gate, GateClosing, GateKind
from waypost.model.ids import OrgId
from waypost.model.template import TemplateStatusChange
from waypost.model.time import Instant, Span, hours, seconds
from waypost.model.update import (
    AccountUpdate,
    HoldAccount,
    HoldCause,
    JournalState,
    RefreshTemplates,
    ReleaseHold,
    SetPace,
    SetTemplateStatus,
    SetTier,
    UpdateAction,
)
from waypost.model.webhook import WebhookBatch
from waypost.ports.receiving.journal import AppliedWebhook, JournalEntry, UnmatchedStatuses
from waypost.rules.limits import gates
from waypost.rules.receiving.account_updates import HELD_BY, HoldStatus, standing

_ASK_AGAIN: Span = hours(1)
"""A template list that is older is refreshed automatically."""
_ONE_SECOND: Span = seconds(1)

JournalKey: TypeAlias = tuple[str, str, str]


class SqlJournal:
    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._engine = engine
        self._writer = writer

    async def apply_webhook(self, post: WebhookBatch, now: Instant) -> AppliedWebhook:
        return await self._writer.apply_webhook(ApplyWebhook(post, now))

    async def items(self, org: OrgId, state: str | None, limit: int) -> Sequence[JournalEntry]:
        if state is None:
            found = await self._engine.read("journal_newest", org, limit)
        else:
            found = await self._engine.read("journal_by_state", org, limit, state)
        return [message_rows.journaled(row) for row in found]

    async def find(self, org: OrgId, item: int) -> JournalEntry | None:
        found = await self._engine.read("journal_get", org, item)
        return message_rows.journaled(found[0]) if found else None

    async def act(self, updates: Sequence[AccountUpdate], now: Instant) -> Sequence[bool]:
        return await self._engine.transact(_act(updates, now)) if updates else []

    async def forget(self, before: Instant, limit: int) -> int:
        return await self._engine.transact(_prune(before, limit))

    async def tidy(self, waiting_since: Instant, forget_before: Instant) -> UnmatchedStatuses:
        pruned = await self._engine.transact(_prune_unmatched(forget_before))
        ((waiting,),) = await self._engine.read("orphans_count", waiting_since)
        return UnmatchedStatuses(waiting, pruned)


def _prune(before: Instant, limit: int) -> Plan[int]:
    return len((yield Once("journal_forget", (before, limit))))


def _prune_unmatched(before: Instant) -> Plan[int]:
    pruned = yield Once("orphans_forget", (before,))
    yield from each("wamid_forget", sorted({(number, wamid) for number, wamid in pruned}))
    return len(pruned)


def _act(updates: Sequence[AccountUpdate], now: Instant) -> Plan[list[bool]]:
    wanted = {_key(update): (update.org_id, *_key(update)) for update in updates}
    found = yield from each("journal_lock", [wanted[key] for key in sorted(wanted)])
    known: dict[JournalKey, tuple[int, str]] = {(row[2], row[3], row[4]): (row[0], row[5]) for row in found}
    answers = [_is_new(update, known) for update in updates]
    fresh = sorted((update for update, new in zip(updates, answers, strict=True) if new), key=lambda update: update.at)
    yield from _apply_topics(fresh, now)
    yield from apply_preferences(fresh, now)
    yield from _change_templates(fresh, now)
    marks = {known[_key(update)][0]: (known[_key(update)][0], update.state.value, update.error) for update in fresh}
    yield from each("journal_mark", [marks[item] for item in sorted(marks)])
    return answers


def _key(update: AccountUpdate) -> JournalKey:
    return (update.number, update.kind, update.key)


def _is_new(update: AccountUpdate, known: dict[JournalKey, tuple[int, str]]) -> bool:
    """Each item is applied once: the holder of its row lock marks it, and the next one finds it marked."""
    if _key(update) not in known:
        return False
    item, state = known[_key(update)]
    if state == JournalState.DONE or (state, update.state) == (JournalState.KEPT, JournalState.KEPT):
        return False
    known[_key(update)] = (item, update.state.value)
    return True


def _apply_topics(updates: Sequence[AccountUpdate], now: Instant) -> Plan[None]:
    """Of several updates on one topic the latest counts, and only if no later one is stored."""
    latest: dict[tuple[str, str], tuple[AccountUpdate, UpdateAction]] = {}
    for update in updates:
        for act in update.acts:
            if topic := _topic(update, act):
                latest[update.org_id, topic] = (update, act)
    ordered = sorted(latest.items(), key=lambda item: item[0])
    yield from each("word_put", _first_locked([item for _, item in ordered]))
    newer = yield from each("word_put", [_topic_row(topic, update, act) for (_, topic), (update, act) in ordered])
    newer_topics = {(row[0], row[1]) for row in newer}
    applied = [item for topic, item in ordered if topic in newer_topics]
    yield from _move_holds(applied, now)
    yield from _set_limits(applied, now)
    yield from _outdate_lists(applied, now)


def _first_locked(items: Sequence[tuple[AccountUpdate, UpdateAction]]) -> list[Row]:
    """One lock row per account that may be held: two processes may report two causes at once, and both set one gate."""
    accounts = {
        (update.org_id, gates.of_account(update.waba_id))
        for update, act in items
        if isinstance(act, HoldAccount | ReleaseHold)
    }
    return [(*account, 0, None, None, None) for account in sorted(accounts)]


def _topic(update: AccountUpdate, act: UpdateAction) -> str | None:
    match act:
        case HoldAccount(cause=cause) | ReleaseHold(cause=cause):
            return _cause(update.waba_id, cause)
        case SetTier():
            return f"{gates.of_account(update.waba_id)}/tier"
        case SetPace(number=number):
            return f"{gates.of_number(number)}/pace"
        case RefreshTemplates():
            return f"{gates.of_account(update.waba_id)}/templates"
        case _:
            return None


def _cause(waba_id: str, cause: HoldCause) -> str:
    return f"{gates.of_account(waba_id)}/{cause.value}"


def _topic_row(topic: str, update: AccountUpdate, act: UpdateAction) -> Row:
    held = (act.code, act.reason, act.until) if isinstance(act, HoldAccount) else (None, None, None)
    return (update.org_id, topic, update.at, *held)


def _move_holds(applied: Sequence[tuple[AccountUpdate, UpdateAction]], now: Instant) -> Plan[None]:
    released = {
        (update.org_id, update.waba_id): False for update, act in applied if isinstance(act, HoldAccount | ReleaseHold)
    }
    for update, act in applied:
        if isinstance(act, ReleaseHold):
            released[update.org_id, update.waba_id] = True
    for (org, waba_id), is_released in sorted(released.items()):
        yield from _move_hold(org, waba_id, is_released, now)


def _move_hold(org: OrgId, waba_id: str, released: bool, now: Instant) -> Plan[None]:
    """Derive the account's gate from all known causes; a hold that a send found stays unless released."""
    name = gates.of_account(waba_id)
    topics = {_cause(waba_id, cause): cause for cause in HoldCause}
    found = yield Once("words_of", (org, *topics))
    hold = standing([_hold_status(topics[row[0]], row) for row in found], now)
    known = [gate_rows.gate(row) for row in (yield from each("gate_lock", [(org, name)]))]
    before = next((gate for gate in known if gate.kind is GateKind.HOLD), None)
    ours = before is not None and before.code in HELD_BY
    if released or ours:
        yield Once("hold_drop", (org, name))
    if hold is None:
        return
    closing = GateClosing(
        org_id=org, name=name, kind=GateKind.HOLD, code=hold.code, reason=hold.reason, until=hold.until
    )
    yield from each("gate_put", [gate_rows.gate_row(_closed(before, closing, ours or released, now))])


def _hold_status(cause: HoldCause, row: Row) -> HoldStatus:
    _, code, reason, until = row
    return HoldStatus(cause, None if code is None else HoldAccount(cause, code, reason, until))


def _closed(before: Gate | None, closing: GateClosing, replaces: bool, now: Instant) -> Gate:
    if not replaces:
        return gates.closed(before, closing, now)
    fresh = gates.closed(None, closing, now)
    return replace(fresh, since=before.since) if before is not None and gates.is_closed(before, now) else fresh


def _set_limits(applied: Sequence[tuple[AccountUpdate, UpdateAction]], now: Instant) -> Plan[None]:
    for update, act in applied:
        if isinstance(act, SetTier):
            numbers = yield Once("number_tier", (update.org_id, update.waba_id, act.most, now))
            for number in sorted(row[0] for row in numbers):
                yield Once("quota_limit", (f"tier:{number}", act.most))
        elif isinstance(act, SetPace):
            yield Once("number_pace", (update.org_id, act.number, act.per_second, now))


def _outdate_lists(applied: Sequence[tuple[AccountUpdate, UpdateAction]], now: Instant) -> Plan[None]:
    for update, act in applied:
        if isinstance(act, RefreshTemplates):
            old = Instant(now - _ASK_AGAIN - _ONE_SECOND)
            yield Once("template_sync_outdate", (update.org_id, update.waba_id, update.at + _ONE_SECOND, old))


def _change_templates(updates: Sequence[AccountUpdate], now: Instant) -> Plan[None]:
    """The provider's times are whole seconds: within one second, its update is newer than our list."""
    for update in updates:
        for act in update.acts:
            if isinstance(act, SetTemplateStatus):
                at = Instant(min(update.at + _ONE_SECOND - 1, now))
                changed = yield from change_status(update.org_id, update.waba_id, act.change, at)
                if changed:
                    yield from _move_template_gate(update, act.change, now)


def _move_template_gate(update: AccountUpdate, change: TemplateStatusChange, now: Instant) -> Plan[None]:
    """A paused template is held before its next message is refused; the hold of an approved one is released."""
    name = gates.of_template(update.waba_id, change.name)
    if change.status == "APPROVED":
        yield Once("gate_reopen", (update.org_id, name))
    elif change.status == "PAUSED":
        known = [gate_rows.gate(row) for row in (yield from each("gate_lock", [(update.org_id, name)]))]
        closing = gates.paused_template(update.org_id, name)
        yield from each("gate_put", [gate_rows.gate_row(gates.closed(next(iter(known), None), closing, now))])
