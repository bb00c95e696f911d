"""The invariants of following, checked from the devices' screens, the items they received, and the Ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from waypost.client.types import Json
from waypost_testing.stories.following.evidence import FollowEvidence
from waypost_testing.stories.following.record import ReceivedItem
from waypost_testing.stories.following.screen import DELETED, ScreenConversation, ScreenMessage
from waypost_testing.stories.following.truth import LedgerEntry
from waypost_testing.stories.verdict import (
    LEAVING,
    NO_BUG,
    NO_DOUBLE,
    NO_LOSS,
    ORDER,
    SCREENS,
    TENANCY,
    UNREAD,
    SimulationFinding,
)

FollowChecker = Callable[[FollowEvidence, Counter[str]], Iterator[SimulationFinding]]
MOST_UNREAD = 100
"""The API counts no further."""


def no_bug(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Every error was handled, no device was stopped for good, and everything came to rest."""
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


def no_loss(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Every acknowledged message is stored where the answer said, and on every screen that may show it."""
    for name, post in evidence.ending.follow.posts.items():
        places = evidence.posts.get((post.sender, name), [])
        for message_id, position in post.acked:
            checked[NO_LOSS] += 1
            if not any(entry.message_id == message_id and entry.position == position for entry in places):
                yield name, f"was acknowledged as {message_id} at {position} and is not in the log"
    for device in evidence.ending.devices:
        for where, entries in evidence.visible(device).items():
            shown = device.screen.conversations.get(where, ScreenConversation("")).lines
            checked[NO_LOSS] += len(entries)
            missing = [at for at in entries if at not in shown]
            if missing:
                yield device.id, f"never shows {missing[:8]} of conversation {where} ({len(missing)} in all)"
    yield from _kept(evidence, checked)


def _kept(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """In the end every body is in the database or in a separate history store, unchanged, and a new device can read
    it. What is only in the database, the history store has lost, and was not asked about yet."""
    kept = evidence.ending.kept
    if kept is None:
        return
    for entries in evidence.truth.entries.values():
        for entry in entries.values():
            checked[NO_LOSS] += 1
            if kept.get(entry.archive_key, None if entry.emptied else entry.body) != entry.body:
                yield entry.message_id, f"said {entry.body}, and the history store has {kept.get(entry.archive_key)}"
    for person, conversations in evidence.ending.read.items():
        for where, shown in conversations.items():
            for position, content in shown.items():
                wrong = _other_words(content, evidence.truth.entries[where][position])
                if wrong is not None:
                    yield person, f"reads conversation {where} at {position}: {wrong}"


# No double


def no_double(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """One entry for each sender's own id, and no message twice on a screen."""
    for (sender, name), entries in evidence.posts.items():
        checked[NO_DOUBLE] += 1
        if len(entries) > 1:
            yield name, f"of {sender} is in the log {len(entries)} times"
    for device in evidence.ending.devices:
        for where, conversation in device.screen.conversations.items():
            ids = Counter(line.message_id for line in conversation.lines.values())
            names = Counter((line.sender, line.client_message_id) for line in conversation.lines.values())
            twice = [id_ for id_, count in ids.items() if count > 1]
            twice += [str(name) for (sender, name), count in names.items() if name is not None and count > 1]
            if twice:
                yield device.id, f"shows {twice[:3]} twice in conversation {where}"


# Order


def order(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Feeds and conversations are 1, 2, 3, …; a device receives each feed in that order, without a gap or a repeat."""
    for where, entries in evidence.truth.entries.items():
        if sorted(entries) != list(range(1, len(entries) + 1)):
            yield f"conversation {where}", f"its log has the positions {sorted(entries)}"
    for feed, items in evidence.truth.feed_items.items():
        found = [item.seq for item in items]
        if found != list(range(1, evidence.truth.heads[feed] + 1)):
            yield feed, f"its head is {evidence.truth.heads[feed]}, and it had {len(found)} items"
    for device, got in evidence.ending.follow.got.items():
        checked[ORDER] += len(got)
        yield from ((device, seen) for seen in _out_of_order(evidence, device, got))


def _out_of_order(evidence: FollowEvidence, device: str, got: list[ReceivedItem]) -> Iterator[str]:
    """A feed continues where it was, or where a reset or a joining put it; what a restart had not kept comes again."""
    last: dict[str, ReceivedItem] = {}
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


def screens(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """Screens show exactly what is stored, including tombstones and statuses."""
    for device in evidence.ending.devices:
        visible = evidence.visible(device)
        for where, conversation in device.screen.conversations.items():
            checked[SCREENS] += 1
            if where not in visible:
                yield device.id, f"shows conversation {where}, which its person is not in"
                continue
            for at, line in conversation.lines.items():
                wrong = _wrong(line, visible[where].get(at))
                if wrong is not None:
                    yield device.id, f"conversation {where} at {at}: {wrong}"
            work = evidence.truth.conversations[where].work
            if conversation.kind == "customer" and conversation.work != work:
                yield device.id, f"conversation {where} is {work}, and it shows {conversation.work}"
        for where in visible.keys() - device.screen.conversations.keys():
            if visible[where] or where in evidence.truth.chats:
                yield device.id, f"does not show conversation {where}"


def _wrong(line: ScreenMessage, entry: LedgerEntry | None) -> str | None:
    if entry is None:
        return f"it shows {line.message_id}, and may not see that place"
    if line.message_id != entry.message_id:
        return f"it shows {line.message_id}, and there is {entry.message_id}"
    if wrong := _other_words(line.content, entry):
        return wrong
    if entry.shown_status is not None and line.status != entry.shown_status:
        return f"it is {entry.shown_status}, and is shown as {line.status}"
    return None


def _other_words(content: Json, entry: LedgerEntry) -> str | None:
    if (content == DELETED) is not entry.deleted:
        return "was taken back, and is shown" if entry.deleted else "is shown as taken back, and was not"
    if not entry.deleted and entry.text is not None and content.get("text") not in (entry.text, {"body": entry.text}):
        return f"it shows {content}, and there is {entry.text!r}"
    return None


# Unread


def unread(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """All devices of a user show the same counts, which are the API's."""
    for device in evidence.ending.devices:
        served = evidence.ending.served[device.person.id]
        for where, conversation in device.screen.conversations.items():
            checked[UNREAD] += 1
            shown = min(conversation.unread(device.person.id), MOST_UNREAD)
            if where in served and served[where] != shown:
                yield device.id, f"shows {shown} unread in conversation {where}, and there are {served[where]}"
            marker = evidence.truth.reads.get((device.person.id, where), 0)
            if conversation.read != marker:
                yield (
                    device.id,
                    f"thinks that conversation {where} is read up to {conversation.read}, and it is {marker}",
                )


# Leaving


def leaving(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """A removed member receives nothing written after the removal, by any route."""
    for device in evidence.ending.devices:
        received = evidence.ending.follow.received.get(device.id, set())
        for feed, seq, where, name in sorted(received, key=str):
            if feed.startswith("group:"):
                checked[LEAVING] += 1
                if not evidence.may_follow(device.person.id, feed, seq):
                    yield device.id, f"was given {feed} {seq}, and its person was not in the group then"
            post = evidence.ending.follow.posts.get(name or "")
            if post is not None and evidence.was_out(device.person.id, where, post.asked):
                yield device.id, f"was given {name}, which was written after its person had left {where}"
        yield from ((device.id, seen) for seen in _after_goodbye(evidence, device.person.id, received))


def _after_goodbye(
    evidence: FollowEvidence, person: str, received: set[tuple[str, int, str, str | None]]
) -> Iterator[str]:
    """A user's own feed has nothing of a group between their removal and their return."""
    out: set[str] = set()
    for item in evidence.truth.feed_items.get(f"user:{person}", ()):
        if item.kind == "joined":
            out.discard(item.conversation)
        elif item.conversation in out and any(item.seq == seq and feed == item.feed for feed, seq, *_ in received):
            yield f"was given {item.kind} of conversation {item.conversation}, which its person had left"
        elif item.kind == "members" and person in item.body["removed"]:
            out.add(item.conversation)


# Tenancy


def tenancy(evidence: FollowEvidence, checked: Counter[str]) -> Iterator[SimulationFinding]:
    """No device receives anything of another org, another user's feed, or a conversation its user was never in."""
    for device in evidence.ending.devices:
        own = {f"user:{device.person.id}", f"team:{device.person.org}"}
        for feed, seq, where, _ in sorted(evidence.ending.follow.received.get(device.id, set()), key=str):
            checked[TENANCY] += 1
            if feed not in own and not feed.startswith("group:"):
                yield device.id, f"was given {feed} {seq}, which is not its person's"
            conversation = evidence.truth.conversations.get(where)
            if conversation is None or conversation.org != device.person.org:
                yield device.id, f"was given something of conversation {where}, which is another org's"
            elif conversation.kind != "customer" and (where, device.person.id) not in evidence.ever_in:
                yield device.id, f"was given something of conversation {where}, which its person was never in"


CHECKERS: tuple[tuple[str, FollowChecker], ...] = (
    (NO_BUG, no_bug),
    (NO_LOSS, no_loss),
    (NO_DOUBLE, no_double),
    (ORDER, order),
    (SCREENS, screens),
    (UNREAD, unread),
    (LEAVING, leaving),
    (TENANCY, tenancy),
)
