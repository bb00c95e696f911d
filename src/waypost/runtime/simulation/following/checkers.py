"""The invariants of following, checked from the devices' screens, what they were given and told, and the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from waypost.client.nouns import Json
from waypost.runtime.simulation.following.evidence import FollowEvidence
from waypost.runtime.simulation.following.record import Got
from waypost.runtime.simulation.following.scenario import FollowEnding
from waypost.runtime.simulation.following.screen import DELETED, Line, Talk
from waypost.runtime.simulation.following.truth import Entry
from waypost.runtime.simulation.verdict import (
    LEAVING,
    NO_BUG,
    NO_DOUBLE,
    NO_LOSS,
    ORDER,
    SCREENS,
    TENANCY,
    UNREAD,
    Finding,
    Verdict,
    Violation,
)

Checker = Callable[[FollowEvidence, Counter[str]], Iterator[Finding]]
MOST_UNREAD = 100
"""The API counts no further."""


def check(ending: FollowEnding) -> Verdict:
    evidence, verdict = FollowEvidence(ending), Verdict(ending.seed)
    for invariant, checker in CHECKERS:
        for subject, seen in checker(evidence, verdict.checked):
            verdict.violations.append(Violation(invariant, subject, seen))
    return verdict


def no_bug(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Nothing failed that nobody handled, nobody was sent away for good, and everything came to rest."""
    checked[NO_BUG] += 1
    ending = evidence.ending
    for complaint in ending.complaints:
        yield complaint.where, f"{complaint.message}: {complaint.error!r}"
    for seen in (*ending.record.surprises, *ending.follow.failures):
        yield "somebody", seen
    for stopped in ending.follow.stopped:
        yield stopped.device, f"was told never to come back ({stopped.code}), and had no newer connection"
    for device in ending.unsettled:
        yield device, "did not come to rest"


# No loss


def no_loss(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Whatever was acknowledged is in the log where it was said to be, and on every screen that may show it."""
    for name, post in evidence.ending.follow.posts.items():
        places = evidence.said.get((post.sender, name), [])
        for message_id, position in post.acked:
            checked[NO_LOSS] += 1
            if not any(entry.message_id == message_id and entry.position == position for entry in places):
                yield name, f"was acknowledged as {message_id} at {position} and is not in the log"
    for device in evidence.ending.devices:
        for where, entries in evidence.visible(device).items():
            shown = device.screen.talks.get(where, Talk("")).lines
            checked[NO_LOSS] += len(entries)
            missing = [at for at in entries if at not in shown]
            if missing:
                yield device.id, f"never shows {missing[:8]} of conversation {where} ({len(missing)} in all)"
    yield from _kept(evidence, checked)


def _kept(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """A Log of its own has every body in the end, as it was said; and whoever comes anew reads it."""
    kept = evidence.ending.kept
    if kept is None:
        return
    for entries in evidence.truth.entries.values():
        for entry in entries.values():
            checked[NO_LOSS] += 1
            if kept.get(entry.spot) != entry.body:
                yield entry.message_id, f"said {entry.body}, and the Log has {kept.get(entry.spot)}"
    for person, talks in evidence.ending.read.items():
        for where, said in talks.items():
            for position, content in said.items():
                wrong = _other_words(content, evidence.truth.entries[where][position])
                if wrong is not None:
                    yield person, f"reads conversation {where} at {position}: {wrong}"


# No double


def no_double(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """One entry for each id of a sender's, and no message twice on a screen."""
    for (sender, name), entries in evidence.said.items():
        checked[NO_DOUBLE] += 1
        if len(entries) > 1:
            yield name, f"of {sender} is in the log {len(entries)} times"
    for device in evidence.ending.devices:
        for where, talk in device.screen.talks.items():
            ids = Counter(line.message_id for line in talk.lines.values())
            names = Counter((line.sender, line.client_message_id) for line in talk.lines.values())
            twice = [id_ for id_, count in ids.items() if count > 1]
            twice += [str(name) for (sender, name), count in names.items() if name is not None and count > 1]
            if twice:
                yield device.id, f"shows {twice[:3]} twice in conversation {where}"


# Order


def order(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Feeds and conversations are 1, 2, 3, …; a device is given each feed in that order, without a gap or a repeat."""
    for where, entries in evidence.truth.entries.items():
        if sorted(entries) != list(range(1, len(entries) + 1)):
            yield f"conversation {where}", f"its log has the positions {sorted(entries)}"
    for feed, items in evidence.truth.told.items():
        found = [item.seq for item in items]
        if found != list(range(1, evidence.truth.heads[feed] + 1)):
            yield feed, f"its head is {evidence.truth.heads[feed]}, and it had {len(found)} items"
    for device, got in evidence.ending.follow.got.items():
        checked[ORDER] += len(got)
        yield from ((device, seen) for seen in _out_of_order(evidence, device, got))


def _out_of_order(evidence: FollowEvidence, device: str, got: list[Got]) -> Iterator[str]:
    """A feed goes on where it was, or where a reset or a joining put it; what a restart had not kept comes again."""
    last: dict[str, Got] = {}
    places: dict[tuple[int, str, str], int] = {}
    for each in got:
        before = last.get(each.feed)
        last[each.feed] = each
        follows = before is None or each.seq == before.seq + 1
        again = before is not None and each.life > before.life and each.seq <= before.seq
        if not (follows or again or evidence.begins_at(device, each)):
            yield f"was given {each.feed} {each.seq} after {before.seq if before else 0}"
        key = (each.life, each.feed, each.conversation)
        if each.kind == "message":
            if each.position <= places.get(key, 0):
                yield f"was given position {each.position} of {each.conversation} after {places[key]}"
            places[key] = each.position


# Screens


def screens(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Nothing but the truth: what is shown is in the log, as it stands there, tombstones and statuses included."""
    for device in evidence.ending.devices:
        visible = evidence.visible(device)
        for where, talk in device.screen.talks.items():
            checked[SCREENS] += 1
            if where not in visible:
                yield device.id, f"shows conversation {where}, which its person is not in"
                continue
            for at, line in talk.lines.items():
                wrong = _wrong(line, visible[where].get(at))
                if wrong is not None:
                    yield device.id, f"conversation {where} at {at}: {wrong}"
            work = evidence.truth.conversations[where].work
            if talk.kind == "customer" and talk.work != work:
                yield device.id, f"conversation {where} is {work}, and it shows {talk.work}"
        for where in visible.keys() - device.screen.talks.keys():
            if visible[where] or where in evidence.truth.chats:
                yield device.id, f"does not show conversation {where}"


def _wrong(line: Line, entry: Entry | None) -> str | None:
    if entry is None:
        return f"it shows {line.message_id}, and may not see that place"
    if line.message_id != entry.message_id:
        return f"it shows {line.message_id}, and there is {entry.message_id}"
    if wrong := _other_words(line.content, entry):
        return wrong
    if entry.shown_status is not None and line.status != entry.shown_status:
        return f"it is {entry.shown_status}, and is shown as {line.status}"
    return None


def _other_words(content: Json, entry: Entry) -> str | None:
    if (content == DELETED) is not entry.deleted:
        return "was taken back, and is shown" if entry.deleted else "is shown as taken back, and was not"
    if not entry.deleted and entry.text is not None and content.get("text") not in (entry.text, {"body": entry.text}):
        return f"it shows {content}, and there is {entry.text!r}"
    return None


# Unread


def unread(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """All devices of a person show the same counts, which are the API's."""
    for device in evidence.ending.devices:
        served = evidence.ending.served[device.person.id]
        for where, talk in device.screen.talks.items():
            checked[UNREAD] += 1
            shown = min(talk.unread(device.person.id), MOST_UNREAD)
            if where in served and served[where] != shown:
                yield device.id, f"shows {shown} unread in conversation {where}, and there are {served[where]}"
            marker = evidence.truth.reads.get((device.person.id, where), 0)
            if talk.read != marker:
                yield device.id, f"thinks that conversation {where} is read up to {talk.read}, and it is {marker}"


# Leaving


def leaving(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Who was removed is given nothing that came after it, by any way."""
    for device in evidence.ending.devices:
        heard = evidence.ending.follow.heard.get(device.id, set())
        for feed, seq, where, name in sorted(heard, key=str):
            if feed.startswith("group:"):
                checked[LEAVING] += 1
                if not evidence.may_follow(device.person.id, feed, seq):
                    yield device.id, f"was given {feed} {seq}, and its person was not in the group then"
            post = evidence.ending.follow.posts.get(name or "")
            if post is not None and evidence.was_out(device.person.id, where, post.asked):
                yield device.id, f"was given {name}, which was written after its person had left {where}"
        yield from ((device.id, seen) for seen in _after_goodbye(evidence, device.person.id, heard))


def _after_goodbye(
    evidence: FollowEvidence, person: str, heard: set[tuple[str, int, str, str | None]]
) -> Iterator[str]:
    """In somebody's own feed nothing of a group comes between their removal and their return."""
    out: set[str] = set()
    for item in evidence.truth.told.get(f"user:{person}", ()):
        if item.kind == "joined":
            out.discard(item.conversation)
        elif item.conversation in out and any(item.seq == seq and feed == item.feed for feed, seq, *_ in heard):
            yield f"was given {item.kind} of conversation {item.conversation}, which its person had left"
        elif item.kind == "members" and person in item.body["removed"]:
            out.add(item.conversation)


# Tenancy


def tenancy(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[Finding]:
    """Nobody is given anything of another org, of somebody else's feed, or of a conversation they were never in."""
    for device in evidence.ending.devices:
        own = {f"user:{device.person.id}", f"team:{device.person.org}"}
        for feed, seq, where, _ in sorted(evidence.ending.follow.heard.get(device.id, set()), key=str):
            checked[TENANCY] += 1
            if feed not in own and not feed.startswith("group:"):
                yield device.id, f"was given {feed} {seq}, which is not its person's"
            talk = evidence.truth.conversations.get(where)
            if talk is None or talk.org != device.person.org:
                yield device.id, f"was given something of conversation {where}, which is another org's"
            elif talk.kind != "customer" and (where, device.person.id) not in evidence.ever_in:
                yield device.id, f"was given something of conversation {where}, which its person was never in"


CHECKERS: tuple[tuple[str, Checker], ...] = (
    (NO_BUG, no_bug),
    (NO_LOSS, no_loss),
    (NO_DOUBLE, no_double),
    (ORDER, order),
    (SCREENS, screens),
    (UNREAD, unread),
    (LEAVING, leaving),
    (TENANCY, tenancy),
)
