"""One name per class, and no identifier that the glossary has replaced."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
SHARED_CLASS_NAMES = {
    "Conversation": "the public Python client exports its own and imports nothing of the server",
    "Message": "the public Python client exports its own and imports nothing of the server",
}
REPLACED = {
    "arrival": "inbound message",
    "arrivals": "inbound messages",
    "deed": "action",
    "deeds": "actions",
    "dice": "random source",
    "door": "webhook endpoint",
    "doors": "webhook endpoints",
    "heard": "the noun that the value is",
    "lane": "turn state",
    "lanes": "turn states, or turn queue",
    "nobody": "no user, or the noun that the value is",
    "notice": "notification",
    "notices": "notifications",
    "outlet": "dispatch group",
    "outlets": "dispatch groups",
    "said": "the noun that the value is",
    "shelf": "blob store",
    "somebody": "user, contact or agent",
    "talk": "conversation",
    "talks": "conversations",
    "told": "the noun that the value is",
    "whatever": "the noun that the value is",
    "whereabouts": "presence",
    "whoever": "user, contact or agent",
}
"""Each replaced word, and what an identifier says instead."""
FIXED = {("waypost/http/accounts/number_check_view.py", "said"), ("waypost/rules/receiving/number_check.py", "said")}
"""A field of the API keeps its name."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(SOURCE.rglob("*.py")):
        yield str(file.relative_to(SOURCE)), ast.parse(file.read_text())


def identifiers(tree: ast.Module) -> Iterator[str]:
    """Every name that the module gives: variables, parameters, attributes that are set, functions and classes."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.alias(asname=str(name)):
                yield name
            case _:
                pass


def replaced_words(tree: ast.Module) -> Counter[str]:
    names = (name.strip("_").lower() for name in identifiers(tree))
    return Counter(name for name in names if name in REPLACED)


def test_no_public_class_name_is_defined_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(file)
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert twice.keys() == SHARED_CLASS_NAMES.keys(), twice


def test_every_identifier_uses_the_words_of_the_glossary() -> None:
    lines = [
        f"{file}: {word} ({count}) -> {REPLACED[word]}"
        for file, tree in trees()
        for word, count in sorted(replaced_words(tree).items())
        if (file, word) not in FIXED
    ]
    assert not lines, "\n".join(["replaced words are used as identifiers:", *lines])


def helper_names(tree: ast.Module) -> Iterator[str]:
    """Functions and classes; a test's local variables are its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name.strip("_").lower()


def test_every_helper_of_tests_tools_and_benchmarks_uses_the_words_of_the_glossary() -> None:
    lines = [
        f"{file.relative_to(ROOT)}: {name} -> {REPLACED[name]}"
        for folder in ("tests", "tools", "bench")
        for file in sorted((ROOT / folder).rglob("*.py"))
        for name in helper_names(ast.parse(file.read_text()))
        if name in REPLACED
    ]
    assert not lines, "\n".join(["replaced words are used as names of helpers:", *lines])


def test_helpers_are_examined() -> None:
    source = "def _said(told): heard = 1\nclass Door:\n    async def told(self): ...\n"
    assert list(helper_names(ast.parse(source))) == ["said", "door", "told"]


def test_every_kind_of_identifier_is_examined() -> None:
    source = """
import os as talk
def said(told, *heard, deed=1): _outlet = 1
class Shelf:
    notices: int
    def __init__(self): self._whereabouts = 1
async def whoever(): ...
match 1:
    case [*talks]: ...
    case nobody: ...
try: ...
except OSError as somebody: ...
"""
    assert set(replaced_words(ast.parse(source)).values()) == {1}
    assert replaced_words(ast.parse(source)).keys() == {
        *("talk", "said", "told", "heard", "deed", "outlet", "shelf", "notices"),
        *("whereabouts", "whoever", "talks", "nobody", "somebody"),
    }
    assert not replaced_words(ast.parse('row.told, f(told=1), "said", told_at'))
