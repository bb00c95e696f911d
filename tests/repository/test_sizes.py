"""Functions have at most 30 lines and files at most 400, or a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
MOST_LINES_OF_A_FUNCTION, MOST_LINES_OF_A_FILE = 30, 400
LONG_FUNCTIONS = {
    "waypost/adapters/sql/sending/claims.py::_claimed": "one line per field of a claimed message",
    "waypost/flow/conversations/post.py::_post": "one line per parameter and per field of a post",
    "waypost/http/sending/views.py::message_view": "one line per field of the API's message",
    "waypost/runtime/cli/admin/app.py::connect_whatsapp": "one parameter per option of the command",
    "waypost/runtime/cli/app.py::serve": "one parameter per option of the command, with its help",
    "waypost/runtime/process/serve.py::serve": "the life of one process, in order",
    "waypost/runtime/settings/definitions.py::tuning": "one line per setting that the steps use",
    "waypost/runtime/wiring/wiring.py::build_world": "the composition root: one line per port",
    "waypost/sandbox/app.py::__init__": "the composition root of the sandbox",
}
LONG_FILES = {
    "waypost_testing/contracts/live/notifications.py": "the contract of one port, as three classes",
}


def files() -> Iterator[tuple[str, str]]:
    for file in sorted(SOURCE.rglob("*.py")):
        yield str(file.relative_to(SOURCE)), file.read_text()


def long_functions(text: str) -> list[str]:
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MOST_LINES_OF_A_FUNCTION
    ]


def test_functions_are_short() -> None:
    assert {f"{file}::{name}" for file, text in files() for name in long_functions(text)} == LONG_FUNCTIONS.keys()


def test_files_are_short() -> None:
    assert {file for file, text in files() if len(text.splitlines()) > MOST_LINES_OF_A_FILE} == LONG_FILES.keys()


def test_a_function_may_have_thirty_lines() -> None:
    body = "    pass\n" * (MOST_LINES_OF_A_FUNCTION - 1)
    assert long_functions(f"def f():\n{body}") == []
    assert long_functions(f"def f():\n{body}    pass\n") == ["f"]
    assert long_functions(
        f"class C:\n    async def f(self):\n    {body}    pass\n".replace("\n    pass", "\n        pass")
    ) == ["f"]
