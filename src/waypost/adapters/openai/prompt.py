"""A turn as the messages of a chat completion: as much history as fits, then all messages of the turn."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

from waypost.model.turn import Turn, TurnMessage
from waypost.rules.conversations.bot_answers import message_text

MediaLoader: TypeAlias = Callable[[str, str], Awaitable[bytes | None]]
"""From an org and a media id to the file; None if it is not stored (yet, or any more)."""
PromptPart: TypeAlias = str | dict[str, Any]
PromptMessage: TypeAlias = dict[str, Any]

IMAGE_TOKENS = 1000
"""An estimate; the real cost depends on the model."""
LARGEST_IMAGE = 10 * 1024 * 1024
"""Bytes; twice WhatsApp's own limit."""
MOST_IMAGES = 5
"""The newest images of a prompt: servers limit requests, and all of it is in memory at once."""
_BYTES_PER_TOKEN = 4
_ROLE_TOKENS = 4
_PICTURES = ("image", "sticker")
_WITH_CAPTION = ("image", "video", "document", "audio")
_KINDS = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF8", "image/gif"))


class PromptLimits(msgspec.Struct, frozen=True, kw_only=True):
    system: str
    history_tokens: int
    media: MediaLoader | None = None


async def messages(turn: Turn, window: PromptLimits) -> list[PromptMessage]:
    """Adjacent messages of one role are merged, because some models require alternating roles."""
    history = fitting(turn.history, window.history_tokens, with_images=window.media is not None)
    lines = [*history, *turn.messages]
    shown = [index for index, line in enumerate(lines) if _shows(line)][-MOST_IMAGES:]
    media = partial(window.media, turn.org_id) if window.media is not None else None
    spoken = [(_role(line), await _parts(line, media if n in shown else None)) for n, line in enumerate(lines)]
    if history and _role(history[-1]) == "user":
        spoken.insert(len(history), ("user", [""]))  # separates unanswered history from the messages to answer now
    system = [{"role": "system", "content": window.system}] if window.system else []
    return system + list(_grouped(spoken))


def fitting(history: Sequence[TurnMessage], tokens: int, *, with_images: bool) -> Sequence[TurnMessage]:
    """The newest messages that fit into `tokens`."""
    left = tokens
    for index in range(len(history) - 1, -1, -1):
        left -= _cost(history[index], with_images=with_images)
        if left < 0:
            return history[index + 1 :]
    return history


def estimate(text: str) -> int:
    """Four bytes per token: right for English, close enough for other languages.

    Real tokenizers are megabytes and differ by model, and nothing here needs to be exact.
    """
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def _cost(line: TurnMessage, *, with_images: bool) -> int:
    return _ROLE_TOKENS + estimate(message_text(line)) + (IMAGE_TOKENS if with_images and _shows(line) else 0)


def _shows(line: TurnMessage) -> bool:
    """Models accept images only from the user role."""
    return line.type in _PICTURES and line.media_id is not None and _role(line) == "user"


def _role(line: TurnMessage) -> str:
    """An agent's messages have the model's own role."""
    return "user" if line.sender == "contact" else "assistant"


async def _parts(line: TurnMessage, media: Callable[[str], Awaitable[bytes | None]] | None) -> list[PromptPart]:
    if media is not None:
        image = _image(await media(str(line.media_id)))
        if image is not None:
            return [image, line.text] if line.text else [image]
    if line.text and line.type in _WITH_CAPTION:
        return [f"[{line.type}] {line.text}"]
    return [message_text(line)]


def _image(file: bytes | None) -> PromptPart | None:
    """Detect the type from the content, not from the declared type."""
    if not file or len(file) > LARGEST_IMAGE:
        return None
    webp = file[:4] == b"RIFF" and file[8:12] == b"WEBP"
    kind = "image/webp" if webp else next((kind for start, kind in _KINDS if file.startswith(start)), None)
    if kind is None:
        return None
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{base64.b64encode(file).decode()}"}}


def _grouped(spoken: Sequence[tuple[str, list[PromptPart]]]) -> Iterator[PromptMessage]:
    for role, group in groupby(spoken, key=lambda each: each[0]):
        yield {"role": role, "content": _content([part for _, parts in group for part in parts])}


def _content(parts: list[PromptPart]) -> str | list[dict[str, Any]]:
    """Plain text if there is no image, which every server understands."""
    pieces: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, dict):
            pieces.append(part)
        elif pieces and pieces[-1]["type"] == "text":
            pieces[-1]["text"] += f"\n{part}"
        else:
            pieces.append({"type": "text", "text": part})
    if [piece["type"] for piece in pieces] == ["text"]:
        return str(pieces[0]["text"])
    return pieces
