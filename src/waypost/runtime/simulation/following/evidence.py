"""What a run of following left, made into what its checkers ask for."""

from __future__ import annotations

from waypost.runtime.simulation.following.device import Device
from waypost.runtime.simulation.following.record import Got
from waypost.runtime.simulation.following.scenario import FollowEnding
from waypost.runtime.simulation.following.truth import Entry


class FollowEvidence:
    def __init__(self, ending: FollowEnding) -> None:
        self.ending = ending
        self.truth = ending.truth
        self.said: dict[tuple[str, str], list[Entry]] = {}
        """(sender, their id for it) -> where it is in the log."""
        for entries in self.truth.entries.values():
            for entry in entries.values():
                if entry.client_message_id is not None:
                    self.said.setdefault((entry.sender, entry.client_message_id), []).append(entry)
        self.ever_in: set[tuple[str, str]] = set()
        """(conversation, person)"""
        self._joins: dict[tuple[str, str], list[int]] = {}
        """(feed of a group, person) -> after which numbers it became theirs."""
        self._leaves: dict[tuple[str, str], list[int]] = {}
        """(feed of a group, person) -> with which numbers it ended."""
        self._read_changes()

    def visible(self, device: Device) -> dict[str, dict[int, Entry]]:
        return self.truth.visible(device.person.org, device.person.id)

    def _read_changes(self) -> None:
        for feed, items in self.truth.told.items():
            for item in items:
                person = feed.removeprefix("user:")
                if item.kind == "joined":
                    self.ever_in.add((item.conversation, person))
                    if joins := item.body.get("joins"):
                        self._joins.setdefault((joins["feed"], person), []).append(joins["from"])
                elif item.kind == "members" and feed.startswith("group:"):
                    for gone in item.body["removed"]:
                        self._leaves.setdefault((feed, gone), []).append(item.seq)

    def may_follow(self, person: str, feed: str, seq: int) -> bool:
        """The number lies after a joining, and no later than the leaving that followed it."""
        for since in self._joins.get((feed, person), ()):
            until = min((at for at in self._leaves.get((feed, person), ()) if at > since), default=seq)
            if since < seq <= until:
                return True
        return False

    def begins_at(self, device: str, got: Got) -> bool:
        """A reset put every feed at its head, and a joining one feed where it began: both are told apart from items."""
        person = next(each.person.id for each in self.ending.devices if each.id == device)
        joined = got.seq - 1 in self._joins.get((got.feed, person), ())
        return joined or self._was_reset(device, got)

    def _was_reset(self, device: str, got: Got) -> bool:
        return (got.feed, got.seq - 1) in self.ending.follow.starts.get(device, set())

    def was_out(self, person: str, where: str, at: int) -> bool:
        """Removed for sure by then, and nobody had asked to let them in again."""
        moves = [move for move in self.ending.follow.moves if move.user == person and move.conversation == where]
        gone = [m for m in moves if not m.added and m.done and m.answered is not None and m.answered < at]
        if not gone:
            return False
        latest = max(gone, key=lambda move: move.asked)
        back = [m for m in moves if m.added and (m.answered is None or m.answered >= latest.asked)]
        return not back
