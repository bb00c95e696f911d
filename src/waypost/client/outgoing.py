"""The queue of unanswered messages: one in flight per conversation, oldest first (B18 to B22)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from waypost.client.reconnect import backoff
from waypost.client.sending import ByRest, BySocket, KeepWaiting, RetryLater, SendProgress, next_move
from waypost.client.store import Outgoing
from waypost.client.timing import Timing

MOST_QUEUED = 1_000
LARGEST_FRAME = 64 * 1024


def frame_of(outgoing: Outgoing) -> bytes:
    return msgspec.json.encode({"type": "send", **msgspec.to_builtins(outgoing)})


@dataclass
class PendingSend:
    """One message and the state of its sending; times in milliseconds."""

    outgoing: Outgoing
    since: float
    fits: bool = True
    """Whether it fits into a frame: the server closes the socket on a larger one."""
    attempts: int = 0
    failures: int = 0
    not_before: float = 0
    broke: int = 0
    """How many sockets broke while it was in flight."""
    by_rest: bool = False
    """Whether a POST is in flight; until it ends there is nothing to decide."""

    @property
    def name(self) -> str:
        return self.outgoing.client_message_id


class OutgoingQueue:
    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._sends: dict[str, PendingSend] = {}

    def __len__(self) -> int:
        return len(self._sends)

    def __contains__(self, name: object) -> bool:
        return name in self._sends

    def add(self, outgoing: Outgoing, now: float) -> None:
        self._sends[outgoing.client_message_id] = PendingSend(
            outgoing, since=now, fits=len(frame_of(outgoing)) <= LARGEST_FRAME
        )

    def settle(self, name: str, now: float) -> bool:
        """Removes an answered message, so that the next of its conversation is due; False if it was already removed."""
        settled = self._sends.pop(name, None)
        if settled is None:
            return False
        for send in self._sends.values():
            if send.outgoing.conversation_id == settled.outgoing.conversation_id:
                send.since = now
                break
        return True

    def later(self, name: str, retry: RetryLater, random: float, now: float) -> None:
        """Schedules a retry; the message stays the first of its conversation."""
        send = self._sends.get(name)
        if send is None:
            return
        wait = backoff(send.failures, random, self._timing.backoff_base, self._timing.backoff_cap)
        send.not_before = now + max(wait, retry.at_least)
        send.failures += 1
        send.since, send.attempts, send.by_rest = send.not_before, 0, False

    def socket_broke(self) -> None:
        """Messages in flight are sent again on the next socket."""
        for send in self._sends.values():
            send.broke += send.attempts > 0
            send.attempts = 0

    def moves(
        self, now: float, *, socket: bool, polling: bool
    ) -> Iterator[tuple[PendingSend, BySocket | ByRest | KeepWaiting]]:
        """The next move for the first message of each conversation."""
        for send in self._firsts():
            if send.by_rest:
                continue
            at = SendProgress(
                socket=socket,
                polling=polling or not send.fits,
                tries=send.attempts,
                waited=now - send.since,
                not_before=max(0.0, send.not_before - now),
                broke=send.broke,
            )
            yield send, next_move(at, self._timing.ack_timeout)

    def _firsts(self) -> list[PendingSend]:
        """The oldest of each conversation."""
        first: dict[str, PendingSend] = {}
        for send in self._sends.values():
            first.setdefault(send.outgoing.conversation_id, send)
        return list(first.values())
