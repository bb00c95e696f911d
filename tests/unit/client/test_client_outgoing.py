"""The client's send queue: one under way per conversation, oldest first; a waiting one does not delay the others."""

from __future__ import annotations

from waypost.client.outgoing import OutgoingQueue
from waypost.client.sending import ByRest, BySocket, KeepWaiting, RetryLater
from waypost.client.store import Outgoing
from waypost.client.timing import Timing

USUAL = Timing()


def a_queue(*sends: tuple[str, str]) -> OutgoingQueue:
    queue = OutgoingQueue(USUAL)
    for name, conversation in sends:
        queue.add(Outgoing(name, conversation, {}), now=0)
    return queue


def moves(
    queue: OutgoingQueue, now: float, *, socket: bool = True, polling: bool = False
) -> dict[str, BySocket | ByRest | KeepWaiting]:
    return {send.name: move for send, move in queue.moves(now, socket=socket, polling=polling)}


def go_by_socket(queue: OutgoingQueue, now: float) -> None:
    for send, move in queue.moves(now, socket=True, polling=False):
        assert move == BySocket()
        send.attempts += 1
        send.since = now


def test_only_the_oldest_of_each_conversation_moves() -> None:
    queue = a_queue(("a1", "a"), ("a2", "a"), ("b1", "b"))
    assert moves(queue, 0) == {"a1": BySocket(), "b1": BySocket()}
    assert queue.settle("a1", 0)
    assert moves(queue, 0) == {"a2": BySocket(), "b1": BySocket()}


def test_an_answer_that_comes_twice_settles_once() -> None:
    queue = a_queue(("a1", "a"))
    assert [queue.settle("a1", 0), queue.settle("a1", 0)] == [True, False]


def test_who_is_told_to_wait_keeps_its_place_and_others_go_on() -> None:
    queue = a_queue(("a1", "a"), ("a2", "a"), ("b1", "b"))
    queue.later("a1", RetryLater(0), random=0, now=100)
    assert moves(queue, 100) == {"a1": KeepWaiting(250), "b1": BySocket()}
    queue.later("a1", RetryLater(0), random=0, now=350)
    assert moves(queue, 350)["a1"] == KeepWaiting(500)
    queue.later("a1", RetryLater(7000), random=0, now=850)
    assert moves(queue, 850)["a1"] == KeepWaiting(7000)
    assert moves(queue, 7850)["a1"] == BySocket()


def test_a_wait_for_a_message_that_was_answered_is_forgotten() -> None:
    queue = a_queue(("a1", "a"))
    queue.settle("a1", 0)
    queue.later("a1", RetryLater(0), random=0, now=0)
    assert len(queue) == 0


def test_what_was_under_way_when_the_socket_broke_goes_with_the_next_one_or_by_rest_in_its_time() -> None:
    queue = a_queue(("a1", "a"))
    go_by_socket(queue, 1000)
    queue.socket_broke()
    assert moves(queue, 3000, socket=False) == {"a1": KeepWaiting(3000)}
    assert moves(queue, 3000) == {"a1": BySocket()}
    assert moves(queue, 6000, socket=False) == {"a1": ByRest()}


def test_who_waited_behind_another_has_its_own_time() -> None:
    queue = a_queue(("a1", "a"), ("a2", "a"))
    queue.settle("a1", 9000)
    assert moves(queue, 9000, socket=False) == {"a2": KeepWaiting(5000)}


def test_a_message_that_breaks_each_socket_leaves_them_alone() -> None:
    queue = a_queue(("a1", "a"))
    for n in range(3):
        go_by_socket(queue, n)
        queue.socket_broke()
        queue.socket_broke()  # one that it did not have
    assert moves(queue, 3) == {"a1": ByRest()}


def test_nothing_is_decided_while_a_post_is_under_way() -> None:
    queue = a_queue(("a1", "a"))
    for send, _ in queue.moves(0, socket=False, polling=True):
        send.by_rest = True
    assert moves(queue, 60_000) == {}
    queue.later("a1", RetryLater(0), random=0, now=60_000)
    assert moves(queue, 60_250) == {"a1": BySocket()}
