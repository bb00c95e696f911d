"""The page on error codes says what the rules do with each action, and lists every code of our own."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from waypost.model.gate import GateKind
from waypost.model.message import Status
from waypost.model.outcome import ProviderRejected
from waypost.rules.limits.error_catalogue import SCOPES, ErrorAction, ErrorCatalogue, ErrorCode, ErrorScope
from waypost.rules.operations.remedy import BUDGET_REACHED
from waypost.rules.receiving.account_updates import HELD_BY
from waypost.rules.sending.delivery import StandBack, settle
from waypost.rules.sending.retry import Backoff, judge
from waypost.runtime.wiring.wiring import catalogues
from waypost_testing.contracts.examples import T0, a_claim

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "waypost"
PAGE = (ROOT / "docs" / "reference" / "error-codes.md").read_text()
EMITTING = ("rules/sending", "rules/limits", "flow/sending", "flow/accounts", "adapters/sql/kernel", "adapters/smtp")
CODE = "424242"


def rows(title: str) -> list[list[str]]:
    """The cells of the table rows of one section, without its head."""
    (section,) = re.findall(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def after_a_refusal(action: ErrorAction, scope: ErrorScope | None) -> tuple[str, str, str]:
    """What becomes of a message whose first attempt met such a code: status, whether it counted, the gate it closed."""
    known = ErrorCode(code=CODE, title="", action=action, meaning="", scope=scope)
    message = replace(a_claim(), template="hello")
    refusal = ProviderRejected(code=CODE, message="", details=None, trace=None, retry_after=None, response="")
    verdict = judge(refusal, message, "waba", ErrorCatalogue("", {CODE: known}, ()), Backoff(), T0, 0.5)
    after = settle(message.delivery, message.fence, verdict, T0)
    gate = verdict.closing.kind.value if isinstance(verdict, StandBack) else "no"
    return after.status.value, "yes" if after.tries else "no", gate


def test_every_action_is_explained() -> None:
    assert [row[0] for row in rows("Actions")[1:]] == [f"`{action.value}`" for action in ErrorAction]


@pytest.mark.parametrize("row", rows("Actions")[1:], ids=lambda row: row[0])
def test_an_action_does_what_the_page_says(row: list[str]) -> None:
    action = ErrorAction(row[0].strip("`"))
    scopes = sorted(SCOPES[action], key=str)
    assert {tuple(row[2:5])} == {after_a_refusal(action, scope) for scope in scopes}
    assert re.findall(r"`(\w+)`", row[5]) == [scope.value for scope in scopes if scope is not None]


def test_the_rows_of_each_catalogue_are_counted() -> None:
    shown = {re.findall(r"\[`(\w+)`\]", row[0])[0]: row[1:6] for row in rows("The catalogues") if row[0][0] == "["}
    assert shown == {
        name: [str(len(known.rows())), *(str(counted[action]) for action in ErrorAction)]
        for name, known in catalogues().items()
        if (counted := Counter(row.action for row in known.rows()))
    }


def emitted() -> Iterator[str]:
    """Texts like NUMBER_DISABLED in the modules that end attempts and close gates."""
    for folder in EMITTING:
        for file in (SOURCE / folder).glob("*.py"):
            tree = ast.parse(file.read_text())
            choices = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and "Enum" in bases(node)]
            skipped = {id(inner) for choice in choices for inner in ast.walk(choice)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and id(node) not in skipped and is_code(node.value):
                    yield str(node.value)


def bases(node: ast.ClassDef) -> str:
    return " ".join(ast.unparse(base) for base in node.bases)


def is_code(value: object) -> bool:
    return isinstance(value, str) and len(value) > 5 and re.fullmatch(r"[A-Z]+(_[A-Z]+)*", value) is not None


def test_every_code_of_our_own_is_listed_and_no_other() -> None:
    listed = [row[0].strip("`") for row in rows("Codes of our own") if row[0] not in ("`errorCode`", "`code`")]
    assert len(listed) == len(set(listed))
    assert set(listed) == {*emitted(), *HELD_BY, BUDGET_REACHED}


def test_the_kinds_of_gates_and_the_states_are_real() -> None:
    known = {status.value for status in Status} | {kind.value for kind in GateKind}
    named = {word for row in rows("Codes of our own") if is_code(row[0].strip("`")) for word in row[1].split(" or ")}
    assert named <= known
