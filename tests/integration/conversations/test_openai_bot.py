"""The real SDK against a real server: streams, tools, refusals, and every way of failing."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from waypost.adapters.openai.bot import MOST_ROUNDS, ModelSettings, OpenAiBot
from waypost.adapters.openai.tools import tools_of
from waypost.model.turn import Handover
from waypost_testing.contracts.conversations.bot import a_line, a_turn, failure
from waypost_testing.contracts.platform.http_transport import answer, other_side
from waypost_testing.openai_server import OpenAiServer, ScriptedReply

KEY = "sk-test/s3cret"
PNG = b"\x89PNG\r\n\x1a\n0000"
MakeBot: TypeAlias = Callable[..., Awaitable[OpenAiBot]]


async def order_status(order: int) -> str:
    """Where an order is."""
    return f"order {order} is on its way"


async def broken() -> str:
    """Always fails."""
    raise RuntimeError("the shop is closed")


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer(key=KEY) as server:
        yield server


@pytest.fixture
async def make(server: OpenAiServer) -> AsyncIterator[MakeBot]:
    made: list[OpenAiBot] = []

    async def make_bot(media: Any = None, tools: Any = (order_status, broken), **change: Any) -> OpenAiBot:
        fields: dict[str, Any] = {"base_url": server.url, "api_key": KEY, "name": "tiny", "timeout": 20.0}
        model = ModelSettings(**fields | change)
        offered = {} if tools is None else tools_of(tools)
        made.append(await asyncio.to_thread(OpenAiBot, model, offered, media))
        return made[-1]

    yield make_bot
    for bot in made:
        await bot.close()


@pytest.fixture
async def bot(make: MakeBot) -> OpenAiBot:
    return await make()


# What is asked


async def test_a_burst_is_asked_and_its_stream_put_together(server: OpenAiServer, bot: OpenAiBot) -> None:
    assert await bot.answer(a_turn("hello", "are you\nthere?")) == "You wrote: hello / are you / there?"
    (asked,) = server.requests
    assert (asked.path, asked.key) == ("/v1/chat/completions", KEY)
    assert (asked.body["model"], asked.body["stream"], asked.body["max_tokens"]) == ("tiny", True, 1000)
    names = [tool["function"]["name"] for tool in asked.body["tools"]]
    assert names == ["hand_over", "order_status", "broken"]


async def test_without_tools_none_are_named(server: OpenAiServer, make: MakeBot) -> None:
    bot = await make(tools=None, system="Be kind.")
    await bot.answer(a_turn("hello"))
    assert "tools" not in server.requests[0].body
    assert server.requests[0].messages[0] == {"role": "system", "content": "Be kind."}


async def test_a_server_without_a_key_is_asked_too(make: MakeBot) -> None:
    async with OpenAiServer() as open_to_all:
        bot = await make(base_url=open_to_all.url, api_key="")
        assert await bot.answer(a_turn("hello")) == "You wrote: hello"
        assert open_to_all.requests[0].key == "none"


async def test_an_image_is_shown_to_the_model(server: OpenAiServer, make: MakeBot) -> None:
    async def media(org: str, media_id: str) -> bytes | None:
        return PNG if (org, media_id) == ("acme", "media_1") else None

    bot = await make(media)
    image = a_line("our cat", type="image", media_id="media_1")
    assert await bot.answer(a_turn(image)) == "You wrote: [image] / our cat"
    (picture, caption) = server.requests[0].messages[-1]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert caption == {"type": "text", "text": "our cat"}


@pytest.mark.parametrize(
    ("url", "name"),
    [("https://api.openai.com/v1", "max_completion_tokens"), ("http://localhost:11434/v1", "max_tokens")],
)
async def test_the_token_limit_has_the_name_that_the_server_knows(url: str, name: str, make: MakeBot) -> None:
    bot = await make(base_url=url, max_tokens=77)
    assert bot._options[name] == 77


# What it answers


@pytest.mark.parametrize(
    ("step", "meant"),
    [
        (ScriptedReply(text="  Hello,\n\nAda! 🙂 "), "Hello,\n\nAda! 🙂"),
        (ScriptedReply(text=""), None),
        (ScriptedReply(text=" \n"), None),
        (ScriptedReply(text="as far as it", finish="length"), "as far as it"),
        (ScriptedReply(text="half", finish="content_filter"), Handover("the model's answer was filtered")),
        (ScriptedReply(refusal="I can't help with that."), Handover("the model refused: I can't help with that.")),
        (ScriptedReply(calls=(("hand_over", '{"reason": "wants a refund"}'),)), Handover("wants a refund")),
        (ScriptedReply(text="One moment.", calls=(("hand_over", '{"reason": "angry"}'),)), Handover("angry")),
        (
            ScriptedReply(calls=(("order_status", '{"order": 7}'), ("hand_over", '{"reason": "lost"}'))),
            Handover("lost"),
        ),
        (
            ScriptedReply(status=400, message="filtered", code="content_filter"),
            Handover("the model's server filtered what the customer wrote"),
        ),
    ],
)
async def test_an_answer_is_understood(
    step: ScriptedReply, meant: object, server: OpenAiServer, bot: OpenAiBot
) -> None:
    server.then(step)
    assert await bot.answer(a_turn("hello")) == meant
    assert len(server.requests) == 1


async def test_tools_are_called_and_the_model_told(server: OpenAiServer, bot: OpenAiBot) -> None:
    server.then(
        ScriptedReply(calls=(("order_status", '{"order": 7}'), ("order_status", '{"order": 8}'))),
        ScriptedReply(calls=(("broken", ""), ("no_such", "{}"), ("order_status", "{"))),
        ScriptedReply(text="On its way."),
    )
    assert await bot.answer(a_turn("where is it?")) == "On its way."
    assert server.requests[1].messages[1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_0", "type": "function", "function": {"name": "order_status", "arguments": '{"order": 7}'}},
                {"id": "call_1", "type": "function", "function": {"name": "order_status", "arguments": '{"order": 8}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_0", "content": "order 7 is on its way"},
        {"role": "tool", "tool_call_id": "call_1", "content": "order 8 is on its way"},
    ]
    assert [message["content"] for message in server.requests[2].messages[-3:]] == [
        "error: RuntimeError: the shop is closed",
        "error: there is no tool 'no_such'",
        "error: DecodeError: Input data was truncated",
    ]


async def test_a_model_that_only_calls_tools_is_stopped(server: OpenAiServer, bot: OpenAiBot) -> None:
    server.otherwise = ScriptedReply(calls=(("order_status", '{"order": 7}'),))
    assert await bot.answer(a_turn("hm")) == Handover("the model gave no answer in 5 rounds of tool calls")
    assert len(server.requests) == MOST_ROUNDS


# How it fails


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_a_failure_that_may_pass_is_left_to_the_next_try(
    status: int, server: OpenAiServer, bot: OpenAiBot
) -> None:
    server.then(ScriptedReply(status=status, message=f"busy, {KEY}", retry_after="7"))
    failed = await failure(bot, a_turn("hello"))
    assert (failed.hopeless, failed.retry_after) == (False, 7.0)
    assert failed.reason == f"the model's server answered HTTP {status}: busy, [token]"
    assert len(server.requests) == 1, "the SDK's own retries are off: the turn has better ones"


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, ""),
        (401, " (check WAYPOST_OPENAI_API_KEY)"),
        (403, " (the key may not use this model)"),
        (404, " (check WAYPOST_OPENAI_BASE_URL and WAYPOST_OPENAI_MODEL)"),
        (422, ""),
    ],
)
async def test_a_failure_that_will_not_pass_is_hopeless(
    status: int, hint: str, server: OpenAiServer, bot: OpenAiBot
) -> None:
    server.then(ScriptedReply(status=status, message=f"no, {KEY}", retry_after="7"))
    failed = await failure(bot, a_turn("hello"))
    assert (failed.hopeless, failed.retry_after) == (True, None)
    assert failed.reason == f"the model's server answered HTTP {status}: no, [token]{hint}"


async def test_a_wrong_key_is_hopeless_and_not_shown(make: MakeBot) -> None:
    bot = await make(api_key="sk-other/s3cret")
    failed = await failure(bot, a_turn("hello"))
    assert failed.hopeless
    assert "sk-other" not in failed.reason


async def test_a_server_that_is_not_there_may_come_back(server: OpenAiServer, bot: OpenAiBot) -> None:
    await server.leave()
    failed = await failure(bot, a_turn("hello"))
    assert (failed.hopeless, failed.reason) == (False, "the model's server could not be reached, or hung up")


@pytest.mark.parametrize(
    "step", [ScriptedReply(text="one two three four", cut=True), ScriptedReply(calls=(("broken", "{}"),), cut=True)]
)
async def test_half_an_answer_is_none(step: ScriptedReply, server: OpenAiServer, bot: OpenAiBot) -> None:
    server.then(step)
    failed = await failure(bot, a_turn("hello"))
    assert not failed.hopeless
    assert len(server.requests) == 1


async def test_the_limit_covers_all_rounds(server: OpenAiServer, make: MakeBot) -> None:
    bot = await make(timeout=0.5)
    server.otherwise = ScriptedReply(calls=(("order_status", '{"order": 7}'),), delay=0.2)
    failed = await failure(bot, a_turn("hello"))
    assert (failed.hopeless, failed.reason) == (False, "no answer within 0.5 s")
    assert len(server.requests) < MOST_ROUNDS


async def test_a_budget_that_was_spent_on_thinking_is_said_so(server: OpenAiServer, bot: OpenAiBot) -> None:
    server.then(ScriptedReply(text="", finish="length"))
    failed = await failure(bot, a_turn("hello"))
    assert failed.hopeless
    assert failed.reason == "the model used up WAYPOST_OPENAI_MAX_TOKENS before it wrote any text"


async def test_a_call_that_was_cut_off_by_the_budget_is_not_made(server: OpenAiServer, bot: OpenAiBot) -> None:
    server.then(ScriptedReply(calls=(("order_status", '{"ord'),), finish="length"))
    assert (await failure(bot, a_turn("hello"))).hopeless
    assert len(server.requests) == 1


def test_a_model_does_not_show_its_key() -> None:
    assert KEY not in repr(ModelSettings(base_url="https://example.com", api_key=KEY, name="tiny"))


# Servers that are not quite compatible


def event(*choices: dict[str, Any], **fields: Any) -> bytes:
    return b"data: " + json.dumps({"id": "1", "choices": list(choices), **fields}).encode() + b"\n\n"


def delta(finish: str | None = None, **told: Any) -> dict[str, Any]:
    return {"index": 0, "delta": told, "finish_reason": finish}


def call(identity: str, number: int) -> dict[str, Any]:
    function = {"name": "order_status", "arguments": json.dumps({"order": number})}
    return {"index": 0, "id": identity, "type": "function", "function": function}


DONE = b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    "stream",
    [
        event(delta(content="hel")) + event(delta(content="lo")) + event(delta("stop")) + DONE,
        event(delta(content="hello")) + event(delta("stop")) + event(usage={"total_tokens": 5}) + DONE,
        event(delta(content="hello")) + event({"index": 0, "finish_reason": "stop"}),
        b": keep-alive\n\n" + event(delta("stop", content="hello", reasoning_content="hm")) + DONE,
        b'data: {"choices": null}\n\n' + event(delta("stop", content="hello")),
    ],
    ids=["plain", "with figures", "without a last delta", "with comments and more", "without choices"],
)
async def test_streams_of_other_servers_are_read(stream: bytes, make: MakeBot) -> None:
    async with other_side(answer(200, stream, b"Content-Type: text/event-stream")) as other:
        bot = await make(base_url=other.url)
        assert await bot.answer(a_turn("hi")) == "hello"


async def test_calls_that_are_all_numbered_0_are_told_apart(make: MakeBot) -> None:
    first = event(delta(tool_calls=[call("a", 7)])) + event(delta("tool_calls", tool_calls=[call("b", 8)])) + DONE
    second = event(delta("stop", content="hello")) + DONE
    kind = b"Content-Type: text/event-stream"
    async with other_side(answer(200, first, kind), answer(200, second, kind)) as other:
        bot = await make(base_url=other.url)
        assert await bot.answer(a_turn("hi")) == "hello"
        assert [f"order {number} is on its way".encode() in other.requests[1] for number in (7, 8)] == [True, True]


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b'data: {"error": {"message": "overloaded"}}\n\n', "the model's answer broke off: overloaded"),
        (event(delta(content="hel")), "the model's answer broke off"),
        (b"", "the model's answer broke off"),
        (b"<html>a proxy</html>", "the model's answer broke off"),
        (b"data: {half\n\n", "the model's server sent something that cannot be read"),
    ],
)
async def test_a_stream_that_makes_no_sense_may_be_tried_again(stream: bytes, reason: str, make: MakeBot) -> None:
    async with other_side(answer(200, stream, b"Content-Type: text/event-stream")) as other:
        failed = await failure(await make(base_url=other.url), a_turn("hi"))
    assert (failed.hopeless, failed.reason) == (False, reason)


# The server by itself


@pytest.mark.may_block("waits for a child process")
async def test_the_server_runs_by_itself(tmp_path: Path, make: MakeBot) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "waypost_testing.openai_server", "--delay", "0.01", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert child.stdout is not None
        url = (await child.stdout.readline()).decode().strip()
        bot = await make(base_url=url)
        assert await bot.answer(a_turn("hello")) == "You wrote: hello"
    finally:
        child.terminate()
        await child.wait()
