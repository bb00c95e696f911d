"""What users did and were answered, and what every device received: the part of the record about following."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class SimulatedPost:
    """A message that a user wants to send, under one id."""

    sender: str
    conversation: str
    text: str
    asked: int
    acked: set[tuple[str, int | None]] = field(default_factory=set)
    """(message id, position), as in the answers."""
    refused: str | None = None


@dataclass
class MembershipChange:
    """A change of a group's members: it happened at some moment between request and answer, or never."""

    conversation: str
    user: str
    added: bool
    asked: int
    answered: int | None = None
    done: bool = False


@dataclass(frozen=True)
class ReceivedItem:
    """An item that a device received to show, or a reset."""

    life: int
    """How often the device had been switched on by then."""
    at: int
    feed: str
    seq: int
    kind: str
    conversation: str
    position: int
    name: str | None
    """The sender's own id for a message."""


@dataclass
class DeviceStopped:
    device: str
    code: int
    at: int
    others: int
    """Connections of this device that were newer than the one that was closed."""


@dataclass
class FollowRecord:
    posts: dict[str, SimulatedPost] = field(default_factory=dict)
    """By the sender's own id for it."""
    moves: list[MembershipChange] = field(default_factory=list)
    got: dict[str, list[ReceivedItem]] = field(default_factory=dict)
    """Device -> the items it received, in order."""
    received: dict[str, set[tuple[str, int, str, str | None]]] = field(default_factory=dict)
    """Device -> (feed, number, conversation, sender's id) of every item that reached it."""
    starts: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    """Device -> (feed, number) of the heads at which a reset put it."""
    resets: dict[str, list[str]] = field(default_factory=dict)
    """Device -> why it had to read everything again."""
    stopped: list[DeviceStopped] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Errors in the client itself."""
    removed_devices: int = 0
