"""Figures and warnings: the gauges show the latest survey, and a problem is logged often enough, not more."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from waypost.model.gate import DispatchGroup, Gate, GateId, GateKind, GateName
from waypost.model.ids import NumberId, OrgId
from waypost.model.queue_stats import ClosedGates, QueueSurvey, QuotaUse, WaitingFiles, WaitingMessages
from waypost.model.time import Instant, Span, seconds
from waypost.ports.platform.failure import Busy, HistoryNotConfigured, HistoryUnavailable, Rejected, Unavailable
from waypost.rules.limits.queue_survey import waiting_totals, waits_for
from waypost.rules.limits.send_pace import Permit
from waypost.runtime.telemetry.telemetry import Telemetry

NOW = Instant(1_760_000_000_000_000)
ACME, GLOBEX = OrgId("acme"), OrgId("globex")


def shown(telemetry: Telemetry) -> dict[str, float]:
    lines = [line for line in telemetry.text().decode().splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_the_board_shows_the_latest_survey_and_what_is_gone_as_nothing() -> None:
    telemetry = Telemetry()
    waiting = [WaitingMessages(ACME, "quota", 7, Instant(NOW - seconds(30))), WaitingMessages(GLOBEX, "none", 2, NOW)]
    closed = [ClosedGates("hold", "190", 1)]
    media = WaitingFiles(files=4, first_due_at=Instant(NOW - seconds(12)))
    quotas = [QuotaUse(ACME, 9, 10)]
    telemetry.surveyed(QueueSurvey(waiting=waiting, later=3, quotas=quotas, closed=closed, media=media), NOW)
    found = shown(telemetry)
    assert found['outbound_queue_messages{org="acme",reason="quota"}'] == 7
    assert found['outbound_queue_age_seconds{org="acme",reason="quota"}'] == 30
    assert found["outbound_queue_oldest_seconds"] == 30
    assert found["outbound_later_messages"] == 3
    assert found['outbound_quota_used{org="acme"}'] == 9
    assert found['outbound_quota_limit{org="acme"}'] == 10
    assert found['outbound_gates_closed{code="190",kind="hold"}'] == 1
    assert (found["media_waiting"], found["media_oldest_due_seconds"]) == (4, 12)
    telemetry.surveyed(QueueSurvey(waiting=[], later=0, quotas=[], closed=[]), NOW)
    shown_by_surveys = ("outbound_q", "outbound_g", "media_w", "media_o")
    levels = {name: level for name, level in shown(telemetry).items() if name.startswith(shown_by_surveys)}
    assert set(levels.values()) == {0.0}


def test_an_unknown_code_is_counted_each_time_and_logged_once() -> None:
    telemetry = Telemetry()
    with capture_logs() as logs:
        for code in ("999999", "999999", "888888"):
            telemetry.unknown_code(code)
    assert [line["error_code"] for line in logs] == ["999999", "888888"]
    assert shown(telemetry)['outbound_unknown_error_code_total{error_code="999999"}'] == 2


def test_a_provider_gone_wild_does_not_fill_the_figures() -> None:
    telemetry = Telemetry()
    with capture_logs() as logs:
        for code in range(500):
            telemetry.unknown_code(str(code))
    assert len(logs) == 100
    assert shown(telemetry)['outbound_unknown_error_code_total{error_code="other"}'] == 400


def test_an_unreachable_provider_is_told_once_a_minute_with_how_often() -> None:
    telemetry = Telemetry()
    with capture_logs() as logs:
        for second in (0, 1, 59, 60, 61):
            telemetry.provider_unreachable("connection refused", Instant(NOW + seconds(second)))
    assert [(line["log_level"], line["tries"]) for line in logs] == [("warning", 1), ("warning", 3)]
    assert shown(telemetry)["outbound_provider_unreachable_total"] == 5


def test_a_log_that_is_away_is_no_failure_of_the_ledger() -> None:
    telemetry = Telemetry()
    for failure in (Unavailable("no answer"), HistoryUnavailable("no answer"), HistoryNotConfigured("there is none")):
        telemetry.ledger_failed(failure)
    found = {name: count for name, count in shown(telemetry).items() if "failure_total" in name and count}
    assert found == {'ledger_failure_total{reason="unavailable"}': 1, "history_failure_total": 2}


def test_a_lost_ledger_is_told_once_and_so_is_its_return(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr("waypost.runtime.telemetry.telemetry.time", SimpleNamespace(monotonic=lambda: clock.now))
    telemetry = Telemetry()
    with capture_logs() as logs:
        telemetry.ledger_answered()
        for _ in range(3):
            telemetry.ledger_failed(Unavailable("no connection"))
            telemetry.ledger_answered()  # one part reaches it, another does not
        clock.now += 5
        for _ in range(2):
            telemetry.ledger_answered()
        telemetry.ledger_failed(Rejected("one message"))
        telemetry.ledger_failed(Busy("too many writes"))
    assert [each["event"] for each in logs] == ["ledger_lost", "ledger_is_back", "ledger_lost"]
    assert logs[0]["error"] == "no connection"


def test_what_must_never_be_is_counted_by_its_name() -> None:
    telemetry = Telemetry()
    assert telemetry.violations_found() == {}
    for subject in ("message 7", "message 8"):
        telemetry.violated("queued_nowhere", subject)
    assert telemetry.violations_found() == {"queued_nowhere": 2}


def an_outlet(gate: Gate | None = None, org: OrgId = ACME, template: str = "") -> DispatchGroup:
    return DispatchGroup(
        id=1, org_id=org, sender=NumberId("1"), template=template, waba_id="w", pace=80, tier=None, gate=gate
    )


def a_gate(kind: GateKind, until: Instant | None) -> Gate:
    return Gate(
        id=GateId(1),
        org_id=ACME,
        name=GateName("org:acme"),
        kind=kind,
        code="x",
        reason="",
        since=NOW,
        until=until,
        times=1,
    )


def a_permit(name: str, used: int = 0, most: int | None = None, free_at: Instant = NOW) -> Permit:
    return Permit(name=name, free_at=free_at, used=used, since=NOW, most=most)


@pytest.mark.parametrize(
    ("gate", "permits", "reason"),
    [
        (None, [], "none"),
        (a_gate(GateKind.HOLD, None), [], "hold"),
        (a_gate(GateKind.THROTTLE, Instant(NOW + 1)), [], "throttle"),
        (a_gate(GateKind.THROTTLE, NOW), [], "none"),
        (a_gate(GateKind.BREAKER, Instant(NOW + 1)), [], "breaker"),
        (None, [a_permit("quota:acme", 5, 5)], "quota"),
        (None, [a_permit("quota:acme", 4, 5)], "none"),
        (None, [a_permit("tier:1", 5, 5)], "pacing"),
        (None, [a_permit("pace:1", free_at=Instant(NOW + seconds(1)))], "pacing"),
        (None, [a_permit("pace:1", free_at=Instant(NOW + seconds(0.1)))], "none"),
        (a_gate(GateKind.HOLD, None), [a_permit("quota:acme", 5, 5)], "hold"),
    ],
)
def test_what_an_outlet_waits_for(gate: Gate | None, permits: list[Permit], reason: str) -> None:
    assert waits_for(an_outlet(gate, template="order"), {each.name: each for each in permits}, NOW) == reason


def test_outlets_of_an_org_add_up_and_the_longest_come_first() -> None:
    ago = Instant(NOW - Span(5))
    queues = [(an_outlet(), 2, NOW), (an_outlet(org=GLOBEX), 3, NOW), (an_outlet(template="order"), 4, ago)]
    assert waiting_totals(queues, {}, 9, NOW) == [
        WaitingMessages(ACME, "none", 6, ago),
        WaitingMessages(GLOBEX, "none", 3, NOW),
    ]
    assert len(waiting_totals(queues, {}, 1, NOW)) == 1
