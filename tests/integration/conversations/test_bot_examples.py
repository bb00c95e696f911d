"""The examples of docs/how-to/answer-with-a-bot.md, run unchanged."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from waypost.adapters.bots.http import HttpBot
from waypost.adapters.openai.tools import carry_out, tools_of
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.model.turn import Handover
from waypost.ports.conversations.bot import BotFailed
from waypost_testing.contracts.conversations.bot import a_line, a_turn, failure
from waypost_testing.contracts.platform.http_transport import closed_port

PAGE = Path(__file__).parents[3] / "docs/how-to/answer-with-a-bot.md"
EXAMPLES: dict[str, list[str]] = {}
for language, code in re.findall(r"^```(python|javascript)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
    EXAMPLES.setdefault(language, []).append(code)
FUNCTION, SERVICE, TOOLS = EXAMPLES["python"]
(JAVASCRIPT,) = EXAMPLES["javascript"]
SECRET = "shared secret"


def defined(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(code, names)
    return names


async def test_the_function() -> None:
    answer = defined(FUNCTION)["answer"]
    assert await answer(a_turn("hello")) == ["Welcome!", "What can I do for you, Ada?"]
    assert await answer(a_turn("a", "b", history=[a_line("c")])) == "You wrote 2 messages, and I have seen 1 before."
    assert await answer(a_turn("A person!")) == Handover("asked for a person")


async def test_the_tool() -> None:
    tools = tools_of(defined(TOOLS)["tools"])
    told = tools["order_status"].as_parameter()["function"]
    assert told["parameters"]["properties"] == {
        "order": {"type": "integer", "description": "The number on the receipt"}
    }
    assert await carry_out(tools, "order_status", '{"order": 7}', a_turn("?")) == "Order 7 of Ada is on its way."


@asynccontextmanager
async def running(program: str, code: str, folder: Path) -> AsyncIterator[str]:
    port = closed_port()
    (folder / "bot").write_text(code)
    settings = {**os.environ, "PORT": str(port), "WAYPOST_BOT_SECRET": SECRET}
    child = await asyncio.create_subprocess_exec(
        program, str(folder / "bot"), env=settings, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield f"http://127.0.0.1:{port}/answer"
    finally:
        child.kill()
        await child.wait()


@pytest.mark.may_block("starts a child process")
@pytest.mark.parametrize(
    ("program", "code"), [(sys.executable, SERVICE), ("node", JAVASCRIPT)], ids=["Python", "JavaScript"]
)
async def test_the_service(program: str, code: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed, so its example cannot be run")
    wire = ReqwestTransport("waypost-test/1")
    async with running(program, code, tmp_path) as url:
        bot = HttpBot(wire, url, SECRET, timeout=20.0, history=5)
        assert await answered(bot) == ["You wrote: one / two"]
        assert await bot.answer(a_turn("changed", attempt=2)) == ["You wrote: one / two"], (
            "the same turn, the same answer"
        )
        assert await bot.answer(a_turn("help", id="turn_2")) == Handover("asked for help")
        stranger = HttpBot(wire, url, "another secret", timeout=20.0, history=5)
        assert (await failure(stranger, a_turn("one"))).hopeless
    await wire.close()


async def answered(bot: HttpBot) -> Any:
    """As soon as it listens."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await bot.answer(a_turn("one", "two"))
            except BotFailed as failed:
                if "no connection" not in failed.reason:
                    raise
                await asyncio.sleep(0.02)
