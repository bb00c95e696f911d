"""Checks of the names and texts of quick replies."""

from __future__ import annotations

import unicodedata
from typing import Final

from waypost.rules.text.json_validation import InvalidField

MOST: Final = 200
"""Quick replies of one org."""
LONGEST_NAME: Final = 40
LONGEST_TEXT: Final = 4000
_JOINERS: Final = "\u200c\u200d"
"""Some scripts and emoji cannot be written without them."""
_INVISIBLE: Final = ("Cc", "Cf", "Cs")
_FOLDERS: Final = (".", "..")


def folded(name: str) -> str:
    """The unique form of a name: without case, and with accents composed."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def check(name: str, text: str) -> InvalidField | None:
    wrong = check_name(name)
    return wrong or _check_text(text)


def check_name(name: str) -> InvalidField | None:
    reason = _wrong_length(name, LONGEST_NAME) or _wrong_characters(name)
    return None if reason is None else InvalidField("name", reason)


def _check_text(text: str) -> InvalidField | None:
    reason = _wrong_length(text, LONGEST_TEXT)
    if reason is None and not text.strip():
        reason = "has only white space: write the text of the reply"
    if reason is None and "\0" in text:
        reason = "has the character NUL, which cannot be stored: remove it"
    return None if reason is None else InvalidField("text", reason)


def _wrong_length(words: str, longest: int) -> str | None:
    if not words:
        return f"is empty: write 1 to {longest} characters"
    return f"has {len(words)} characters: write at most {longest}" if len(words) > longest else None


def _wrong_characters(name: str) -> str | None:
    if any(character.isspace() for character in name):
        return "has white space: join its words with a dash, as in order-status"
    if "/" in name:
        return "has a slash: leave it out, the slash that users type before a name is not part of it"
    if any(unicodedata.category(character) in _INVISIBLE and character not in _JOINERS for character in name):
        return "has an invisible character: use letters, digits and signs"
    if name in _FOLDERS:
        return "must not be . or .., which mean a folder in a URL"
    return None
