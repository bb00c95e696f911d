"""The invariants of receiving and of turns, checked from the phones' screens, the bot's record, and the Ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from waypost.model.conversation import BOT
from waypost.model.time import Span, seconds
from waypost_testing.simulation import START
from waypost_testing.stories.talking.evidence import CustomerMessage, EntryPlace, PhoneReply, TurnEvidence
from waypost_testing.stories.talking.record import BotCall, BotCallEnd
from waypost_testing.stories.verdict import (
    FLOOR,
    NO_BUG,
    NO_DOUBLE,
    NO_LOSS,
    ORDER,
    TURNS,
    SimulationFinding,
)

ALREADY_CLAIMED: Span = seconds(5)
"""A reply that was being sent when the floor was taken may still go out, but not after its server stood still."""
PARKED = ("SENDING", "UNSURE")
"""At rest: it is unknown whether the provider has the last attempt, and a person must decide."""
EXPLAINS: dict[str, set[BotCallEnd | None]] = {
    "silent": {BotCallEnd.SILENT},
    "handed_over": {BotCallEnd.HANDED_OVER},
    "failed": {BotCallEnd.FAILED, BotCallEnd.CUT, None},
}
"""The bot's outcomes that explain a turn without replies on the phone."""
TurnChecker = Callable[[TurnEvidence, Counter[str]], Iterator[SimulationFinding]]


def no_bug(evidence: TurnEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Every error was handled."""
    checked[NO_BUG] += 1
    for complaint in evidence.ending.complaints:
        yield complaint.where, f"{complaint.message}: {complaint.error!r}"


# No loss


def no_loss(evidence: TurnEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Every acknowledged message has an entry and was answered, or there is a visible reason."""
    for line in evidence.lines.values():
        if not line.acknowledged:
            continue
        checked[NO_LOSS] += 1
        if not line.places:
            yield line.text, "was acknowledged and is not in the log"
        elif not line.answers:
            yield from ((line.text, seen) for seen in _unanswered(evidence, line, line.places[0]))


def _unanswered(evidence: TurnEvidence, line: CustomerMessage, place: EntryPlace) -> Iterator[str]:
    """Explained by its turn, by who has the floor, or not at all."""
    turns = evidence.turns_over(place)
    if turns:
        yield from (seen for lo, hi, how in turns if (seen := _ended_badly(evidence, place, lo, hi, how)))
        return
    done, floor = evidence.ending.turn_states[place[0]]
    if floor != BOT and place[1] > done:
        return  # it visibly waits for a person
    if evidence.ending.times.on_hand_back == "skip" and _handed_back_after(evidence, line, place):
        return
    asked = "the bot was asked, and its answer never came" if line.asks else "nobody ever asked the bot"
    later = [o for o in evidence.lines.values() if o.places and o.places[0][0] == place[0] and o.places[0] > place]
    stuck = "; the customer is stuck" if not any(other.answers for other in later) else ""
    yield f"was acknowledged and never answered: {asked}{stuck}"


def _handed_back_after(evidence: TurnEvidence, line: CustomerMessage, place: EntryPlace) -> bool:
    """An agent returned the floor to the bot, and messages from before are not answered, as configured."""
    backs = (
        each
        for each in evidence.ending.turns_record.floors
        if each.to_bot and each.conversation == evidence.where[place[0]]
    )
    written = line.written * 1_000_000 - START
    return any(back.answered is None or back.answered >= written for back in backs)


def _ended_badly(evidence: TurnEvidence, place: EntryPlace, lo: int, hi: int, how: str) -> str | None:
    """In a turn without replies on the phone, the bot was silent, or the turn visibly failed."""
    turn = f"{place[0]}-{lo}-{hi}"
    asks = [ask for ask in evidence.ending.turns_record.asks if ask.turn == turn]
    outcomes = {_outcome(evidence, ask) for ask in asks}
    if how == "answered":
        return _never_arrived(evidence, place, turn)
    return None if outcomes & EXPLAINS[how] else f"turn {turn} ended as {how}, and the bot says {outcomes}"


def _outcome(evidence: TurnEvidence, ask: BotCall) -> BotCallEnd | None:
    """A bot in a paused process may assume that it answered, but was cut at its limit in the same moment."""
    late = ask.ended is not None and ask.ended - ask.begun >= evidence.ending.times.limit
    return BotCallEnd.CUT if late else ask.how


def _never_arrived(evidence: TurnEvidence, place: EntryPlace, turn: str) -> str | None:
    """Replies that never reached the phone failed, are left to a person, or were cancelled when the floor was taken."""
    found = evidence.ending.replies.items()
    mine = [outcome for key, outcome in found if key.split("/", 1)[1].startswith(f"turn:{turn}:")]
    left = {status for status, _ in mine}
    if not mine or not all(status in ("FAILED", "CANCELLED") or (status, code) == PARKED for status, code in mine):
        return f"turn {turn} was answered, and its replies are {sorted(left) or 'nowhere'}"
    if "CANCELLED" in left and not any(spell.conversation == evidence.where[place[0]] for spell in evidence.spells):
        return f"turn {turn} was answered and cancelled, and nobody took the floor"
    return None


# No double


def no_double(evidence: TurnEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Each message has one entry and one answer; each turn leaves one set of replies on the phone."""
    for line in evidence.lines.values():
        checked[NO_DOUBLE] += 1
        if len(line.places) > 1:
            yield line.text, f"is in the log {len(line.places)} times"
        if len(line.answers) > 1:
            turns = [ask.turn for ask in line.answers]
            yield line.text, f"was answered {len(turns)} times: in {turns}"
        for ask in line.asks:
            if ask.saw.count(line.text) > 1:
                yield line.text, f"is in one burst {ask.saw.count(line.text)} times"
    for replies in evidence.replies.values():
        yield from _sets(replies)


def _sets(replies: list[PhoneReply]) -> Iterator[SimulationFinding]:
    by_turn: dict[str, list[PhoneReply]] = {}
    for reply in replies:
        by_turn.setdefault(reply.reply.turn, []).append(reply)
    for turn, shown in by_turn.items():
        asks = sorted({reply.ask.id for reply in shown})
        parts = [reply.reply.part for reply in shown]
        if len(asks) > 1:
            yield f"turn {turn}", f"the phone shows replies of {len(asks)} askings: {asks}"
        if len(set(parts)) < len(parts):
            yield f"turn {turn}", f"the phone shows its parts {parts}"


# Order


def order(evidence: TurnEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Replies reach the phone in order; a burst is in the order of writing, and after the one before it."""
    for conversation, replies in evidence.replies.items():
        checked[ORDER] += len(replies)
        for one, other in pairwise(replies):
            if one.reply.turn == other.reply.turn and one.reply.part >= other.reply.part:
                yield (
                    str(conversation),
                    f"part {other.reply.part} of turn {one.reply.turn} came after part {one.reply.part}",
                )
            if one.ask is not other.ask and _latest(evidence, one.ask) >= _first(evidence, other.ask):
                yield str(conversation), f"{other.reply.saw} was answered after {one.reply.saw}"
    for ask in evidence.ending.turns_record.asks:
        keys = [(evidence.lines[text].written, *evidence.lines[text].places) for text in ask.saw]
        if keys != sorted(keys):
            yield f"turn {ask.turn}", f"the bot was given {ask.saw}"
    yield from _gaps(evidence)


def _latest(evidence: TurnEvidence, ask: BotCall) -> EntryPlace:
    return max(place for text in ask.saw for place in evidence.lines[text].places)


def _first(evidence: TurnEvidence, ask: BotCall) -> EntryPlace:
    return min(place for text in ask.saw for place in evidence.lines[text].places)


def _gaps(evidence: TurnEvidence) -> Iterator[SimulationFinding]:
    """Positions and feed numbers are 1, 2, 3, … without a gap."""
    positions: dict[int, list[int]] = {}
    for _, _, conversation, position, *_ in evidence.ending.entries:
        positions.setdefault(conversation, []).append(position)
    for conversation, found in positions.items():
        if found != list(range(1, len(found) + 1)):
            yield f"conversation {conversation}", f"its log has the positions {found}"
    for feed, head, items in evidence.ending.feeds:
        if head != items:
            yield feed, f"its head is {head}, and it has {items} items"


# One turn at a time


def one_turn(evidence: TurnEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Turns whose replies were sent did not overlap, a worker that takes over runs exactly the same burst, and every
    burst is shown whole."""
    for conversation, replies in evidence.replies.items():
        asks = sorted({reply.ask.id: reply.ask for reply in replies}.values(), key=lambda ask: ask.begun)
        for one, other in pairwise(asks):
            checked[TURNS] += 1
            if one.ended is None or other.begun < one.ended:
                yield (
                    str(conversation),
                    f"turns {one.turn} and {other.turn} were thought of at once, and both were sent",
                )
    yield from _ended_turns(evidence)
    yield from _other_bursts(evidence, checked)
    yield from _shown_in_part(evidence, checked)


def _shown_in_part(evidence: TurnEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """The bot is shown exactly the customer's messages after `lo`, up to `hi`."""
    for ask in evidence.ending.turns_record.asks:
        checked[TURNS] += 1
        conversation, lo, hi = map(int, ask.turn.split("-"))
        written = evidence.written.get(conversation, {})
        burst = {written[position] for position in range(lo + 1, hi + 1) if position in written}
        if burst != set(ask.saw):
            yield f"turn {ask.turn}", f"has {len(burst)} messages, and the bot was shown {len(set(ask.saw))}"


def _ended_turns(evidence: TurnEvidence) -> Iterator[SimulationFinding]:
    for (id_, _, before, _), (next_id, lo, hi, _) in pairwise(evidence.ending.turns):
        if id_ == next_id and lo < before:
            yield f"conversation {id_}", f"the turn ({lo}, {hi}] begins before {before}, where the one before it ended"


def _other_bursts(evidence: TurnEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """A repeated burst is the same burst, unless an agent had the floor, or a new message may restart the turn."""
    latest: dict[tuple[str, str], BotCall] = {}
    for ask in evidence.ending.turns_record.asks:
        before = latest.get(ask.conversation)
        latest[ask.conversation] = ask
        if before is None or set(before.saw).isdisjoint(ask.saw):
            continue
        checked[TURNS] += 1
        same = before.turn == ask.turn and before.saw == ask.saw
        anew = evidence.ending.times.supersede or evidence.floor_moved(ask.conversation, before.begun, ask.begun)
        if not (same or anew):
            yield str(ask.conversation), f"{before.saw} ({before.turn}) was taken over as {ask.saw} ({ask.turn})"


# The floor


def floor(evidence: TurnEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """What the bot decides while an agent has the floor is never sent, and unsent replies stay unsent."""
    first_sent: dict[str, int] = {}
    for sent in evidence.record.sent:
        first_sent.setdefault(sent.text, sent.at)
    texts = {shown["wamid"]: shown["text"] for screen in evidence.ending.screens.values() for shown in screen}
    for spell in evidence.spells:
        checked[FLOOR] += 1
        taken, back = spell.taken.answered, spell.back.asked if spell.back else evidence.ending.micros
        if taken is None:
            continue
        for reply in evidence.replies.get(spell.conversation, ()):
            ended = evidence.ending.micros if reply.ask.ended is None else reply.ask.ended
            if taken < ended and reply.ask.begun < back:
                yield (
                    str(spell.conversation),
                    f"turn {reply.reply.turn} was decided after a person took the floor, and sent",
                )
            at = first_sent.get(texts[reply.wamid], 0)
            if taken + ALREADY_CLAIMED < at < back:
                yield (
                    str(spell.conversation),
                    f"{texts[reply.wamid]} left {(at - taken) / 1e6:.1f} s after a person took over",
                )


CHECKERS: tuple[tuple[str, TurnChecker], ...] = (
    (NO_BUG, no_bug),
    (NO_LOSS, no_loss),
    (NO_DOUBLE, no_double),
    (ORDER, order),
    (TURNS, one_turn),
    (FLOOR, floor),
)
