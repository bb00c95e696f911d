"""A bot that asks a model, lets it call tools, and knows when a person must answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from openai import APIError, AsyncOpenAI

from waypost.adapters.openai.assembly import Said, assembled
from waypost.adapters.openai.failures import is_filtered, translated
from waypost.adapters.openai.prompt import Media, Message, Window, messages
from waypost.adapters.openai.tools import Tool, carry_out
from waypost.model.turn import Answer, Handover, Turn
from waypost.ports.bot import BotFailed
from waypost.rules.redact import redact

MOST_ROUNDS = 5
"""Answers of the model to one turn; one that has only called tools by then is going round in circles."""
_NO_KEY = "none"
"""The SDK insists on a key; servers of one's own often have none."""
_OPENAI = ("openai.com", "openai.azure.com")


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """Which model, where, and what it may cost."""

    base_url: str
    api_key: str = ""
    name: str
    system: str = ""
    max_tokens: int = 1000
    history_tokens: int = 4000
    history: int = 50
    timeout: float = 60.0
    """Seconds for the whole turn, tools included."""

    def __repr__(self) -> str:
        """Without the key."""
        return f"Model({self.name!r} at {self.base_url!r})"


class OpenAiBot:
    thinks = True

    def __init__(self, model: Model, tools: Mapping[str, Tool], media: Media | None = None) -> None:
        """Blocks while the SDK loads the rest of itself and the system's certificates: make it in a thread."""
        self.history = model.history
        self._model = model
        self._tools = tools
        self._window = Window(system=model.system, history_tokens=model.history_tokens, media=media)
        self._client = AsyncOpenAI(
            api_key=model.api_key or _NO_KEY, base_url=model.base_url, timeout=model.timeout, max_retries=0
        )
        self._completions = self._client.chat.completions
        self._options = _options(model, tools)

    async def answer(self, turn: Turn) -> Answer:
        limit = asyncio.timeout(self._model.timeout)
        try:
            async with limit:
                return await self._converse(turn)
        except APIError as error:
            if is_filtered(error):
                return Handover("the model's server filtered what the customer wrote")
            raise translated(error, self._model.api_key) from error
        except TimeoutError as error:
            if limit.expired():
                raise BotFailed(f"no answer within {self._model.timeout:g} s") from error
            raise
        except ValueError as error:  # a line of the stream that is no JSON
            raise BotFailed("the model's server sent something that cannot be read") from error

    async def close(self) -> None:
        await self._client.close()

    async def _converse(self, turn: Turn) -> Answer:
        spoken = await messages(turn, self._window)
        for _ in range(MOST_ROUNDS):
            said = await self._ask(spoken)
            if not said.calls or said.finish in (None, "length"):
                return _final(said)
            over = await self._call_tools(said, spoken, turn)
            if over is not None:
                return over
        return Handover(f"the model gave no answer in {MOST_ROUNDS} rounds of tool calls")

    async def _ask(self, spoken: list[Message]) -> Said:
        told: Any = spoken  # the SDK's own types for plain objects say nothing that its server does not say better
        stream = await self._completions.create(messages=told, **self._options)
        async with stream:
            return await assembled(stream)

    async def _call_tools(self, said: Said, spoken: list[Message], turn: Turn) -> Handover | None:
        """One after the other, as the model asked; a handover ends the turn, whatever else was asked for."""
        spoken.append(said.told())
        for call in sorted(said.calls, key=lambda each: each.name != "hand_over"):
            result = await carry_out(self._tools, call.name, call.arguments, turn)
            if isinstance(result, Handover):
                return result
            spoken.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return None


def _options(model: Model, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """OpenAI's newer models refuse the old name of the token limit, many other servers do not know the new one."""
    host = urlsplit(model.base_url).hostname or ""
    limit = "max_completion_tokens" if host.endswith(_OPENAI) else "max_tokens"
    options: dict[str, Any] = {"model": model.name, "stream": True, limit: model.max_tokens}
    if tools:
        options["tools"] = [tool.told() for tool in tools.values()]
    return options


def _final(said: Said) -> Answer:
    if said.refusal:
        return Handover(redact(f"the model refused: {said.refusal}"))
    if said.finish == "content_filter":
        return Handover("the model's answer was filtered")
    if said.finish is None:
        raise BotFailed("the model's answer broke off")
    if said.finish == "length" and not said.text:
        raise BotFailed("the model used up WAYPOST_OPENAI_MAX_TOKENS before it said a word", hopeless=True)
    return said.text or None
