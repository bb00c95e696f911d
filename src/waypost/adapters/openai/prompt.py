"""A turn as the messages of a chat completion: what fits of the history, then the whole burst."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

from waypost.model.turn import Line, Turn
from waypost.rules.answers import said

Media: TypeAlias = Callable[[str, str], Awaitable[bytes | None]]
"""From an org and one of its media ids to the file; None if it is not there (yet, or any more)."""
Part: TypeAlias = str | dict[str, Any]
Message: TypeAlias = dict[str, Any]

IMAGE_TOKENS = 1000
"""What an image is taken to cost; what it really costs differs from model to model."""
LARGEST_IMAGE = 10 * 1024 * 1024
"""Bytes; WhatsApp's own limit is half of it."""
MOST_IMAGES = 5
"""Of one prompt, the newest: servers limit a request, and all of it is in memory at once."""
_BYTES_PER_TOKEN = 4
_ROLE_TOKENS = 4
_PICTURES = ("image", "sticker")
_WITH_CAPTION = ("image", "video", "document", "audio")
_KINDS = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF8", "image/gif"))


class Window(msgspec.Struct, frozen=True, kw_only=True):
    system: str
    history_tokens: int
    media: Media | None = None


async def messages(turn: Turn, window: Window) -> list[Message]:
    """Neighbours of one role are one message: some models insist that roles take turns."""
    told = fitting(turn.history, window.history_tokens, with_images=window.media is not None)
    lines = [*told, *turn.messages]
    shown = [index for index, line in enumerate(lines) if _shows(line)][-MOST_IMAGES:]
    media = partial(window.media, turn.org_id) if window.media is not None else None
    spoken = [(_role(line), await _parts(line, media if n in shown else None)) for n, line in enumerate(lines)]
    if told and _role(told[-1]) == "user":
        spoken.insert(len(told), ("user", [""]))  # what was never answered stands apart from what is to be answered now
    system = [{"role": "system", "content": window.system}] if window.system else []
    return system + list(_grouped(spoken))


def fitting(history: Sequence[Line], tokens: int, *, with_images: bool) -> Sequence[Line]:
    """The newest lines that cost no more than so many tokens together."""
    left = tokens
    for index in range(len(history) - 1, -1, -1):
        left -= _cost(history[index], with_images=with_images)
        if left < 0:
            return history[index + 1 :]
    return history


def estimate(text: str) -> int:
    """Four bytes are a token: right for English, near enough for other languages.

    The models' own tables are megabytes that differ from model to model, and nothing here has to be exact.
    """
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def _cost(line: Line, *, with_images: bool) -> int:
    return _ROLE_TOKENS + estimate(said(line)) + (IMAGE_TOKENS if with_images and _shows(line) else 0)


def _shows(line: Line) -> bool:
    """Models take images of users only."""
    return line.type in _PICTURES and line.media_id is not None and _role(line) == "user"


def _role(line: Line) -> str:
    """To the model, a person of the business speaks as it does itself."""
    return "user" if line.sender == "contact" else "assistant"


async def _parts(line: Line, media: Callable[[str], Awaitable[bytes | None]] | None) -> list[Part]:
    if media is not None:
        image = _image(await media(str(line.media_id)))
        if image is not None:
            return [image, line.text] if line.text else [image]
    if line.text and line.type in _WITH_CAPTION:
        return [f"[{line.type}] {line.text}"]
    return [said(line)]


def _image(file: bytes | None) -> Part | None:
    """By what the file is, not by what anybody called it."""
    if not file or len(file) > LARGEST_IMAGE:
        return None
    webp = file[:4] == b"RIFF" and file[8:12] == b"WEBP"
    kind = "image/webp" if webp else next((kind for start, kind in _KINDS if file.startswith(start)), None)
    if kind is None:
        return None
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{base64.b64encode(file).decode()}"}}


def _grouped(spoken: Sequence[tuple[str, list[Part]]]) -> Iterator[Message]:
    for role, group in groupby(spoken, key=lambda each: each[0]):
        yield {"role": role, "content": _content([part for _, parts in group for part in parts])}


def _content(parts: list[Part]) -> str | list[dict[str, Any]]:
    """A plain text where there is no image: every server understands that one."""
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
