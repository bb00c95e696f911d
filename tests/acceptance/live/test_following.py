"""The checker of the live storm bites: each broken promise, made up, is seen."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.stage.crowd import Person, Post, PythonDevice
from tests.acceptance.stage.following import Log, Verdict, agrees
from tests.acceptance.stage.screens import Line, Screen
from tests.acceptance.stage.town import Absence, Chat, Rest, Town

ANN, BEN = (Person(n, name, "token", is_agent=False) for n, name in enumerate(("ann", "ben")))
ROOM = "7"
LINES = {1: Line("m1", "ann", "a-0", "one", None), 2: Line("m2", "ann", "a-1", "two", None)}


def item(seq: int, kind: str = "message", **more: Any) -> dict[str, Any]:
    return {"feed": "user:ben", "seq": seq, "prev": seq - 1, "kind": kind, "conversation_id": ROOM, **more}


def message_item(seq: int, at: int) -> dict[str, Any]:
    line = LINES[at]
    content = {"type": "text", "text": line.content}
    message = {"message_id": line.message_id, "position": at, "content": content, "sender_id": line.sender}
    return item(seq, message={**message, "client_message_id": line.name, "conversation_id": ROOM})


GOOD = [item(1, "joined", user_ids=["ben"]), message_item(2, 1), message_item(3, 2)]
LEFT = item(3, "members", removed=["ben"])


def town() -> Town:
    """Ann wrote twice, Ben's device saw it."""
    ann = PythonDevice("a", ANN, Screen("ann", set()), Path())
    ann.posts = {
        line.name or "": Post(line.name or "", ROOM, line.content, n, line.message_id, n) for n, line in LINES.items()
    }
    ann.screen.lines = {ROOM: dict(LINES)}
    ben = PythonDevice("b", BEN, Screen("ben", set()), Path())
    for each in GOOD:
        ben.screen.apply(each)
    nobody: Any = None
    made = Town(Rest(nobody, ""), nobody, [ANN, BEN], [ann, ben], random.Random(1))
    made.chats = [Chat(ROOM, ANN, [ANN, BEN])]
    return made


def log(lines: dict[int, Line] | None = None) -> Log:
    whole = {ROOM: dict(LINES if lines is None else lines)}
    return Log(whole, {"ann": whole, "ben": whole}, [])


def bens(items: list[dict[str, Any]]) -> Verdict:
    """With another life of Ben's device."""
    made = town()
    made.devices[1].screen = Screen("ben", set())
    for each in items:
        made.devices[1].screen.apply(each)
    return Verdict(made, log())


def test_a_calm_day_has_no_finding() -> None:
    made = town()
    Verdict(made, log()).check()
    assert all(agrees(device, log()) for device in made.devices)


@pytest.mark.parametrize(
    ("items", "finding"),
    [
        (GOOD[:2], "lost"),
        ([*GOOD, GOOD[2]], "doubled"),
        ([GOOD[0], GOOD[1], message_item(4, 2)], "gaps"),
        ([GOOD[0], message_item(2, 2), message_item(3, 1)], "reordered"),
        ([GOOD[0], GOOD[1], LEFT, message_item(4, 2)], "after_leaving"),
        ([*GOOD, item(4, "deleted", message_id="m2", position=2)], "strange"),
    ],
)
def test_what_a_device_was_given_wrongly_is_seen(items: list[dict[str, Any]], finding: str) -> None:
    verdict = bens(items)
    assert getattr(verdict, finding)
    with pytest.raises(AssertionError):
        verdict.check()


def test_a_post_that_was_acked_and_is_not_in_the_log_is_lost() -> None:
    assert Verdict(town(), log({1: LINES[1]})).lost


def test_a_post_that_is_in_the_log_twice_is_doubled() -> None:
    assert Verdict(town(), log({**LINES, 3: LINES[2]._replace(message_id="m3")})).doubled


def test_a_place_that_is_empty_is_a_gap() -> None:
    assert Verdict(town(), log({1: LINES[1], 3: LINES[2]})).gaps


def test_posts_in_another_order_than_they_were_written_are_reordered() -> None:
    made = town()
    made.devices[0].posts["a-0"].position = 3
    assert Verdict(made, log()).reordered


def test_a_post_without_an_answer_and_one_that_was_refused_for_no_reason_are_seen() -> None:
    made = town()
    made.devices[0].posts["a-2"] = Post("a-2", ROOM, "three", 3)
    made.devices[0].posts["a-3"] = Post("a-3", ROOM, "four", 4, refused="not_found")
    assert len(Verdict(made, log()).wrong_answers) == 2


def test_who_was_removed_and_is_given_what_was_written_later_is_seen() -> None:
    made = town()
    made.absences = [Absence(ROOM, BEN, since=1.5)]
    assert Verdict(made, log()).after_leaving


@pytest.mark.parametrize(("phones", "finding"), [([], "lost"), (["hi", "hi"], "doubled"), (["hi", "you"], "strange")])
def test_an_answer_that_is_not_once_on_the_phone_is_seen(phones: list[str], finding: str) -> None:
    made, read = town(), log()
    made.talks = {"8"}
    read.whole["8"] = {1: Line("m8", "ann", None, "hi", "delivered")}
    read.on_phones = phones
    assert getattr(Verdict(made, read), finding)
