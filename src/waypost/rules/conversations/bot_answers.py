"""Checks of a bot's answer, and its conversion to messages for the outbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from waypost.model.turn import Handover, TurnMessage
from waypost.rules.content.content import LONGEST_TEXT
from waypost.rules.content.payload import check

MOST_REPLIES: Final = 10
"""Replies in one turn, after long texts are split."""
LONGEST_REASON: Final = 500
_SENTENCE_END: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)\]]*\s")
_SPACE: Final = re.compile(r"\s")


class Replies(msgspec.Struct, frozen=True):
    payloads: tuple[dict[str, Any], ...]
    """Cloud API messages, in order; at least one."""


class HandoverRequested(msgspec.Struct, frozen=True):
    reason: str


class Silence(msgspec.Struct, frozen=True):
    """The bot does not reply, and no agent needs to."""


class InvalidAnswer(msgspec.Struct, frozen=True):
    """An invalid answer; no part of it is sent."""

    reason: str


Understood: TypeAlias = Replies | HandoverRequested | Silence | InvalidAnswer


def parse_answer(answer: object) -> Understood:
    """Parse a bot's answer; a bot is user code, so it may return anything."""
    match answer:
        case None:
            return Silence()
        case Handover(reason):
            return HandoverRequested(storable(str(reason)))
        case str() | dict():
            return _replies([answer])
        case list() | tuple():
            return _replies(answer)
        case _:
            return InvalidAnswer(
                f"a bot returns a text, a message, a list of these, Handover or None, not {_name(answer)}"
            )


def storable(reason: str) -> str:
    """The reason, shortened, without characters that databases cannot store."""
    return reason[:LONGEST_REASON].encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def message_text(line: TurnMessage) -> str:
    """The text of a message, or else its type in brackets."""
    return line.text or f"[{line.type}]"


def _replies(answers: Sequence[object]) -> Replies | Silence | InvalidAnswer:
    payloads: list[dict[str, Any]] = []
    for number, answer in enumerate(answers, 1):
        for candidate in _candidates(answer):
            payload = _checked(candidate)
            if isinstance(payload, str):
                return InvalidAnswer(f"reply {number}: {payload}")
            if len(payloads) == MOST_REPLIES:
                return InvalidAnswer(f"more than {MOST_REPLIES} replies in one turn")
            payloads.append(payload)
    return Replies(tuple(payloads)) if payloads else Silence()


def _candidates(answer: Any) -> Iterator[object]:
    """Lazy, so that a huge text is not split to its end."""
    match answer:
        case None:
            return
        case str() as text:
            yield from _texts(text, {}, {})
        case {"type": "text", "text": {"body": str() as text, **content}, **beside}:
            yield from _texts(text, content, beside)
        case {"text": str() as text, **beside} if "type" not in beside:
            yield from _texts(text, {}, beside)
        case _:
            yield answer


def _texts(text: str, content: dict[Any, Any], beside: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    for part in parts(text):
        yield {"type": "text", "text": {"body": part, **content}, **beside}
        beside = {name: value for name, value in beside.items() if name != "context"}  # one quote is enough


def parts(text: str) -> Iterator[str]:
    """A text split into messages of allowed length, at natural breaks; nothing for a blank text."""
    if len(text) <= LONGEST_TEXT:
        yield from [text] if text.strip() else []
        return
    left = text.strip()
    while len(left) > LONGEST_TEXT:
        cut = _pause(left[: LONGEST_TEXT + 1])
        yield left[:cut].rstrip()
        left = left[cut:].lstrip()
    yield from [left] if left else []


def _pause(window: str) -> int:
    """Where to split: after a paragraph or sentence past the middle, else at a space, else anywhere."""
    half = len(window) // 2
    for mark in ("\n\n", "\n"):
        at = window.rfind(mark, half)
        if at > 0:
            return at
    for pattern in (_SENTENCE_END, _SPACE):
        ends = [found.end() for found in pattern.finditer(window, half)]
        if ends:
            return ends[-1] - 1  # before the space
    return LONGEST_TEXT


def _checked(payload: object) -> dict[str, Any] | str:
    """The message as it can be queued, or the error."""
    if not isinstance(payload, dict):
        return f"must be a text or a message, not {_name(payload)}"
    try:
        found = check(payload, None)
    except (TypeError, ValueError, RecursionError):  # values that JSON cannot represent
        return "has a value that JSON cannot represent"
    if found is None:
        return payload
    where = found.field.removeprefix("payloadJson").removeprefix(".")
    return f"{where} {found.reason}".strip()


def _name(value: object) -> str:
    return type(value).__name__
