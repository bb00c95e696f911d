"""The invariants of receiving and of turns, checked from the phones' screens, the bot's own record, and the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from waypost.model.conversation import BOT
from waypost.model.time import Span, seconds
from waypost.runtime.simulation.talking.evidence import Line, Place, Reply, TalkEvidence
from waypost.runtime.simulation.talking.record import Ask, Ended
from waypost.runtime.simulation.talking.scenario import TalkEnding
from waypost.runtime.simulation.verdict import (
    FLOOR,
    NO_BUG,
    NO_DOUBLE,
    NO_LOSS,
    ORDER,
    TURNS,
    Finding,
    Verdict,
    Violation,
)
from waypost.testing.simulation import START

ALREADY_CLAIMED: Span = seconds(5)
"""A reply whose send was under way when the floor was taken may still go; while its server stands still, later."""
PARKED = ("SENDING", "UNSURE")
"""At rest: the provider never said whether it has the last try, and a person is to decide."""
EXPLAINS: dict[str, set[Ended | None]] = {
    "silent": {Ended.SILENT},
    "handed_over": {Ended.HANDED_OVER},
    "failed": {Ended.FAILED, Ended.CUT, None},
}
"""What the bot must know of a turn that left nothing on the phone."""
Checker = Callable[[TalkEvidence, Counter[str]], Iterator[Finding]]


def check(ending: TalkEnding) -> Verdict:
    evidence, verdict = TalkEvidence(ending), Verdict(ending.seed)
    for invariant, checker in CHECKERS:
        for subject, seen in checker(evidence, verdict.checked):
            verdict.violations.append(Violation(invariant, subject, seen))
    return verdict


def no_bug(evidence: TalkEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Nothing failed that nobody handled."""
    checked[NO_BUG] += 1
    for complaint in evidence.ending.complaints:
        yield complaint.where, f"{complaint.message}: {complaint.error!r}"


# No loss


def no_loss(evidence: TalkEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Every acknowledged line is in the log, and was answered, or it shows why not."""
    for line in evidence.lines.values():
        if not line.acknowledged:
            continue
        checked[NO_LOSS] += 1
        if not line.places:
            yield line.text, "was acknowledged and is not in the log"
        elif not line.answers:
            yield from ((line.text, seen) for seen in _unanswered(evidence, line, line.places[0]))


def _unanswered(evidence: TalkEvidence, line: Line, place: Place) -> Iterator[str]:
    """By its turn, by who has the floor, or not to be explained."""
    turns = evidence.turns_over(place)
    if turns:
        yield from (seen for lo, hi, how in turns if (seen := _ended_badly(evidence, place, lo, hi, how)))
        return
    done, floor = evidence.ending.lanes[place[0]]
    if floor != BOT and place[1] > done:
        return  # it waits for a person, and shows it
    if evidence.ending.times.on_hand_back == "skip" and _handed_back_after(evidence, line, place):
        return
    asked = "the bot was asked, and its answer never came" if line.asks else "nobody ever asked the bot"
    later = [o for o in evidence.lines.values() if o.places and o.places[0][0] == place[0] and o.places[0] > place]
    stuck = "; the customer is stuck" if not any(other.answers for other in later) else ""
    yield f"was acknowledged and never answered: {asked}{stuck}"


def _handed_back_after(evidence: TalkEvidence, line: Line, place: Place) -> bool:
    """A person had it and gave the conversation back, and what came meanwhile is not answered, as it is set."""
    backs = (each for each in evidence.ending.talks.floors if each.to_bot and each.talk == evidence.where[place[0]])
    written = line.written * 1_000_000 - START
    return any(back.answered is None or back.answered >= written for back in backs)


def _ended_badly(evidence: TalkEvidence, place: Place, lo: int, hi: int, how: str) -> str | None:
    """A turn that left nothing on the phone must be one in which the bot said nothing, or be seen to have failed."""
    turn = f"{place[0]}-{lo}-{hi}"
    asks = [ask for ask in evidence.ending.talks.asks if ask.turn == turn]
    outcomes = {_outcome(evidence, ask) for ask in asks}
    if how == "answered":
        return _never_arrived(evidence, place, turn)
    return None if outcomes & EXPLAINS[how] else f"turn {turn} ended as {how}, and the bot says {outcomes}"


def _outcome(evidence: TalkEvidence, ask: Ask) -> Ended | None:
    """A bot on a process that stood still may think that it answered, and was cut at its limit in the same moment."""
    late = ask.ended is not None and ask.ended - ask.begun >= evidence.ending.times.limit
    return Ended.CUT if late else ask.how


def _never_arrived(evidence: TalkEvidence, place: Place, turn: str) -> str | None:
    """Replies that the phone never got have failed, are left to a person, or were called back by who took the floor."""
    found = evidence.ending.replies.items()
    mine = [told for key, told in found if key.split("/", 1)[1].startswith(f"turn:{turn}:")]
    left = {status for status, _ in mine}
    if not mine or not all(status in ("FAILED", "CANCELLED") or (status, code) == PARKED for status, code in mine):
        return f"turn {turn} was answered, and its replies are {sorted(left) or 'nowhere'}"
    if "CANCELLED" in left and not any(spell.talk == evidence.where[place[0]] for spell in evidence.spells):
        return f"turn {turn} was answered and cancelled, and nobody took the floor"
    return None


# No double


def no_double(evidence: TalkEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Each line is in the log once and answered once; each turn leaves one set of replies on the phone."""
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


def _sets(replies: list[Reply]) -> Iterator[Finding]:
    by_turn: dict[str, list[Reply]] = {}
    for reply in replies:
        by_turn.setdefault(reply.said.turn, []).append(reply)
    for turn, said in by_turn.items():
        asks = sorted({reply.ask.id for reply in said})
        parts = [reply.said.part for reply in said]
        if len(asks) > 1:
            yield f"turn {turn}", f"the phone shows replies of {len(asks)} askings: {asks}"
        if len(set(parts)) < len(parts):
            yield f"turn {turn}", f"the phone shows its parts {parts}"


# Order


def order(evidence: TalkEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Replies reach the phone in order; a burst is in the order of writing, and after the one before it."""
    for talk, replies in evidence.replies.items():
        checked[ORDER] += len(replies)
        for one, other in pairwise(replies):
            if one.said.turn == other.said.turn and one.said.part >= other.said.part:
                yield str(talk), f"part {other.said.part} of turn {one.said.turn} came after part {one.said.part}"
            if one.ask is not other.ask and _latest(evidence, one.ask) >= _first(evidence, other.ask):
                yield str(talk), f"{other.said.saw} was answered after {one.said.saw}"
    for ask in evidence.ending.talks.asks:
        keys = [(evidence.lines[text].written, *evidence.lines[text].places) for text in ask.saw]
        if keys != sorted(keys):
            yield f"turn {ask.turn}", f"the bot was given {ask.saw}"
    yield from _gaps(evidence)


def _latest(evidence: TalkEvidence, ask: Ask) -> Place:
    return max(place for text in ask.saw for place in evidence.lines[text].places)


def _first(evidence: TalkEvidence, ask: Ask) -> Place:
    return min(place for text in ask.saw for place in evidence.lines[text].places)


def _gaps(evidence: TalkEvidence) -> Iterator[Finding]:
    """A log and a feed are 1, 2, 3, … without a gap."""
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


def one_turn(evidence: TalkEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Whatever came of it was thought one after the other; and who takes over runs exactly the same burst."""
    for talk, replies in evidence.replies.items():
        asks = sorted({reply.ask.id: reply.ask for reply in replies}.values(), key=lambda ask: ask.begun)
        for one, other in pairwise(asks):
            checked[TURNS] += 1
            if one.ended is None or other.begun < one.ended:
                yield str(talk), f"turns {one.turn} and {other.turn} were thought of at once, and both were sent"
    yield from _ended_turns(evidence)
    yield from _other_bursts(evidence, checked)


def _ended_turns(evidence: TalkEvidence) -> Iterator[Finding]:
    for (id_, _, before, _), (next_id, lo, hi, _) in pairwise(evidence.ending.turns):
        if id_ == next_id and lo < before:
            yield f"conversation {id_}", f"the turn ({lo}, {hi}] begins before {before}, where the one before it ended"


def _other_bursts(evidence: TalkEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """A burst that is asked again is the same burst, unless a person had the floor, or a new line may start anew."""
    latest: dict[tuple[str, str], Ask] = {}
    for ask in evidence.ending.talks.asks:
        before = latest.get(ask.talk)
        latest[ask.talk] = ask
        if before is None or set(before.saw).isdisjoint(ask.saw):
            continue
        checked[TURNS] += 1
        same = before.turn == ask.turn and before.saw == ask.saw
        anew = evidence.ending.times.supersede or evidence.floor_moved(ask.talk, before.begun, ask.begun)
        if not (same or anew):
            yield str(ask.talk), f"{before.saw} ({before.turn}) was taken over as {ask.saw} ({ask.turn})"


# The floor


def floor(evidence: TalkEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """What the bot decides while a person has the floor reaches nobody, and what it had not sent by then stays."""
    first_sent: dict[str, int] = {}
    for sent in evidence.record.sent:
        first_sent.setdefault(sent.text, sent.at)
    texts = {shown["wamid"]: shown["text"] for screen in evidence.ending.screens.values() for shown in screen}
    for spell in evidence.spells:
        checked[FLOOR] += 1
        taken, back = spell.taken.answered, spell.back.asked if spell.back else evidence.ending.micros
        if taken is None:
            continue
        for reply in evidence.replies.get(spell.talk, ()):
            ended = evidence.ending.micros if reply.ask.ended is None else reply.ask.ended
            if taken < ended and reply.ask.begun < back:
                yield str(spell.talk), f"turn {reply.said.turn} was decided after a person took the floor, and sent"
            at = first_sent.get(texts[reply.wamid], 0)
            if taken + ALREADY_CLAIMED + evidence.record.paused(taken, at) < at < back:
                yield str(spell.talk), f"{texts[reply.wamid]} left {(at - taken) / 1e6:.1f} s after a person took over"


CHECKERS: tuple[tuple[str, Checker], ...] = (
    (NO_BUG, no_bug),
    (NO_LOSS, no_loss),
    (NO_DOUBLE, no_double),
    (ORDER, order),
    (TURNS, one_turn),
    (FLOOR, floor),
)
