"""What one device shows: made of what it read and of the items that it was given since, and of nothing else. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from waypost.client.nouns import Item, Json

DELETED = {"type": "deleted"}


@dataclass(frozen=True)
class Line:
    """One message as it is shown."""

    message_id: str
    sender: str
    client_message_id: str | None
    content: Json
    status: str | None

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Line:
        return cls(
            message["message_id"],
            message["sender_id"],
            message.get("client_message_id"),
            message["content"],
            message.get("status"),
        )


@dataclass
class Talk:
    """A conversation on the screen."""

    kind: str
    lines: dict[int, Line] = field(default_factory=dict)
    read: int = 0
    work: tuple[str | None, str, tuple[str, ...]] = (None, "open", ())
    """Of a customer's: who works on it, whether it is closed, its labels."""

    def unread(self, me: str) -> int:
        """What others said since; of a customer's, what the customer said."""
        theirs = (at for at, line in self.lines.items() if at > self.read and self._counts(line, me))
        return sum(1 for _ in theirs)

    def _counts(self, line: Line, me: str) -> bool:
        return line.sender.startswith("contact:") if self.kind == "customer" else line.sender != me


class Screen:
    def __init__(self, me: str) -> None:
        self.me = me
        self.talks: dict[str, Talk] = {}
        self._read_before: dict[str, int] = {}
        """What was read on another device of conversations that are not shown here yet: feeds overtake each other."""

    def clear(self) -> None:
        self.talks.clear()
        self._read_before.clear()

    def read(self, conversation: Mapping[str, Any], messages: Iterable[Mapping[str, Any]]) -> None:
        """As the lists and histories show it; in place of what was shown of it."""
        talk = self.talks[conversation["conversation_id"]] = Talk(conversation["kind"])
        talk.lines = {message["position"]: Line.of(message) for message in messages}
        talk.read = conversation["read_position"]
        talk.work = (conversation["assignee"], conversation["state"], tuple(conversation["labels"]))

    def gone(self, conversation: str) -> None:
        self.talks.pop(conversation, None)

    def apply(self, item: Item) -> str | None:
        """The conversation that must be read before anything else is applied: one that its person came into."""
        where = item.conversation_id or ""
        if item.kind == "joined" and (self.me in item.body["user_ids"] or where not in self.talks):
            return where
        if item.kind == "members" and self.me in item.body["removed"]:
            self.gone(where)
        elif item.kind == "message" or where in self.talks:
            self._change(where, item)
        elif item.kind == "read" and item.body["user_id"] == self.me:
            self._read_before[where] = max(self._read_before.get(where, 0), item.body["position"])
        return None

    def _change(self, where: str, item: Item) -> None:
        body = item.body
        match item.kind:
            case "message" if body["message"] is not None:
                kind, read = "customer" if item.feed.startswith("team:") else "chat", self._read_before.pop(where, 0)
                talk = self.talks.setdefault(where, Talk(kind, read=read))
                talk.lines[body["message"]["position"]] = Line.of(body["message"])
            case "deleted":
                self._put(where, body["position"], content=DELETED)
            case "status":
                self._put(where, self._position(where, body["message_id"]), status=body["status"])
            case "read" if body["user_id"] == self.me:
                self.talks[where].read = max(self.talks[where].read, body["position"])
            case "assigned":
                self.talks[where].work = (body["assignee"], body["state"], tuple(body["labels"]))
            case _:
                pass  # nothing that this screen shows

    def _position(self, where: str, message_id: str) -> int:
        return next((at for at, line in self.talks[where].lines.items() if line.message_id == message_id), 0)

    def _put(self, where: str, position: int, **changed: Any) -> None:
        lines = self.talks[where].lines
        if position in lines:
            lines[position] = Line(**{**lines[position].__dict__, **changed})
