"""The journal in SQL as an operator works with it, and what updates at account level change, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec.structs import replace

from waypost.adapters.sql import gate_rows, rows
from waypost.adapters.sql.engine import Engine
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.adapters.sql.preferences import prefer
from waypost.adapters.sql.templates import change_status
from waypost.model.gate import Closing, Gate, GateKind
from waypost.model.ids import OrgId
from waypost.model.time import Instant, Span, hours, seconds
from waypost.model.update import Act, Cause, Deed, Hold, JournalState, Pace, Refresh, Release, TemplateStatus, Tier
from waypost.ports.journal import Journaled
from waypost.rules import gates
from waypost.rules.account_updates import HELD_BY, Word, standing

_ASK_AGAIN: Span = hours(1)
"""A list of templates that is older is fetched again by itself."""
_ONE_SECOND: Span = seconds(1)

Key: TypeAlias = tuple[str, str, str]


class JournalKeeping:
    """Reading, acting on, and forgetting what `take` has stored."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def items(self, org: OrgId, state: str | None, limit: int) -> Sequence[Journaled]:
        if state is None:
            found = await self._engine.read("journal_newest", org, limit)
        else:
            found = await self._engine.read("journal_by_state", org, limit, state)
        return [rows.journaled(row) for row in found]

    async def find(self, org: OrgId, item: int) -> Journaled | None:
        found = await self._engine.read("journal_get", org, item)
        return rows.journaled(found[0]) if found else None

    async def act(self, deeds: Sequence[Deed], now: Instant) -> Sequence[bool]:
        return await self._engine.transact(_act(deeds, now)) if deeds else []

    async def forget(self, before: Instant, limit: int) -> int:
        return await self._engine.transact(_forgotten(before, limit))


def _forgotten(before: Instant, limit: int) -> Plan[int]:
    return len((yield Once("journal_forget", (before, limit))))


def _act(deeds: Sequence[Deed], now: Instant) -> Plan[list[bool]]:
    wanted = {_key(deed): (deed.org_id, *_key(deed)) for deed in deeds}
    found = yield from each("journal_lock", [wanted[key] for key in sorted(wanted)])
    known: dict[Key, tuple[int, str]] = {(row[2], row[3], row[4]): (row[0], row[5]) for row in found}
    answers = [_is_new(deed, known) for deed in deeds]
    fresh = sorted((deed for deed, new in zip(deeds, answers, strict=True) if new), key=lambda deed: deed.at)
    yield from _hear(fresh, now)
    yield from prefer(fresh, now)
    yield from _change_templates(fresh, now)
    marks = {known[_key(deed)][0]: (known[_key(deed)][0], deed.state.value, deed.error) for deed in fresh}
    yield from each("journal_mark", [marks[item] for item in sorted(marks)])
    return answers


def _key(deed: Deed) -> Key:
    return (deed.number, deed.kind, deed.key)


def _is_new(deed: Deed, known: dict[Key, tuple[int, str]]) -> bool:
    """Each item is acted on once: whoever holds its row marks it, and the next one finds it marked."""
    if _key(deed) not in known:
        return False
    item, state = known[_key(deed)]
    if state == JournalState.DONE or (state, deed.state) == (JournalState.KEPT, JournalState.KEPT):
        return False
    known[_key(deed)] = (item, deed.state.value)
    return True


def _hear(deeds: Sequence[Deed], now: Instant) -> Plan[None]:
    """Of several words on one topic the latest counts, and only if none that is known is later."""
    said: dict[tuple[str, str], tuple[Deed, Act]] = {}
    for deed in deeds:
        for act in deed.acts:
            if topic := _topic(deed, act):
                said[deed.org_id, topic] = (deed, act)
    ordered = sorted(said.items(), key=lambda told: told[0])
    yield from each("word_put", _first_locked([told for _, told in ordered]))
    newer = yield from each("word_put", [_word_row(topic, deed, act) for (_, topic), (deed, act) in ordered])
    news = {(row[0], row[1]) for row in newer}
    heard = [told for topic, told in ordered if topic in news]
    yield from _move_holds(heard, now)
    yield from _set_limits(heard, now)
    yield from _outdate_lists(heard, now)


def _first_locked(told: Sequence[tuple[Deed, Act]]) -> list[Row]:
    """One row for each account that may be held: two causes are told at once by two processes, and make one gate."""
    accounts = {(deed.org_id, gates.of_account(deed.waba_id)) for deed, act in told if isinstance(act, Hold | Release)}
    return [(*account, 0, None, None, None) for account in sorted(accounts)]


def _topic(deed: Deed, act: Act) -> str | None:
    match act:
        case Hold(cause=cause) | Release(cause=cause):
            return _cause(deed.waba_id, cause)
        case Tier():
            return f"{gates.of_account(deed.waba_id)}/tier"
        case Pace(number=number):
            return f"{gates.of_number(number)}/pace"
        case Refresh():
            return f"{gates.of_account(deed.waba_id)}/templates"
        case _:
            return None


def _cause(waba_id: str, cause: Cause) -> str:
    return f"{gates.of_account(waba_id)}/{cause.value}"


def _word_row(topic: str, deed: Deed, act: Act) -> Row:
    held = (act.code, act.reason, act.until) if isinstance(act, Hold) else (None, None, None)
    return (deed.org_id, topic, deed.at, *held)


def _move_holds(heard: Sequence[tuple[Deed, Act]], now: Instant) -> Plan[None]:
    released = {(deed.org_id, deed.waba_id): False for deed, act in heard if isinstance(act, Hold | Release)}
    for deed, act in heard:
        if isinstance(act, Release):
            released[deed.org_id, deed.waba_id] = True
    for (org, waba_id), is_released in sorted(released.items()):
        yield from _move_hold(org, waba_id, is_released, now)


def _move_hold(org: OrgId, waba_id: str, released: bool, now: Instant) -> Plan[None]:
    """The account's gate is what all that is known of it says; a hold that a send has met stays unless released."""
    name = gates.of_account(waba_id)
    topics = {_cause(waba_id, cause): cause for cause in Cause}
    found = yield Once("words_of", (org, *topics))
    hold = standing([_word(topics[row[0]], row) for row in found], now)
    known = [gate_rows.gate(row) for row in (yield from each("gate_lock", [(org, name)]))]
    before = next((gate for gate in known if gate.kind is GateKind.HOLD), None)
    ours = before is not None and before.code in HELD_BY
    if released or ours:
        yield Once("hold_drop", (org, name))
    if hold is None:
        return
    closing = Closing(org_id=org, name=name, kind=GateKind.HOLD, code=hold.code, reason=hold.reason, until=hold.until)
    yield from each("gate_put", [gate_rows.gate_row(_closed(before, closing, ours or released, now))])


def _word(cause: Cause, row: Row) -> Word:
    _, code, reason, until = row
    return Word(cause, None if code is None else Hold(cause, code, reason, until))


def _closed(before: Gate | None, closing: Closing, replaces: bool, now: Instant) -> Gate:
    if not replaces:
        return gates.closed(before, closing, now)
    fresh = gates.closed(None, closing, now)
    return replace(fresh, since=before.since) if before is not None and gates.is_closed(before, now) else fresh


def _set_limits(heard: Sequence[tuple[Deed, Act]], now: Instant) -> Plan[None]:
    for deed, act in heard:
        if isinstance(act, Tier):
            numbers = yield Once("number_tier", (deed.org_id, deed.waba_id, act.most, now))
            for number in sorted(row[0] for row in numbers):
                yield Once("quota_limit", (f"tier:{number}", act.most))
        elif isinstance(act, Pace):
            yield Once("number_pace", (deed.org_id, act.number, act.per_second, now))


def _outdate_lists(heard: Sequence[tuple[Deed, Act]], now: Instant) -> Plan[None]:
    for deed, act in heard:
        if isinstance(act, Refresh):
            old = Instant(now - _ASK_AGAIN - _ONE_SECOND)
            yield Once("template_sync_outdate", (deed.org_id, deed.waba_id, deed.at + _ONE_SECOND, old))


def _change_templates(deeds: Sequence[Deed], now: Instant) -> Plan[None]:
    """The provider counts whole seconds: within one of them its word is newer than a list of ours."""
    for deed in deeds:
        for act in deed.acts:
            if isinstance(act, TemplateStatus):
                at = Instant(min(deed.at + _ONE_SECOND - 1, now))
                changed = yield from change_status(deed.org_id, deed.waba_id, act.change, at)
                if changed and act.change.status == "APPROVED":  # what held it is gone
                    yield Once("gate_reopen", (deed.org_id, gates.of_template(deed.waba_id, act.change.name)))
