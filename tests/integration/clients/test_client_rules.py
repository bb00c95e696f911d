"""The client's decisions, by the same table as every other client (clients/cases.json)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from waypost.client.reconnect import Reconnect, ReconnectDelays, StopReconnecting, after_close, backoff
from waypost.client.sending import (
    ByRest,
    BySocket,
    KeepWaiting,
    RetryLater,
    SendProgress,
    next_move,
    result_from_frame,
    result_from_response,
)
from waypost.client.sequence import MOST_HELD, SequenceBuffer
from waypost.client.timing import Timing
from waypost.client.types import Item, SendRejected, SendStored, item_of

ROOT = Path(__file__).parents[3]
TABLE: dict[str, Any] = json.loads((ROOT / "clients" / "cases.json").read_text())
USUAL = Timing()


def section(name: str) -> pytest.MarkDecorator:
    cases = TABLE[name]
    return pytest.mark.parametrize("case", cases, ids=[case.get("name", str(n)) for n, case in enumerate(cases)])


@section("buffer")
def test_the_sequence_buffer(case: dict[str, Any]) -> None:
    buffer = SequenceBuffer(case["cursors"], case.get("me", ""), USUAL.hold)
    for step in case["steps"]:
        applied, fetch = played(buffer, step)
        assert [[item.feed, item.seq] for item in applied] == step.get("applies", []), step
        assert fetch == step.get("fetch", []), step
    assert buffer.cursors == case["cursors_after"]


def played(buffer: SequenceBuffer, step: dict[str, Any]) -> tuple[list[Item], list[str]]:
    """What it applies, and what it fetches."""
    now = step["at"]
    if "item" in step:
        return buffer.offer(an_item(step["item"]), now), []
    if "live" in step:
        return buffer.live(step["live"], now), []
    if "tick" in step:
        return [], buffer.tick(now)
    if "heads" in step:
        buffer.heads(step["heads"], now)
    else:
        buffer.reset(step["reset"])
    return [], []


def an_item(written: Any) -> Item:
    if isinstance(written, list):
        feed, seq = written
        written = {"feed": feed, "seq": seq, "prev": seq - 1, "kind": "message"}
    item = item_of(written)
    assert item is not None
    return item


def test_a_buffer_says_when_its_next_tick_is_due() -> None:
    buffer = SequenceBuffer({"user:1": 4}, hold=500)
    told = [buffer.due]
    for now, seq in ((100, 6), (200, 5)):
        buffer.offer(an_item(["user:1", seq]), now)
        told.append(buffer.due)
    assert told == [None, 600, None]


def test_a_buffer_holds_so_many_and_asks_for_the_rest() -> None:
    buffer = SequenceBuffer({"user:1": 0}, hold=500)
    for seq in range(2, 2 * MOST_HELD):
        buffer.offer(an_item(["user:1", seq]), 0)
    assert buffer.tick(500) == ["user:1"]
    came = [item for seq in range(1, 2 * MOST_HELD) for item in buffer.offer(an_item(["user:1", seq]), 510)]
    assert [item.seq for item in came] == list(range(1, 2 * MOST_HELD))


def test_a_feed_that_is_not_the_users_any_more_is_forgotten() -> None:
    buffer = SequenceBuffer({"user:1": 4, "group:7": 2})
    buffer.keep_only({"user:1": 9, "team:9": 1})
    assert buffer.cursors == {"user:1": 4}


@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"feed": "user:1"},
        {"feed": 1, "seq": 1, "prev": 0},
        {"feed": "f", "seq": "1", "prev": 0},
        {"feed": "f", "seq": True, "prev": 0},
        {"feed": "f", "seq": 1},
    ],
)
def test_what_no_feed_can_hold_is_no_item(frame: dict[str, Any]) -> None:
    assert item_of(frame) is None


@section("backoff")
def test_the_wait_after_a_failure(case: dict[str, Any]) -> None:
    assert backoff(case["failures"], case["dice"], USUAL.backoff_base, USUAL.backoff_cap) == case["wait"]


@section("closes")
def test_what_a_close_code_means(case: dict[str, Any]) -> None:
    pauses = ReconnectDelays(USUAL.backoff_base, USUAL.backoff_cap, USUAL.going_away)
    verdict = after_close(case["code"], 3, 0.5, pauses)
    if "stop" in case:
        assert verdict == StopReconnecting(case["stop"])
    elif case["come_back"] == "going_away":
        assert verdict == Reconnect(USUAL.going_away * 0.5, failed=False)
    else:
        assert verdict == Reconnect(backoff(3, 0.5, USUAL.backoff_base, USUAL.backoff_cap), failed=True)


@section("sending")
def test_the_next_move_of_a_send(case: dict[str, Any]) -> None:
    move, then = next_move(SendProgress(**case["when"]), USUAL.ack_timeout), case["then"]
    if "wait" in then:
        assert move == KeepWaiting(then["wait"])
    elif then["go"] == "socket":
        assert move == BySocket()
    else:
        assert move == ByRest(then.get("drop_socket", False))


@section("answers")
def test_what_an_answer_makes_of_a_send(case: dict[str, Any]) -> None:
    verdict: SendStored | SendRejected | RetryLater | StopReconnecting | None
    if "frame" in case:
        verdict = result_from_frame(case["frame"])
    else:
        verdict = result_from_response("c", case["status"], case.get("retry_after"), case["body"])
    assert verdict == meant(case["then"])


def meant(then: dict[str, Any]) -> SendStored | SendRejected | RetryLater | StopReconnecting:
    if "sent" in then:
        return SendStored("c", then["sent"], then["position"])
    if "refused" in then:
        return SendRejected("c", then["refused"], then.get("detail", ""))
    return RetryLater(then["later"]) if "later" in then else StopReconnecting(then["stop"])


@pytest.mark.parametrize("frame", [{"type": "ack"}, {"type": "error"}, {"type": "error", "client_message_id": 7}])
def test_a_frame_that_names_no_send_settles_none(frame: dict[str, Any]) -> None:
    assert result_from_frame(frame) is None


def test_every_behaviour_of_the_page_has_a_case_and_every_case_a_behaviour_of_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "client-behaviour.md").read_text()
    described = set(re.findall(r"^\*\*(B\d+) ", page, re.MULTILINE))
    shown = {
        name for cases in TABLE.values() if isinstance(cases, list) for case in cases for name in case["behaviours"]
    }
    assert shown == described


def test_the_page_has_the_defaults() -> None:
    page = (ROOT / "docs" / "reference" / "client-behaviour.md").read_text()
    listed = {
        name.strip(" `"): float(value)
        for names, values in re.findall(r"^\| (`[a-z_`, ]+`) \| ([\d, ]+) \|", page, re.MULTILINE)
        for name, value in zip(names.split(","), values.split(","), strict=True)
    }
    assert listed == {name: value for name in Timing.__struct_fields__ if (value := getattr(USUAL, name)) is not None}
