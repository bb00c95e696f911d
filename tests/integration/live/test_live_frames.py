"""Frames of every kind, above all invalid ones: an `error` or a close, never a crash or a logged bug."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import TRIED, examples
from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.live_devices import Device, Person, chat, customer, house, people, person, posted_id
from waypost.flow.live import devices
from waypost.flow.world import World
from waypost.http.live import live_commands
from waypost.http.live.frames import ErrorFrame, SendAckFrame, SendFrame
from waypost.http.live.gateway import Gateway
from waypost.model.account import Caller as Someone
from waypost.model.time import seconds
from waypost.ports.live.live_connection import Bundle, HandshakeInfo

pytestmark = [pytest.mark.anyio, ON_SQLITE]

WRONG = {
    "no JSON": "hello",
    "cut JSON": '{"type": "ping"',
    "two in one": '{"type": "ping"}{"type": "ping"}',
    "a list": '[{"type": "ping"}]',
    "a text": '"ping"',
    "null": "null",
    "nothing": "",
    "no type": '{"device_id": "phone"}',
    "a type that is none": '{"type": "shout"}',
    "a type of ours": '{"type": "welcome"}',
    "a number as type": '{"type": 7}',
    "fields missing": '{"type": "send"}',
    "a number as text": '{"type": "typing", "conversation_id": 1}',
    "a fraction": '{"type": "ack", "feed": "user:1", "seq": 1.5}',
    "below nothing": '{"type": "ack", "feed": "user:1", "seq": -1}',
    "a huge number": '{"type": "ack", "feed": "user:1", "seq": 99999999999999999999999999}',
    "an infinite number": '{"type": "ack", "feed": "user:1", "seq": 1e999}',
    "an empty name": '{"type": "typing", "conversation_id": ""}',
    "a long name": '{"type": "typing", "conversation_id": "' + "1" * 1000 + '"}',
    "deep nesting": '{"type": "send", "client_message_id": "1", "conversation_id": "1", "content": '
    + "[" * 20_000
    + "]" * 20_000
    + "}",
    "half a character": '{"type": "typing", "conversation_id": "\\ud800"}',
    "no number": '{"type": "ack", "feed": "user:1", "seq": NaN}',
}


async def test_a_bug_in_one_answer_is_told_and_the_frames_behind_it_are_answered(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    post = live_commands.post

    async def broken(frame: SendFrame, caller: Someone, world: World) -> SendAckFrame | ErrorFrame:
        if frame.client_message_id == "0":
            raise ZeroDivisionError("nought")
        return await post(frame, caller, world)

    monkeypatch.setattr(live_commands, "post", broken)
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        for n in range(3):
            content = {"type": "text", "text": f"{n}"}
            await phone.say("send", client_message_id=f"{n}", conversation_id=where, content=content)
        told = await phone.until("error")
        assert (told["code"], told["retryable"], told["client_message_id"]) == ("internal_error", True, "0")
        await phone.until("ack", client_message_id="1")
        await phone.until("ack", client_message_id="2")
        assert "nought" not in told["detail"], "nothing of the inside"
    assert [type(bug["exception"]) for bug in stage.bugs] == [ZeroDivisionError]
    stage.bugs.clear()


async def test_a_bug_in_the_answer_to_hello_sends_the_device_away_to_come_back(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(stage) as here:
        phone = Device(await person(stage))
        with monkeypatch.context() as patched:
            patched.setattr(devices, "begin", None)
            await phone.connect(here)
            await phone.say("hello", device_id="phone", token=phone.who.token)
            assert (await phone.closing())[0] == 4000
        await phone.live(here)
    assert len(stage.bugs) == 1
    stage.bugs.clear()


@pytest.mark.parametrize("what", WRONG)
async def test_what_cannot_be_read_is_answered_with_an_error_and_the_line_goes_on(stage: Stage, what: str) -> None:
    async with house(stage) as here:
        phone = Device(await person(stage))
        await phone.live(here)
        await phone.line.send(WRONG[what])
        told = await phone.until("error")
        assert (told["code"], told["retryable"]) == ("invalid_frame", False)
        await phone.settled()


async def test_a_send_that_cannot_be_read_is_refused_by_its_name(stage: Stage) -> None:
    async with house(stage) as here:
        phone = Device(await person(stage))
        await phone.live(here)
        await phone.say("send", client_message_id="mine", conversation_id=7, content={})
        told = await phone.until("error", code="invalid_frame")
        assert told["client_message_id"] == "mine"


@pytest.mark.parametrize("what", ["no JSON", "a type that is none", "deep nesting"])
async def test_what_cannot_be_read_before_hello_is_an_error_too(stage: Stage, what: str) -> None:
    async with house(stage) as here:
        phone = Device(await person(stage))
        await phone.connect(here)
        await phone.line.send(WRONG[what])
        await phone.until("error", code="invalid_frame")
        await phone.say("hello", device_id="phone", token=phone.who.token)
        await phone.until("live")


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "ping"},
        {"type": "ack", "feed": "user:1", "seq": 1},
        {"type": "typing", "conversation_id": "1"},
        {"type": "read", "conversation_id": "1", "message_id": "1"},
        {"type": "send", "client_message_id": "1", "conversation_id": "1", "content": {}},
    ],
)
async def test_nothing_is_done_before_hello(stage: Stage, frame: dict[str, Any]) -> None:
    async with house(stage) as here:
        phone = Device(await person(stage))
        await phone.connect(here)
        await phone.line.send(msgspec.json.encode(frame).decode())
        assert (await phone.next())["code"] == "hello_first"


async def test_hello_is_said_once(stage: Stage) -> None:
    async with house(stage) as here:
        phone = Device(await person(stage))
        await phone.live(here)
        await phone.say("hello", device_id="phone", token=phone.who.token)
        await phone.until("error", code="hello_again")
        hasty = Device(phone.who, "hasty")
        await hasty.connect(here)
        for _ in range(2):
            await hasty.say("hello", device_id="hasty", token=phone.who.token)
        await hasty.until("error", code="hello_again")
        await hasty.until("live")


async def test_frames_that_follow_hello_at_once_are_answered_after_it_and_in_order(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(ann)
        await phone.connect(here)
        await phone.say("hello", device_id="phone", token=ann.token)
        await phone.say("ping")
        for n in range(20):
            content = {"type": "text", "text": f"{n}"}
            await phone.say("send", client_message_id=f"{n}", conversation_id=where, content=content)
        await phone.until("ack", client_message_id="19")
        kinds = [frame["type"] for frame in phone.others if frame["type"] != "presence"]
        assert kinds == ["welcome", "live", "pong", *["ack"] * 20]
        assert [frame["position"] for frame in phone.others if frame["type"] == "ack"] == list(range(1, 21))


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"conversation_id": "0"}, "not_found"),
        ({"conversation_id": "01"}, "not_found"),
        ({"conversation_id": "9" * 18}, "not_found"),
        ({"conversation_id": "\u0661"}, "not_found"),
        ({"content": None}, "invalid_payload"),
        ({"content": {"type": "text", "text": " "}}, "invalid_payload"),
        ({"content": {"type": "image", "image": {}}}, "invalid_payload"),
        ({"client_message_id": "x" * 129}, "invalid_payload"),
        ({"client_message_id": "a\nb"}, "invalid_payload"),
    ],
)
async def test_a_post_that_is_refused_is_told_by_its_own_id(stage: Stage, changed: dict[str, Any], code: str) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        good = {"client_message_id": "1", "conversation_id": where, "content": {"type": "text", "text": "hi"}}
        await phone.say("send", **{**good, **changed})
        told = await phone.until("error")
        assert (told["code"], told["retryable"]) == (code, False)
        assert told["client_message_id"] == {**good, **changed}["client_message_id"]


async def test_the_same_id_for_other_words_is_refused_and_both_stay_as_they_were(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        for text in ("one", "other"):
            content = {"type": "text", "text": text}
            await phone.say("send", client_message_id="1", conversation_id=where, content=content)
        await phone.until("error", code="idempotency_conflict")
        await phone.settled()
        assert phone.texts() == ["one"]


async def test_who_types_is_told_to_the_others_and_not_more_often_than_need_be(stage: Stage) -> None:
    ann, bob, eve = await people(stage, 3)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone, laptop, other, stranger = Device(ann), Device(ann, "laptop"), Device(bob), Device(eve)
        for device in (phone, laptop, other, stranger):
            await device.live(here)
        for _ in range(3):
            await phone.say("typing", conversation_id=where)
        assert (await other.until("typing"))["user_id"] == ann.user_id
        stage.manual.advance(seconds(3))
        await phone.say("typing", conversation_id=where)
        await other.until("typing")
        await posted_id(stage, ann, where, "hello")
        await other.hears("hello")
        assert [frame["type"] for frame in other.others].count("typing") == 2
        await stranger.settled()
        await laptop.settled()
        assert "typing" not in str(stranger.others + laptop.others)
        talk = await customer(stage)
        await phone.say("typing", conversation_id=talk)
        for device in (other, stranger):
            assert (await device.until("typing"))["conversation_id"] == talk


async def test_who_comes_and_goes_is_told_to_those_who_work_with_them(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    zed = await person(stage, "Zed", key=stage.globex.key)
    async with house(stage) as here:
        watcher, foreign = Device(ann), Device(zed)
        await watcher.live(here)
        await foreign.live(here)
        phone, laptop = Device(bob), Device(bob, "laptop")
        await phone.live(here)
        await laptop.live(here)
        await watcher.until("presence", user_id=bob.user_id, state="online")
        assert (await stage.get(f"/api/v1/presence?user_id={bob.user_id}", ann.token))["state"] == "online"
        await phone.leave()
        await laptop.leave()
        await watcher.until("presence", user_id=bob.user_id, state="offline")
        assert (await stage.get(f"/api/v1/presence?user_id={bob.user_id}", ann.token))["state"] == "offline"
        states = [frame["state"] for frame in watcher.others if frame["type"] == "presence"]
        assert states[-2:] == ["online", "offline"], "the last device that goes is the one that counts"
        await foreign.settled()
        assert "presence" not in str(foreign.others)
        refused = await stage.call("GET", f"/api/v1/presence?user_id={bob.user_id}", key=zed.token)
        assert refused.status == 404


LAST: dict[str, Any] = {"type": "send", "client_message_id": "the last", "conversation_id": "0", "content": None}


class Wall:
    """A link to nobody, that notes what is said."""

    def __init__(self) -> None:
        self.caller = HandshakeInfo(address="")
        self.waiting = 0
        self.frames: list[dict[str, Any]] = []
        self.closed: int | None = None
        self.answered = asyncio.Event()
        """The last of the frames, or all of them by a close."""

    def send(self, bundle: Bundle) -> None:
        told = [msgspec.json.decode(frame.text) for frame in bundle.frames]
        self.frames += told
        if LAST["client_message_id"] in [frame.get("client_message_id") for frame in told]:
            self.answered.set()

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self, code: int, reason: str) -> None:
        assert reason
        self.closed = self.closed or code
        self.answered.set()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["1", "2", "phone"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "body", "user:1"]), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ["device_id", "token", "epoch", "cursors", "feed", "seq", "content", "conversation_id", "message_id"]
kinds = st.sampled_from(["hello", "send", "ack", "read", "typing", "ping", "item"])
loose = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    kinds,
    st.dictionaries(st.sampled_from([*NAMES, "client_message_id"]), values, max_size=4),
)
sends = st.builds(
    lambda name, where, content: {
        "type": "send",
        "client_message_id": name,
        "conversation_id": where,
        "content": content,
    },
    st.text(min_size=1, max_size=5),
    st.sampled_from(["1", "2", "3", "x"]),
    values | st.builds(lambda content: {"type": "text", **content}, st.dictionaries(st.just("text"), values)),
)
texts = st.builds(msgspec.json.encode, loose | sends) | st.binary(max_size=30)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(texts, max_size=12), st.booleans())
async def test_any_frames_in_any_order_are_answered_or_end_the_line(
    stage: Stage, spoken: list[bytes], greeted: bool
) -> None:
    """The stage fails on any bug that only the log would show."""
    ann = await _one_user(stage)
    gateway = Gateway(stage.world)
    wall = Wall()
    session = gateway.welcome(wall)
    if greeted:
        session.received(msgspec.json.encode({"type": "hello", "device_id": "d", "token": ann.token}))
    for text in spoken:
        session.received(text)
    TRIED["frames"] += len(spoken)
    session.received(msgspec.json.encode(LAST))
    if [frame.get("code") for frame in wall.frames[-1:]] != ["hello_first"]:
        await asyncio.wait_for(wall.answered.wait(), 10)
    session.gone()
    answers = [frame["type"] for frame in wall.frames]
    assert set(answers) <= {"welcome", "live", "item", "ack", "pong", "typing", "presence", "error"}
    assert wall.closed is not None or "welcome" in answers or not greeted


_known: dict[int, Person] = {}


async def _one_user(stage: Stage) -> Person:
    """One person with a chat and a customer for all examples."""
    if id(stage) not in _known:
        ann, bob = await people(stage, 2)
        await chat(stage, ann, [bob], "direct")
        await customer(stage)
        _known[id(stage)] = ann
    return _known[id(stage)]
