"""What one device shows, made of what it read and the items that it was given; and what was wrong with those. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Json = dict[str, Any]
DELETED = "deleted"


class Line(NamedTuple):
    """One message as it is shown."""

    message_id: str
    sender: str
    name: str | None
    """The sender's own id for it."""
    content: str
    status: str | None
    """Of what went to a customer; in a chat it tells who has read, which is no item."""


def line_of(message: Json, *, with_customer: bool) -> Line:
    content: Json = message["content"]
    shown = DELETED if content["type"] == "deleted" else str(content.get("text"))
    status = message.get("status") if with_customer and not message["sender_id"].startswith("contact:") else None
    return Line(message["message_id"], message["sender_id"], message.get("client_message_id"), shown, status)


class ReceivedMessage(NamedTuple):
    """A message that came as an item."""

    conversation: str
    name: str


@dataclass
class Screen:
    me: str
    customers: set[str]
    """Conversations with customers: shared by all devices, for they are known only when somebody has written."""
    lines: dict[str, dict[int, Line]] = field(default_factory=dict)
    heard: list[ReceivedMessage] = field(default_factory=list)
    items: int = 0
    gaps: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    reordered: list[str] = field(default_factory=list)
    after_leaving: list[str] = field(default_factory=list)
    _seqs: dict[str, int] = field(default_factory=dict)
    """Up to where each feed was given since the last reset."""
    _positions: dict[str, int] = field(default_factory=dict)
    _left: set[str] = field(default_factory=set)
    _erased: set[str] = field(default_factory=set)
    """Messages: a history that was read a moment earlier still has them."""

    def reset(self) -> None:
        self.lines, self._seqs, self._positions, self._left = {}, {}, {}, set()

    def read(self, messages: Iterable[Json]) -> None:
        """A history, or all of them; whatever came as an item meanwhile is newer."""
        for message in messages:
            where = message["conversation_id"]
            if where not in self._left:
                self.lines.setdefault(where, {}).setdefault(message["position"], self._line(where, message))

    def has_left(self, conversation: str) -> bool:
        return conversation in self._left

    def _line(self, where: str, message: Json) -> Line:
        line = line_of(message, with_customer=where in self.customers)
        return line._replace(content=DELETED) if line.message_id in self._erased else line

    def apply(self, item: Json) -> str | None:
        """The conversation that is to be read now: one that this person came into."""
        self.items += 1
        self._follow(item)
        where = item["conversation_id"]
        if item["feed"].startswith("team:"):
            self.customers.add(where)
        match item["kind"]:
            case "joined" if self.me in item["user_ids"]:
                self._left.discard(where)
                return str(where)
            case "members" if self.me in item["removed"]:
                self._leave(where)
            case _ if where in self._left:
                self.after_leaving.append(f"{item['feed']} {item['seq']}: {item['kind']} of {where}")
            case "message" | "deleted" | "status":
                self._change(where, item)
            case _:
                pass  # nothing that a list of messages shows
        return None

    def _follow(self, item: Json) -> None:
        feed, seq = item["feed"], item["seq"]
        last = self._seqs[feed] if feed in self._seqs else int(item["prev"])
        if seq <= last:
            self.doubled.append(f"{feed} {seq} after {last}")
        elif seq != last + 1 or item["prev"] != seq - 1:
            self.gaps.append(f"{feed} {seq} after {last}")
        self._seqs[feed] = max(last, seq)
        joins = item.get("joins") if item["kind"] == "joined" else None
        if joins:
            self._seqs[joins["feed"]] = max(joins["from"], self._seqs.get(joins["feed"], 0))

    def _leave(self, where: str) -> None:
        self._left.add(where)
        self.lines.pop(where, None)
        self._seqs.pop(f"group:{where}", None)
        self._positions.pop(where, None)

    def _change(self, where: str, item: Json) -> None:
        shown = self.lines.setdefault(where, {})
        if item["kind"] == "message":
            self._say(where, item)
        elif item["kind"] == "deleted":
            self._erased.add(item["message_id"])
            if item["position"] in shown:
                shown[item["position"]] = shown[item["position"]]._replace(content=DELETED)
        elif item["kind"] == "status":
            at = next((at for at, line in shown.items() if line.message_id == item["message_id"]), None)
            if at is not None:
                shown[at] = shown[at]._replace(status=item["status"])

    def _say(self, where: str, item: Json) -> None:
        message = item["message"]
        at, last = message["position"], self._positions.get(where, 0)
        if at <= last:
            self.reordered.append(f"{where}: {at} after {last}, by {item['feed']} {item['seq']}")
        self._positions[where] = max(at, last)
        if message.get("client_message_id"):
            self.heard.append(ReceivedMessage(where, message["client_message_id"]))
        self.lines.setdefault(where, {})[at] = self._line(where, message)
