"""A bot that asks a model, runs its tool calls, and hands over to a user when needed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from openai import APIError, AsyncOpenAI

from waypost.adapters.openai.assembly import Completion, assembled
from waypost.adapters.openai.failures import is_filtered, translate_error
from waypost.adapters.openai.prompt import MediaLoader, PromptLimits, PromptMessage, messages
from waypost.adapters.openai.tools import Tool, carry_out
from waypost.model.turn import Answer, Handover, Turn
from waypost.ports.conversations.bot import BotFailed
from waypost.rules.text.redact import redact

MOST_ROUNDS = 5
"""Model answers per turn; a model that has only called tools by then is in a loop."""
_NO_KEY = "none"
"""The SDK requires a key; self-hosted servers often have none."""
_OPENAI = ("openai.com", "openai.azure.com")


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The model, its server, and its limits."""

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

    def __init__(self, model: ModelSettings, tools: Mapping[str, Tool], media: MediaLoader | None = None) -> None:
        """Blocks while the SDK loads its modules and the system's certificates: construct it in a thread."""
        self.history = model.history
        self._model = model
        self._tools = tools
        self._window = PromptLimits(system=model.system, history_tokens=model.history_tokens, media=media)
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
            raise translate_error(error, self._model.api_key) from error
        except TimeoutError as error:
            if limit.expired():
                raise BotFailed(f"no answer within {self._model.timeout:g} s") from error
            raise
        except ValueError as error:  # a line of the stream that is not JSON
            raise BotFailed("the model's server sent something that cannot be read") from error

    async def close(self) -> None:
        await self._client.close()

    async def _converse(self, turn: Turn) -> Answer:
        prompt = await messages(turn, self._window)
        for _ in range(MOST_ROUNDS):
            completion = await self._ask(prompt)
            if not completion.calls or completion.finish in (None, "length"):
                return _final(completion)
            handover = await self._call_tools(completion, prompt, turn)
            if handover is not None:
                return handover
        return Handover(f"the model gave no answer in {MOST_ROUNDS} rounds of tool calls")

    async def _ask(self, prompt: list[PromptMessage]) -> Completion:
        messages_: Any = prompt  # the server validates plain objects better than the SDK's types
        stream = await self._completions.create(messages=messages_, **self._options)
        async with stream:
            return await assembled(stream)

    async def _call_tools(self, completion: Completion, prompt: list[PromptMessage], turn: Turn) -> Handover | None:
        """Run the calls in order; a handover ends the turn before any other call."""
        prompt.append(completion.as_message())
        for call in sorted(completion.calls, key=lambda each: each.name != "hand_over"):
            result = await carry_out(self._tools, call.name, call.arguments, turn)
            if isinstance(result, Handover):
                return result
            prompt.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return None


def _options(model: ModelSettings, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """OpenAI's newer models refuse the old name of the token limit; many other servers do not know the new one."""
    host = urlsplit(model.base_url).hostname or ""
    limit = "max_completion_tokens" if host.endswith(_OPENAI) else "max_tokens"
    options: dict[str, Any] = {"model": model.name, "stream": True, limit: model.max_tokens}
    if tools:
        options["tools"] = [tool.as_parameter() for tool in tools.values()]
    return options


def _final(completion: Completion) -> Answer:
    if completion.refusal:
        return Handover(redact(f"the model refused: {completion.refusal}"))
    if completion.finish == "content_filter":
        return Handover("the model's answer was filtered")
    if completion.finish is None:
        raise BotFailed("the model's answer broke off")
    if completion.finish == "length" and not completion.text:
        raise BotFailed("the model used up WAYPOST_OPENAI_MAX_TOKENS before it wrote any text", hopeless=True)
    return completion.text or None
