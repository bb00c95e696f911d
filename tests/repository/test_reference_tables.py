"""The tables of the reference say what the code says: calls, error codes, metrics, faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from litestar import Litestar

from waypost.http.app import api
from waypost.http.edge.webhook_endpoint import PATH
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.runtime.wiring.wiring import catalogues
from waypost.sandbox import Fault

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "waypost"


def page(name: str) -> str:
    return (ROOT / "docs" / "reference" / f"{name}.md").read_text()


def rows(text: str) -> list[list[str]]:
    """The cells of every table row."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:2] == "| "]


def section(text: str, title: str) -> str:
    (_, found) = re.split(rf"^## {title}.*$", text, maxsplit=1, flags=re.MULTILINE)
    return re.split(r"^## ", found, maxsplit=1, flags=re.MULTILINE)[0]


def test_every_call_of_the_api_is_in_its_table_and_no_other() -> None:
    told = {cell for row in rows(page("http-api")) for cell in re.findall(r"^`([A-Z]+ /[^`?]*)[?`]", row[0])}
    schema = cast(Litestar, api()).openapi_schema.to_schema()
    routes = {f"{verb.upper()} {path}" for path, verbs in schema["paths"].items() for verb in verbs}
    assert told == routes | {f"GET {PATH}", f"POST {PATH}"}


def raised() -> Iterator[str]:
    for file in [*(SOURCE / "http").rglob("*.py"), SOURCE / "flow" / "sending" / "submit.py"]:
        text = file.read_text()
        yield from re.findall(r'Problem\(\s*\d+,\s*"(\w+)"', text)
        yield from re.findall(r'Refusal\(\s*"(\w+)"', text)
        yield from re.findall(r'_changed\(\w+, \w+, "(\w+)"', text)


def test_every_error_code_of_the_api_is_in_its_table() -> None:
    told = {code for row in rows(section(page("http-api"), "Errors")) for code in re.findall(r"`(\w+)`", row[1])}
    assert set(raised()) <= told
    assert {"busy", "unavailable", "invalid_json"} <= told


def test_every_metric_is_in_its_table_and_no_other() -> None:
    told = {cell.strip("`") for cell in (row[0] for row in rows(page("metrics"))) if cell.startswith("`")}
    assert told == set(counted())


def counted() -> Iterator[str]:
    """Names as Prometheus shows them, with their labels."""
    for metric in {metric for metric in vars(Telemetry()).values() if hasattr(metric, "describe")}:
        (family,) = metric.describe()
        labels = "{" + ",".join(metric._labelnames) + "}" if metric._labelnames else ""
        yield (f"{family.name}_total" if family.type == "counter" else family.name) + labels


def test_every_fault_of_the_sandbox_is_in_its_tables_and_no_other() -> None:
    told = {row[0].strip("`") for row in rows(section(page("sandbox"), "Faults")) if row[0].startswith("`")}
    assert told == set(Fault.__struct_fields__)


@pytest.mark.parametrize(
    "row", [row for row in rows(page("error-codes")) if row[0].isdecimal()], ids=lambda row: row[0]
)
def test_the_error_codes_that_are_shown_are_those_of_the_catalogue(row: list[str]) -> None:
    code, title, action = row
    known = catalogues()["meta"].find(code)
    assert known is not None
    assert (known.title, known.action.value) == (title, action)


def test_what_is_said_of_the_other_catalogue_is_so() -> None:
    other = catalogues()["seed"]
    assert len(other.codes) == 47
    assert other.action("131026").value == "retry"
