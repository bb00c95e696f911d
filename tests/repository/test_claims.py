"""What the pages claim about the code is compared with the code, claim by claim."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from waypost import flow
from waypost.adapters.sql.kernel import kernel
from waypost.adapters.sql.kernel.commit_queues import FastPaths
from waypost.flow.sending.submit import OUR_KEYS
from waypost.model.conversation import CONTACT, ConversationId, Entry, Position
from waypost.model.time import Instant
from waypost.rules.conversations import bot_context

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ORDERED = (DOCS / "decisions/0001-one-kernel-for-both-databases.md", DOCS / "explanation/how-a-message-travels.md")
LOCKS = {
    "dispatch group": "outlet_ensure",
    "queue": "queue_lock",
    "message key": "message_insert",
    "wamid": "wamid_bind",
    "delivery": "delivery_lock",
    "permit": "permit_lock",
    "gate": "gate_lock",
    "recipient state": "pair_lock",
}
"""The statements that lock, of the tables that kernel.py locks itself."""


def lock_order(page: Path) -> list[str]:
    (block,) = re.findall(r"^```lock-order\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [" ".join(name.split()) for name in block.split(",")]


@pytest.mark.parametrize("page", ORDERED, ids=lambda page: page.stem)
def test_the_lock_order_is_the_one_that_the_kernel_states(page: Path) -> None:
    (stated,) = re.findall(r"key by key: (.*?)\.", " ".join((kernel.__doc__ or "").split()))
    assert lock_order(page) == stated.split(", ")


@pytest.mark.parametrize("page", ORDERED, ids=lambda page: page.stem)
def test_the_lock_order_is_the_one_in_which_the_kernel_locks(page: Path) -> None:
    run = [statement for statement in statements_in_order() if statement in LOCKS.values()]
    assert [LOCKS[name] for name in lock_order(page) if name in LOCKS] == list(dict.fromkeys(run))


def statements_in_order() -> list[str]:
    """The texts in the functions that `decide_together` calls, in the order of its calls."""
    tree = ast.parse(Path(kernel.__file__).read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    calls = [node.func for node in ast.walk(functions["decide_together"]) if isinstance(node, ast.Call)]
    named = sorted((call for call in calls if isinstance(call, ast.Name)), key=lambda call: call.lineno)
    inside = [functions[call.id] for call in named if call.id in functions]
    return [
        node.value
        for function in inside
        for node in ast.walk(function)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_every_fast_path_is_named() -> None:
    page = ORDERED[0].read_text()
    assert len(dataclasses.fields(FastPaths)) == 3
    assert "Three frequent cases have a fast path" in page
    assert page.count("/fast_") == 3


def test_the_prefixes_of_our_own_idempotency_keys_are_named() -> None:
    page = (DOCS / "reference/http-api.md").read_text()
    (row,) = re.findall(r"^\| `idempotencyKey` \| (.*) \|$", page, re.MULTILINE)
    assert tuple(re.findall(r"`(\w+:)`", row)) == OUR_KEYS


def test_the_steps_of_a_message_are_modules() -> None:
    page = (DOCS / "explanation/how-a-message-travels.md").read_text()
    (section,) = re.findall(r"^## The steps$(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    steps = re.findall(r"^\*\*(\w+)\.\*\*", section, re.MULTILINE)
    assert len(steps) == 5
    assert set(steps) <= {file.stem for file in Path(flow.__path__[0]).glob("*/*.py")}


def test_a_bot_is_shown_what_the_backend_sent_but_no_notes() -> None:
    earlier = [entry(1, CONTACT, "text"), entry(2, "key:7", "text"), entry(3, "user:1", "note")]
    assert len(bot_context.history(earlier, [], {})) == 2
    page = (DOCS / "reference/policy.md").read_text()
    assert "The bot is shown every message of the conversation, also those that your backend or an agent sent" in page


def entry(position: int, sender: str, kind: str) -> Entry:
    at = Instant(1_760_000_000_000_000 + position)
    where, body = ConversationId(1), '{"type":"text","text":{"body":"hello"}}'
    return Entry(
        conversation_id=where, position=Position(position), id_at=at, at=at, sender=sender, type=kind, body=body
    )


def test_the_pages_that_are_typed_into_a_shell_are_those_of_the_test() -> None:
    source = (ROOT / "tests/acceptance/cli/test_docs.py").read_text()
    (on_postgres,) = re.findall(r'parametrize\("page", \[([^\]]*)\]\)\ndef test_a_reader_can_run_it', source)
    run = {*re.findall(r'"docs/how-to/([\w-]+)\.md"', source), *re.findall(r'"([\w-]+)"', on_postgres)}
    page = (DOCS / "explanation/proof.md").read_text()
    (named,) = re.findall(r"the tutorials and (.*?) is typed into a shell", " ".join(page.split()))
    assert set(re.findall(r"how-to/([\w-]+)\.md", named)) == run


def test_make_check_changes_nothing() -> None:
    recipe = re.findall(r"^check-server:\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    assert all("--fix" not in line for line in recipe)
    assert "ruff format --check" in recipe[0]
    assert (
        "`make check` checks format, lint, import layers and types, and changes nothing"
        in (ROOT / "README.md").read_text()
    )


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    roots = (ROOT, ROOT / "src", ROOT / "src/waypost", page.parent)
    named = re.findall(r"`([\w./-]+/[\w-]+\.(?:py|sql|cql|lua|csv))(?:::[\w.]+)?`", page.read_text())
    assert [path for path in named if not any((root / path).is_file() for root in roots)] == []
