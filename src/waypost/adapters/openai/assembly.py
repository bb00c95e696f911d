"""A streamed completion, put together."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any

import msgspec
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall


class Call(msgspec.Struct):
    """A function that the model wants to be called, as far as it has been told."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def told(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


class Said(msgspec.Struct, frozen=True):
    text: str
    refusal: str
    calls: list[Call]
    finish: str | None
    """None: the stream ended before the model did."""

    def told(self) -> dict[str, Any]:
        """As the model is reminded of it in the next round."""
        return {"role": "assistant", "content": self.text or None, "tool_calls": [call.told() for call in self.calls]}


async def assembled(chunks: AsyncIterable[ChatCompletionChunk]) -> Said:
    text: list[str] = []
    refusal: list[str] = []
    calls: list[tuple[int, Call]] = []
    finish: str | None = None
    async for chunk in chunks:
        for choice in chunk.choices or []:  # a chunk of figures has none, and with some servers not even a list
            finish = choice.finish_reason or finish
            delta: ChoiceDelta | None = getattr(choice, "delta", None)  # the SDK does not check what a server left out
            if delta is not None:
                text.append(delta.content or "")
                refusal.append(delta.refusal or "")
                for piece in delta.tool_calls or []:
                    _add(calls, piece)
    return Said("".join(text).strip(), "".join(refusal).strip(), [call for _, call in calls], finish)


def _add(calls: list[tuple[int, Call]], piece: ChoiceDeltaToolCall) -> None:
    """The id and the name come first and whole, the arguments in pieces; some servers number every call 0."""
    current = next((call for index, call in reversed(calls) if index == piece.index), None)
    if current is None or (piece.id and piece.id != current.id):
        current = Call(id=piece.id or f"call_{len(calls)}")
        calls.append((piece.index, current))
    if piece.function is not None:
        current.name = current.name or piece.function.name or ""
        current.arguments += piece.function.arguments or ""
