"""The dashboard and the alerts use metrics and labels that exist, and no metric is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes along without types

from waypost.runtime.telemetry.metrics import METRICS, CounterSpec, HistogramSpec

OPS = Path(__file__).parents[2] / "ops"
_NAME = re.compile(
    r"\b((?:outbound|inbound|status|turns?|invariant|webhook|media|live|ledger|history|waypost)_\w+)(?:\{([^}]*)\})?"
)
_BY = re.compile(r"\bby \(([^)]*)\)")
_GATHERED = re.compile(r"\b(?:sum|max|min|avg|count)(?: by \(([^)]*)\))? ?\(")
_TOLD = re.compile(r"\$labels\.(\w+)")


def shown_names() -> dict[str, tuple[str, ...]]:
    """As Prometheus shows them, with their labels."""
    found: dict[str, tuple[str, ...]] = {}
    for metric in METRICS.values():
        if isinstance(metric, CounterSpec):
            found[f"{metric.name}_total"] = metric.labels
        elif isinstance(metric, HistogramSpec):
            found |= {f"{metric.name}_{part}": metric.labels for part in ("sum", "count")}
            found[f"{metric.name}_bucket"] = (*metric.labels, "le")
        else:
            found[metric.name] = metric.labels
    return found


def board() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((OPS / "grafana-dashboard.json").read_text())
    return loaded


def alerts() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((OPS / "prometheus-alerts.yml").read_text())
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def asked() -> list[str]:
    shown = [target["expr"] for panel in board()["panels"] for target in panel["targets"]]
    return shown + [rule["expr"] for rule in alerts()]


def problems(expression: str) -> list[str]:
    names, found = shown_names(), []
    has: set[str] = set()
    for name, selected in _NAME.findall(expression):
        if name not in names:
            found.append(f"there is no metric {name}")
            continue
        has |= set(names[name])
        found += [
            f"{name} has no label {label}" for label in re.findall(r"(\w+)!?[=~]", selected) if label not in names[name]
        ]
    for group in _BY.findall(expression):
        found += [f"nothing has a label {label}" for label in group.replace(" ", "").split(",") if label not in has]
    return found


@pytest.mark.parametrize("expression", asked())
def test_every_expression_asks_for_what_exists(expression: str) -> None:
    assert _NAME.search(expression)
    assert problems(expression) == []
    assert expression.count("(") == expression.count(")")


@pytest.mark.parametrize(
    "expression",
    ["outbound_message_sent_total", 'outbound_gates_closed{colour="red"}', "sum by (org) (outbound_gates_closed)"],
)
def test_the_check_bites(expression: str) -> None:
    assert problems(expression)


def test_no_metric_is_missing_on_the_board() -> None:
    seen = " ".join(target["expr"] for panel in board()["panels"] for target in panel["targets"])
    assert [metric.name for metric in METRICS.values() if metric.name not in seen] == []


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in alerts():
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names))


def left(expression: str) -> set[str]:
    """The labels of its result: of all its metrics, or those that each `by` keeps."""
    if gathered := [set(re.findall(r"\w+", by)) for by in _GATHERED.findall(expression)]:
        return set.intersection(*gathered)
    return {label for name, _ in _NAME.findall(expression) for label in shown_names()[name]}


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_tells_no_label_that_its_expression_drops(rule: dict[str, Any]) -> None:
    assert set(_TOLD.findall(" ".join(rule["annotations"].values()))) <= left(rule["expr"])


def test_no_line_of_the_board_is_named_by_a_label_that_its_expression_drops() -> None:
    for target in (target for panel in board()["panels"] for target in panel["targets"]):
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= left(target["expr"]), target["expr"]


@pytest.mark.parametrize(
    ("expression", "labels"),
    [
        ("max(outbound_queue_age_seconds) > 300", set()),
        ("max by (org) (outbound_queue_age_seconds) > 300", {"org"}),
        ("max by (org, reason) (outbound_queue_age_seconds) / max by (org) (outbound_quota_limit > 0)", {"org"}),
        ("sum by (field) (increase(webhook_alert_total[1h])) / sum(turn_total)", set()),
        ("outbound_queue_age_seconds > 300", {"org", "reason"}),
    ],
)
def test_what_an_expression_leaves_is_known(expression: str, labels: set[str]) -> None:
    assert left(expression) == labels


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells
        taken |= cells
    ids = [panel["id"] for panel in board()["panels"]]
    assert len(ids) == len(set(ids))
