"""Assembles a streamed completion."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any

import msgspec
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall


class ToolCall(msgspec.Struct):
    """A function call that the model requests, as far as it has been streamed."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def as_json(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


class Completion(msgspec.Struct, frozen=True):
    text: str
    refusal: str
    calls: list[ToolCall]
    finish: str | None
    """None: the stream ended before the model did."""

    def as_message(self) -> dict[str, Any]:
        """The completion as a message of the next round's prompt."""
        return {
            "role": "assistant",
            "content": self.text or None,
            "tool_calls": [call.as_json() for call in self.calls],
        }


async def assembled(chunks: AsyncIterable[ChatCompletionChunk]) -> Completion:
    text: list[str] = []
    refusal: list[str] = []
    calls: list[tuple[int, ToolCall]] = []
    finish: str | None = None
    async for chunk in chunks:
        for choice in chunk.choices or []:  # a usage chunk has none, with some servers not even a list
            finish = choice.finish_reason or finish
            delta: ChoiceDelta | None = getattr(choice, "delta", None)  # the SDK does not check for missing fields
            if delta is not None:
                text.append(delta.content or "")
                refusal.append(delta.refusal or "")
                for piece in delta.tool_calls or []:
                    _add(calls, piece)
    return Completion("".join(text).strip(), "".join(refusal).strip(), [call for _, call in calls], finish)


def _add(calls: list[tuple[int, ToolCall]], piece: ChoiceDeltaToolCall) -> None:
    """The id and the name come first and complete, the arguments in pieces; some servers number every call 0."""
    current = next((call for index, call in reversed(calls) if index == piece.index), None)
    if current is None or (piece.id and piece.id != current.id):
        current = ToolCall(id=piece.id or f"call_{len(calls)}")
        calls.append((piece.index, current))
    if piece.function is not None:
        current.name = current.name or piece.function.name or ""
        current.arguments += piece.function.arguments or ""
