"""Words as they are searched: what is written and what is asked are folded alike, so nothing typed is ever syntax."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import msgspec

LONGEST_WORD = 64
"""Characters that count of a word."""
MOST_WORDS = 3_000
"""Different ones of one entry that can be found."""
MOST_ASKED = 16
SNIPPET = 160
_BEFORE = 40
"""Characters of a snippet before the first word that was found."""
_SILENT = {"Mn", "Me", "Cf"}
"""Accents, and what joins or hides: parts of a word that are not searched."""
_ALPHABETIC = {"Ll", "Lu", "Nd"}


class _Folding(dict[int, str]):
    """Each character as it is searched; found out once."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _folded(chr(code))
        return folded


def _folded(character: str) -> str:
    """Letters and digits without case, accent or width; what stands between words is a space."""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    kept = "".join(part for part in parts if part.isalnum() or unicodedata.category(part) == "Mc")
    return kept or ("" if unicodedata.category(character) in _SILENT else " ")


_FOLDING = _Folding()


class Asked(msgspec.Struct, frozen=True):
    """All of these words, and one that begins with the last."""

    words: tuple[str, ...]
    begins: str

    @property
    def whole(self) -> bool:
        """A single letter or digit begins too many words to be looked for as a beginning; a character of a script
        without capitals, such as Chinese, often is half a word."""
        return len(self.begins) == 1 and unicodedata.category(self.begins) in _ALPHABETIC

    def meets(self, word: str) -> bool:
        """Whether this word is what the last one asks for."""
        return word == self.begins if self.whole else word.startswith(self.begins)


class Snippet(msgspec.Struct, frozen=True):
    """A part of what was said; `marks` are where words that were found begin and end in it, in characters."""

    text: str
    marks: tuple[tuple[int, int], ...]


def words(text: str) -> list[str]:
    """In their order, each as often as it stands there."""
    return [word[:LONGEST_WORD] for word in text.translate(_FOLDING).split()]


def searchable(text: str) -> list[str]:
    """The different words of a text."""
    return sorted(dict.fromkeys(words(text)))[:MOST_WORDS]


def asked(query: str) -> Asked | None:
    """What somebody typed, whatever it is; None when there is no word in it."""
    found = words(query)[:MOST_ASKED]
    return Asked(tuple(sorted(set(found[:-1]))), found[-1]) if found else None


def snippet(text: str, wanted: Asked) -> Snippet | None:
    """Around the first word that was found; None when the text does not say what was asked."""
    spans = _spans(text)
    if not _says(wanted, [word for _, _, word in spans]):
        return None
    hits = [(start, end) for start, end, word in spans if word in wanted.words or wanted.meets(word)]
    begin = _word_start(spans, max(0, hits[0][0] - _BEFORE))
    end = begin + SNIPPET
    inside = [(start - begin, min(stop, end) - begin) for start, stop in hits if start < end]
    return Snippet(text[begin:end], tuple(inside))


def _says(wanted: Asked, said: Sequence[str]) -> bool:
    return set(wanted.words) <= set(said) and any(map(wanted.meets, said))


def _spans(text: str) -> list[tuple[int, int, str]]:
    """Every word with where it begins and ends in the text."""
    found: list[tuple[int, int, str]] = []
    start, word = 0, ""
    for at, character in enumerate(text + " "):
        folded = _FOLDING[ord(character)]
        if folded == " ":
            if word:
                found.append((start, at, word[:LONGEST_WORD]))
            word = ""
        else:
            start = start if word else at
            word += folded
    return found


def _word_start(spans: Sequence[tuple[int, int, str]], earliest: int) -> int:
    """Where a word begins, so that a snippet does not begin in the middle of one."""
    return 0 if earliest == 0 else next(start for start, _, _ in spans if start >= earliest)
