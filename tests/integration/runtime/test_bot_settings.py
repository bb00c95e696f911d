"""From the settings to a bot, or to a one-line error that names what to fix."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from waypost.adapters.bots.echo import EchoBot
from waypost.adapters.bots.http import HttpBot
from waypost.adapters.bots.module import ModuleBot
from waypost.adapters.openai.bot import OpenAiBot
from waypost.ports.conversations.bot import BotFailed
from waypost.ports.platform.http_transport import HttpTransport
from waypost.runtime.settings.definitions import Settings, SettingsError, load
from waypost.runtime.wiring.bots import make_bot
from waypost_testing.contracts.conversations.bot import a_turn

WIRE: Any = object()
BOT = """
import json

from waypost.model.turn import Handover

async def answer(turn):
    return f"{len(turn.messages)} lines, {turn.contact.name}"

class Answering:
    async def __call__(self, turn):
        return "called"

answering = Answering()
not_async = lambda turn: "hello"
number = 5

async def order_status(order: int) -> str:
    "Where an order is."
    return "on its way"

def stock():
    return json.loads("{")  # fails in the library, and is mended here

async def failing(turn):
    return stock()

class Failing:
    async def __call__(self, turn):
        raise ValueError("two\\nlines")

failing_object = Failing()

tools = [order_status]
no_tools = [not_async]
"""


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where Waypost is started, with a module in it."""
    (tmp_path / "my_shop_bot.py").write_text(BOT)
    (tmp_path / "my_broken_bot.py").write_text("raise RuntimeError('first line\\nsecond line')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("my_shop_bot", "my_broken_bot"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def made(**settings: Any) -> Any:
    wire: HttpTransport = WIRE
    return make_bot(Settings(**settings), wire)


def test_no_bot_is_the_default() -> None:
    assert made() is None
    assert made(bot="none") is None
    assert made(bot="") is None


def test_an_echo_wants_no_history() -> None:
    bot = made(bot="echo")
    assert isinstance(bot, EchoBot)
    assert (bot.history, bot.thinks) == (0, False)


async def test_a_function_is_found_in_the_current_folder() -> None:
    bot = await asyncio.to_thread(made, bot="my_shop_bot:answer", bot_history=7)
    assert isinstance(bot, ModuleBot)
    assert (bot.history, bot.thinks) == (7, True)
    assert await bot.answer(a_turn("a", "b")) == "2 lines, Ada"
    callable_object = await asyncio.to_thread(made, bot="my_shop_bot:answering")
    assert await callable_object.answer(a_turn("a")) == "called"


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("failing", '    return json.loads("{")', "JSONDecodeError: Expecting property name"),
        ("failing_object", '        raise ValueError("two', "ValueError: two lines"),
    ],
)
async def test_a_function_that_fails_tells_its_last_line_of_the_users_own_code(name: str, line: str, told: str) -> None:
    at = next(n for n, each in enumerate(BOT.splitlines(), 1) if each.startswith(line))
    bot = await asyncio.to_thread(made, bot=f"my_shop_bot:{name}")
    with pytest.raises(BotFailed) as failed:
        await bot.answer(a_turn("a"))
    assert failed.value.reason.startswith(f"my_shop_bot.py:{at}: {told}")


def test_a_service_and_a_model_are_made() -> None:
    assert isinstance(made(bot="http", bot_url="https://bot.example.com/answer", bot_secret="x"), HttpBot)
    bot = made(bot="openai", openai_base_url="http://localhost:11434/v1", openai_model="tiny", bot_history=3)
    assert isinstance(bot, OpenAiBot)
    assert bot.history == 3
    assert list(bot._tools) == ["hand_over"]


def test_a_model_gets_the_tools_of_the_user_or_none() -> None:
    model = {"bot": "openai", "openai_base_url": "http://localhost/v1", "openai_model": "tiny"}
    assert list(made(**model, bot_tools="my_shop_bot:tools")._tools) == ["hand_over", "order_status"]
    assert list(made(**model, bot_tools="my_shop_bot:tools", openai_tools=False)._tools) == []


OPENAI = {"bot": "openai", "openai_model": "tiny", "openai_api_key": "sk-s3cret"}


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"bot": "gpt"}, "WAYPOST_BOT must be none, echo, openai, http or module:function, not 'gpt'"),
        ({"bot": "a b:c"}, "WAYPOST_BOT must be written module:name, like shop.bot:answer, not 'a b:c'"),
        ({"bot": "shop:"}, "WAYPOST_BOT must be written module:name, like shop.bot:answer, not 'shop:'"),
        (
            {"bot": "no_such_shop:answer"},
            "WAYPOST_BOT: no_such_shop cannot be imported: ModuleNotFoundError: No module named 'no_such_shop'",
        ),
        (
            {"bot": "my_broken_bot:answer"},
            "WAYPOST_BOT: my_broken_bot cannot be imported: RuntimeError: first line second line",
        ),
        ({"bot": "my_shop_bot:no_such"}, "WAYPOST_BOT: my_shop_bot has no no_such"),
        ({"bot": "my_shop_bot:number"}, "WAYPOST_BOT: my_shop_bot:number is not a function"),
        ({"bot": "my_shop_bot:not_async"}, "WAYPOST_BOT: my_shop_bot:not_async must be an async function: `async def`"),
        ({"bot": "http", "bot_secret": "x"}, "WAYPOST_BOT_URL is missing"),
        (
            {"bot": "http", "bot_url": "bot.example.com", "bot_secret": "x"},
            "WAYPOST_BOT_URL must be an address like https://bot.example.com/answer",
        ),
        (
            {"bot": "http", "bot_url": "https://bot:x", "bot_secret": "x"},
            "WAYPOST_BOT_URL must be an address like https://bot.example.com/answer",
        ),
        (
            {"bot": "http", "bot_url": "https://bot.example.com"},
            "WAYPOST_BOT_SECRET is missing: it signs the requests to your service",
        ),
        ({"bot": "openai"}, "WAYPOST_OPENAI_MODEL is missing: name a model that api.openai.com has"),
        ({"bot": "openai", "openai_model": "tiny"}, "WAYPOST_OPENAI_API_KEY is missing"),
        (
            OPENAI | {"openai_base_url": "localhost"},
            "WAYPOST_OPENAI_BASE_URL must be an address like https://api.openai.com/v1",
        ),
        (
            OPENAI | {"bot_tools": "my_shop_bot"},
            "WAYPOST_BOT_TOOLS must be written module:name, like shop.bot:answer, not 'my_shop_bot'",
        ),
        (
            OPENAI | {"bot_tools": "my_shop_bot:number"},
            "WAYPOST_BOT_TOOLS: my_shop_bot:number must be a list of async functions",
        ),
        (
            OPENAI | {"bot_tools": "my_shop_bot:no_tools"},
            "WAYPOST_BOT_TOOLS: my_shop_bot:no_tools <lambda> is not an async function",
        ),
    ],
)
def test_what_cannot_be_made_is_said_in_one_line(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(SettingsError) as refused:
        made(**settings)
    assert str(refused.value) == line


@pytest.mark.parametrize("name", ["BOT_SECRET", "OPENAI_API_KEY"])
def test_a_secret_is_not_shown_when_it_cannot_be_read(name: str, tmp_path: Path) -> None:
    written = tmp_path / "waypost.toml"
    written.write_text(f"{name.lower()} = ['s3cret']\n")
    with pytest.raises(SettingsError) as refused:
        load({}, written)
    assert "s3cret" not in str(refused.value)


def test_the_sdk_is_loaded_only_for_who_asks_for_it() -> None:
    code = "import sys, waypost.runtime.wiring.bots, waypost.runtime.cli.app; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
