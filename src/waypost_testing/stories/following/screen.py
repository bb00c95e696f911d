"""What one device shows: made only of what it read and of the items it received since. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from waypost.client.types import Item, Json

DELETED = {"type": "deleted"}


@dataclass(frozen=True)
class ScreenMessage:
    """One message as it is shown."""

    message_id: str
    sender: str
    client_message_id: str | None
    content: Json
    status: str | None

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> ScreenMessage:
        return cls(
            message["message_id"],
            message["sender_id"],
            message.get("client_message_id"),
            message["content"],
            message.get("status"),
        )


@dataclass
class ScreenConversation:
    """A conversation on the screen."""

    kind: str
    lines: dict[int, ScreenMessage] = field(default_factory=dict)
    read: int = 0
    work: tuple[str | None, str, tuple[str, ...]] = (None, "open", ())
    """Of a customer conversation: its assignee, whether it is closed, its labels."""

    def unread(self, me: str) -> int:
        """Messages of others since; in a customer conversation, messages of the customer."""
        theirs = (at for at, line in self.lines.items() if at > self.read and self._counts(line, me))
        return sum(1 for _ in theirs)

    def _counts(self, line: ScreenMessage, me: str) -> bool:
        return line.sender.startswith("contact:") if self.kind == "customer" else line.sender != me


class Screen:
    def __init__(self, me: str) -> None:
        self.me = me
        self.conversations: dict[str, ScreenConversation] = {}
        self._read_before: dict[str, int] = {}
        """Read markers of conversations that are not shown here yet: feeds overtake each other."""

    def clear(self) -> None:
        self.conversations.clear()
        self._read_before.clear()

    def read(self, conversation: Mapping[str, Any], messages: Iterable[Mapping[str, Any]]) -> None:
        """Replace a conversation with what the lists and histories show."""
        shown = self.conversations[conversation["conversation_id"]] = ScreenConversation(conversation["kind"])
        shown.lines = {message["position"]: ScreenMessage.of(message) for message in messages}
        shown.read = conversation["read_position"]
        shown.work = (conversation["assignee"], conversation["state"], tuple(conversation["labels"]))

    def gone(self, conversation: str) -> None:
        self.conversations.pop(conversation, None)

    def apply(self, item: Item) -> str | None:
        """Apply an item; returns a conversation that must be read first, because the user has just joined it."""
        where = item.conversation_id or ""
        if item.kind == "joined" and (self.me in item.body["user_ids"] or where not in self.conversations):
            return where
        if item.kind == "members" and self.me in item.body["removed"]:
            self.gone(where)
        elif item.kind == "message" or where in self.conversations:
            self._change(where, item)
        elif item.kind == "read" and item.body["user_id"] == self.me:
            self._read_before[where] = max(self._read_before.get(where, 0), item.body["position"])
        return None

    def _change(self, where: str, item: Item) -> None:
        body = item.body
        match item.kind:
            case "message" if body["message"] is not None:
                kind, read = "customer" if item.feed.startswith("team:") else "chat", self._read_before.pop(where, 0)
                conversation = self.conversations.setdefault(where, ScreenConversation(kind, read=read))
                conversation.lines[body["message"]["position"]] = ScreenMessage.of(body["message"])
            case "deleted":
                self._put(where, body["position"], content=DELETED)
            case "status":
                self._put(where, self._position(where, body["message_id"]), status=body["status"])
            case "read" if body["user_id"] == self.me:
                self.conversations[where].read = max(self.conversations[where].read, body["position"])
            case "assigned":
                self.conversations[where].work = (body["assignee"], body["state"], tuple(body["labels"]))
            case _:
                pass  # not shown on this screen

    def _position(self, where: str, message_id: str) -> int:
        return next((at for at, line in self.conversations[where].lines.items() if line.message_id == message_id), 0)

    def _put(self, where: str, position: int, **changed: Any) -> None:
        lines = self.conversations[where].lines
        if position in lines:
            lines[position] = ScreenMessage(**{**lines[position].__dict__, **changed})
