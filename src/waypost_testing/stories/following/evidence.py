"""The results of a run of following, prepared for its checkers."""

from __future__ import annotations

from waypost_testing.stories.following.device import SimulatedDevice
from waypost_testing.stories.following.record import ReceivedItem
from waypost_testing.stories.following.scenario import FollowScenarioResult
from waypost_testing.stories.following.truth import LedgerEntry


class FollowEvidence:
    def __init__(self, ending: FollowScenarioResult) -> None:
        self.ending = ending
        self.truth = ending.truth
        self.posts: dict[tuple[str, str], list[LedgerEntry]] = {}
        """(sender, their own id) -> the entries."""
        for entries in self.truth.entries.values():
            for entry in entries.values():
                if entry.client_message_id is not None:
                    self.posts.setdefault((entry.sender, entry.client_message_id), []).append(entry)
        self.ever_in: set[tuple[str, str]] = set()
        """(conversation, person)"""
        self._joins: dict[tuple[str, str], list[int]] = {}
        """(feed of a group, user) -> the numbers after which the user was a member."""
        self._leaves: dict[tuple[str, str], list[int]] = {}
        """(feed of a group, user) -> the numbers at which the membership ended."""
        self._read_changes()

    def visible(self, device: SimulatedDevice) -> dict[str, dict[int, LedgerEntry]]:
        return self.truth.visible(device.person.org, device.person.id)

    def _read_changes(self) -> None:
        for feed, items in self.truth.feed_items.items():
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
        """Whether the number is after a joining, and no later than the leaving that followed it."""
        for since in self._joins.get((feed, person), ()):
            until = min((at for at in self._leaves.get((feed, person), ()) if at > since), default=seq)
            if since < seq <= until:
                return True
        return False

    def begins_at(self, device: str, got: ReceivedItem) -> bool:
        """A reset puts every feed at its head, and a joining puts one feed at its start; neither is an item."""
        person = next(each.person.id for each in self.ending.devices if each.id == device)
        joined = got.seq - 1 in self._joins.get((got.feed, person), ())
        return joined or self._was_reset(device, got)

    def _was_reset(self, device: str, got: ReceivedItem) -> bool:
        return (got.feed, got.seq - 1) in self.ending.follow.starts.get(device, set())

    def was_out(self, person: str, where: str, at: int) -> bool:
        """Certainly removed by then, and no request to add them again was under way."""
        moves = [move for move in self.ending.follow.moves if move.user == person and move.conversation == where]
        gone = [m for m in moves if not m.added and m.done and m.answered is not None and m.answered < at]
        if not gone:
            return False
        latest = max(gone, key=lambda move: move.asked)
        back = [m for m in moves if m.added and (m.answered is None or m.answered >= latest.asked)]
        return not back
