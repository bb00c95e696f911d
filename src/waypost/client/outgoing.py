"""The queue of what was not answered yet: per conversation one under way, oldest first (B18 to B22)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from waypost.client.returning import backoff
from waypost.client.sending import ByRest, BySocket, Later, Standing, Wait, next_move
from waypost.client.store import Outgoing
from waypost.client.timing import Timing

MOST_QUEUED = 1_000
LARGEST_FRAME = 64 * 1024


def frame_of(outgoing: Outgoing) -> bytes:
    return msgspec.json.encode({"type": "send", **msgspec.to_builtins(outgoing)})


@dataclass
class Send:
    """One message and how its sending stands; times in milliseconds."""

    outgoing: Outgoing
    since: float
    fits: bool = True
    """Into a frame: the server would close the socket on a larger one, again and again."""
    tries: int = 0
    failures: int = 0
    not_before: float = 0
    broke: int = 0
    """Sockets that ended while it was under way on them."""
    by_rest: bool = False
    """A POST is under way: nothing to decide until it ends."""

    @property
    def name(self) -> str:
        return self.outgoing.client_message_id


class OutgoingQueue:
    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._sends: dict[str, Send] = {}

    def __len__(self) -> int:
        return len(self._sends)

    def __contains__(self, name: object) -> bool:
        return name in self._sends

    def add(self, outgoing: Outgoing, now: float) -> None:
        self._sends[outgoing.client_message_id] = Send(
            outgoing, since=now, fits=len(frame_of(outgoing)) <= LARGEST_FRAME
        )

    def settle(self, name: str, now: float) -> bool:
        """It was answered, and the next of its conversation is due. False: it was before."""
        settled = self._sends.pop(name, None)
        if settled is None:
            return False
        for send in self._sends.values():
            if send.outgoing.conversation_id == settled.outgoing.conversation_id:
                send.since = now
                break
        return True

    def later(self, name: str, told: Later, dice: float, now: float) -> None:
        """It stays the first of its conversation."""
        send = self._sends.get(name)
        if send is None:
            return
        wait = backoff(send.failures, dice, self._timing.backoff_base, self._timing.backoff_cap)
        send.not_before = now + max(wait, told.at_least)
        send.failures += 1
        send.since, send.tries, send.by_rest = send.not_before, 0, False

    def socket_broke(self) -> None:
        """What was under way goes out again with the next one."""
        for send in self._sends.values():
            send.broke += send.tries > 0
            send.tries = 0

    def moves(self, now: float, *, socket: bool, polling: bool) -> Iterator[tuple[Send, BySocket | ByRest | Wait]]:
        """What is to be done now, conversation by conversation."""
        for send in self._firsts():
            if send.by_rest:
                continue
            at = Standing(
                socket=socket,
                polling=polling or not send.fits,
                tries=send.tries,
                waited=now - send.since,
                not_before=max(0.0, send.not_before - now),
                broke=send.broke,
            )
            yield send, next_move(at, self._timing.ack_timeout)

    def _firsts(self) -> list[Send]:
        """The oldest of each conversation."""
        first: dict[str, Send] = {}
        for send in self._sends.values():
            first.setdefault(send.outgoing.conversation_id, send)
        return list(first.values())
