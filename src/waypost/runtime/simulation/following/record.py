"""What people did and were told, and what every device was given: the part of the record that is about following."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Post:
    """Something that somebody wants to say, under one id."""

    sender: str
    conversation: str
    text: str
    asked: int
    acked: set[tuple[str, int | None]] = field(default_factory=set)
    """(message id, position), as answers called it."""
    refused: str | None = None


@dataclass
class Moved:
    """A change of who is in a group: it came about at some moment between asking and answering, or never."""

    conversation: str
    user: str
    added: bool
    asked: int
    answered: int | None = None
    done: bool = False


@dataclass(frozen=True)
class Got:
    """An item that a device was given to show, or a reset."""

    life: int
    """How often the device was switched on by then."""
    at: int
    feed: str
    seq: int
    kind: str
    conversation: str
    position: int
    name: str | None
    """The sender's own id for a message."""


@dataclass
class Stopped:
    device: str
    code: int
    at: int
    others: int
    """Connections of this device that were newer than the one that was told to go."""


@dataclass
class FollowRecord:
    posts: dict[str, Post] = field(default_factory=dict)
    """By the sender's own id for it."""
    moves: list[Moved] = field(default_factory=list)
    got: dict[str, list[Got]] = field(default_factory=dict)
    """Device -> what it was given, in order."""
    heard: dict[str, set[tuple[str, int, str, str | None]]] = field(default_factory=dict)
    """Device -> (feed, number, conversation, sender's id) of every item that reached it at all."""
    starts: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    """Device -> (feed, number) of heads at which a reset put it."""
    resets: dict[str, list[str]] = field(default_factory=dict)
    """Device -> why it had to read everything anew."""
    stopped: list[Stopped] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Mistakes of the client itself."""
    removed_devices: int = 0
