"""What a bot returned, as messages that can be queued; or what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from waypost.model.turn import Handover, Line
from waypost.rules.content import LONGEST_TEXT
from waypost.rules.payload import check

MOST_REPLIES: Final = 10
"""Of one turn, after long texts were split: more is a bot that has lost its way."""
LONGEST_REASON: Final = 500
_SENTENCE_END: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)\]]*\s")
_SPACE: Final = re.compile(r"\s")


class Replies(msgspec.Struct, frozen=True):
    payloads: tuple[dict[str, Any], ...]
    """Cloud API messages, in their order; at least one."""


class HandOver(msgspec.Struct, frozen=True):
    reason: str


class Silence(msgspec.Struct, frozen=True):
    """The bot has nothing to say, and nobody else has to."""


class Invalid(msgspec.Struct, frozen=True):
    """The bot's mistake: nothing of its answer is sent."""

    reason: str


Understood: TypeAlias = Replies | HandOver | Silence | Invalid


def understood(answer: object) -> Understood:
    """Whatever a bot returned: it is somebody's own code, so it may be anything."""
    match answer:
        case None:
            return Silence()
        case Handover(reason):
            return HandOver(storable(str(reason)))
        case str() | dict():
            return _replies([answer])
        case list() | tuple():
            return _replies(answer)
        case _:
            return Invalid(f"a bot returns a text, a message, a list of these, Handover or None, not {_name(answer)}")


def storable(reason: str) -> str:
    """Words for a person, which every database can hold."""
    return reason[:LONGEST_REASON].encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def said(line: Line) -> str:
    """A message in words: its own, or else what it is."""
    return line.text or f"[{line.type}]"


def _replies(answers: Sequence[object]) -> Replies | Silence | Invalid:
    payloads: list[dict[str, Any]] = []
    for number, answer in enumerate(answers, 1):
        for candidate in _candidates(answer):
            payload = _checked(candidate)
            if isinstance(payload, str):
                return Invalid(f"reply {number}: {payload}")
            if len(payloads) == MOST_REPLIES:
                return Invalid(f"more than {MOST_REPLIES} replies in one turn")
            payloads.append(payload)
    return Replies(tuple(payloads)) if payloads else Silence()


def _candidates(answer: Any) -> Iterator[object]:
    """One after the other, so that an endless text is not split to its end."""
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
    """A text as texts that are short enough, cut where a reader would pause; nothing for one without words."""
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
    """Where to cut: after a paragraph or a sentence that is not too short, else at a space, else anywhere."""
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
    """The message as it can be queued, or what is wrong with it."""
    if not isinstance(payload, dict):
        return f"must be a text or a message, not {_name(payload)}"
    try:
        found = check(payload, None)
    except (TypeError, ValueError, RecursionError):  # what Python can hold and JSON cannot
        return "holds something that JSON cannot say"
    if found is None:
        return payload
    where = found.field.removeprefix("payloadJson").removeprefix(".")
    return f"{where} {found.reason}".strip()


def _name(value: object) -> str:
    return type(value).__name__
