"""What a quick reply may be called and say."""

from __future__ import annotations

import unicodedata
from typing import Final

from waypost.rules.shape import Invalid

MOST: Final = 200
"""Of one org: more is no longer quick."""
LONGEST_NAME: Final = 40
LONGEST_TEXT: Final = 4000
_JOINERS: Final = "\u200c\u200d"
"""Some scripts and emoji cannot be written without them."""
_INVISIBLE: Final = ("Cc", "Cf", "Cs")
_FOLDERS: Final = (".", "..")


def folded(name: str) -> str:
    """Under which there is one of each: the same for capitals and small letters, and however accents are composed."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def check(name: str, text: str) -> Invalid | None:
    wrong = check_name(name)
    return wrong or _check_text(text)


def check_name(name: str) -> Invalid | None:
    reason = _wrong_length(name, LONGEST_NAME) or _wrong_characters(name)
    return None if reason is None else Invalid("name", reason)


def _check_text(text: str) -> Invalid | None:
    reason = _wrong_length(text, LONGEST_TEXT)
    if reason is None and not text.strip():
        reason = "has nothing but white space: write what is to be said"
    if reason is None and "\0" in text:
        reason = "has the character NUL, which cannot be stored: take it out"
    return None if reason is None else Invalid("text", reason)


def _wrong_length(words: str, longest: int) -> str | None:
    if not words:
        return f"is empty: write 1 to {longest} characters"
    return f"has {len(words)} characters: write at most {longest}" if len(words) > longest else None


def _wrong_characters(name: str) -> str | None:
    if any(letter.isspace() for letter in name):
        return "has white space: join its words with a dash, as in order-status"
    if "/" in name:
        return "has a slash: leave it out, the one that is typed before it is no part of it"
    if any(unicodedata.category(letter) in _INVISIBLE and letter not in _JOINERS for letter in name):
        return "has a character that nobody sees: write it with letters, digits and signs"
    if name in _FOLDERS:
        return "must not be a dot or two: they mean a folder in an address"
    return None
