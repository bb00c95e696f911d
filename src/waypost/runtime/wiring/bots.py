"""Makes the bot that the settings name, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from waypost.adapters.bots.echo import EchoBot
from waypost.adapters.bots.http import HttpBot
from waypost.adapters.bots.module import ModuleBot
from waypost.flow.conversations.bot_images import Pictures
from waypost.ports.conversations.bot import Bot
from waypost.ports.platform.http_transport import HttpTransport
from waypost.runtime.settings.definitions import PREFIX, Settings, SettingsError
from waypost.runtime.settings.loading import load, load_async_function

if TYPE_CHECKING:
    from waypost.adapters.openai.tools import Tool

OPENAI = "https://api.openai.com/v1"
SERVICE = "https://bot.example.com/answer"


def make_bot(settings: Settings, transport: HttpTransport, media: Pictures | None = None) -> Bot | None:
    """Raises SettingsError. Blocks for a second to load modules and certificates: call it in a thread."""
    match settings.bot:
        case "" | "none":
            return None
        case "echo":
            return EchoBot()
        case "http":
            return _http(settings, transport)
        case "openai":
            return _openai(settings, media)
        case reference if ":" in reference:
            function = load_async_function(reference, "BOT")
            return ModuleBot(function, history=settings.bot_history, timeout=settings.bot_timeout_sec)
        case unknown:
            raise SettingsError(f"{PREFIX}BOT must be none, echo, openai, http or module:function, not {unknown!r}")


def _http(settings: Settings, transport: HttpTransport) -> HttpBot:
    if not settings.bot_secret:
        raise SettingsError(f"{PREFIX}BOT_SECRET is missing: it signs the requests to your service")
    return HttpBot(
        transport,
        _address(settings.bot_url, "BOT_URL", SERVICE),
        settings.bot_secret,
        timeout=settings.bot_timeout_sec,
        history=settings.bot_history,
    )


def _openai(settings: Settings, media: Pictures | None) -> Bot:
    url = _address(settings.openai_base_url, "OPENAI_BASE_URL", OPENAI)
    if not settings.openai_model:
        raise SettingsError(f"{PREFIX}OPENAI_MODEL is missing: name a model that {urlsplit(url).hostname} has")
    if not settings.openai_api_key and url.startswith(OPENAI):
        raise SettingsError(f"{PREFIX}OPENAI_API_KEY is missing")
    from waypost.adapters.openai.bot import ModelSettings, OpenAiBot  # noqa: PLC0415  # takes a second, needed only with this bot

    model = ModelSettings(
        base_url=url,
        api_key=settings.openai_api_key,
        name=settings.openai_model,
        system=settings.openai_system_prompt,
        max_tokens=settings.openai_max_tokens,
        history_tokens=settings.openai_history_tokens,
        history=settings.bot_history,
        timeout=settings.openai_timeout_sec,
    )
    return OpenAiBot(model, _tools(settings), media)


def _tools(settings: Settings) -> Mapping[str, Tool]:
    from waypost.adapters.openai.tools import InvalidTool, tools_of  # noqa: PLC0415  # as above

    functions = load(settings.bot_tools, "BOT_TOOLS") if settings.bot_tools else []
    try:
        tools = tools_of(functions)
    except InvalidTool as error:
        raise SettingsError(f"{PREFIX}BOT_TOOLS: {settings.bot_tools} {error}") from error
    return tools if settings.openai_tools else {}


def _address(url: str, setting: str, example: str) -> str:
    if not url:
        raise SettingsError(f"{PREFIX}{setting} is missing")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(f"{PREFIX}{setting} must be an address like {example}")
    return url
