"""Words for search: texts and queries are folded alike, so a query has no syntax."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import msgspec

LONGEST_WORD = 64
"""Characters of a word that are indexed."""
MOST_WORDS = 3_000
"""Distinct words of one entry that are indexed."""
MOST_ASKED = 16
SNIPPET = 160
_BEFORE = 40
"""Characters of a snippet before the first match."""
_SILENT = {"Mn", "Me", "Cf"}
"""Accents, joiners and invisible marks: ignored in words."""
_ALPHABETIC = {"Ll", "Lu", "Nd"}


class _Folding(dict[int, str]):
    """The folded form of each character, cached."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _folded(chr(code))
        return folded


def _folded(character: str) -> str:
    """Letters and digits without case, accent or width; a separator becomes a space."""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    kept = "".join(part for part in parts if part.isalnum() or unicodedata.category(part) == "Mc")
    return kept or ("" if unicodedata.category(character) in _SILENT else " ")


_FOLDING = _Folding()


class SearchTerms(msgspec.Struct, frozen=True):
    """All of `words`, and a word that starts with `begins`."""

    words: tuple[str, ...]
    begins: str

    @property
    def whole(self) -> bool:
        """Whether `begins` must match a whole word: as a prefix, a single letter or digit matches too much. In a script
        without case, such as Chinese, one character is often half a word."""
        return len(self.begins) == 1 and unicodedata.category(self.begins) in _ALPHABETIC

    def meets(self, word: str) -> bool:
        """Whether this word matches `begins`."""
        return word == self.begins if self.whole else word.startswith(self.begins)


class Snippet(msgspec.Struct, frozen=True):
    """A part of a message; `marks` are the start and end of each match in it, in characters."""

    text: str
    marks: tuple[tuple[int, int], ...]


def words(text: str) -> list[str]:
    """The folded words of a text, in order, with repetitions."""
    return [word[:LONGEST_WORD] for word in text.translate(_FOLDING).split()]


def searchable(text: str) -> list[str]:
    """The distinct words of a text."""
    return sorted(dict.fromkeys(words(text)))[:MOST_WORDS]


def asked(query: str) -> SearchTerms | None:
    """The terms of a query; None if it has no word."""
    found = words(query)[:MOST_ASKED]
    return SearchTerms(tuple(sorted(set(found[:-1]))), found[-1]) if found else None


def snippet(text: str, wanted: SearchTerms) -> Snippet | None:
    """The part around the first match; None if the text does not match."""
    spans = _spans(text)
    if not _says(wanted, [word for _, _, word in spans]):
        return None
    hits = [(start, end) for start, end, word in spans if word in wanted.words or wanted.meets(word)]
    begin = _word_start(spans, max(0, hits[0][0] - _BEFORE))
    end = begin + SNIPPET
    inside = [(start - begin, min(stop, end) - begin) for start, stop in hits if start < end]
    return Snippet(text[begin:end], tuple(inside))


def _says(wanted: SearchTerms, present: Sequence[str]) -> bool:
    return set(wanted.words) <= set(present) and any(map(wanted.meets, present))


def _spans(text: str) -> list[tuple[int, int, str]]:
    """Every word with its start and end in the text."""
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
    """The start of the next word, so that a snippet does not begin inside one."""
    return 0 if earliest == 0 else next(start for start, _, _ in spans if start >= earliest)
