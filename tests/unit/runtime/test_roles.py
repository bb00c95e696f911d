"""Which processes serve one port, and which role does what."""

from __future__ import annotations

import pytest

from waypost.runtime.process.role_app import role_for
from waypost.runtime.settings.roles import ProcessGroup, ProcessRole, WrongRoles, parse

API, WORKER, GATEWAY = ProcessRole.API, ProcessRole.WORKER, ProcessRole.GATEWAY


@pytest.mark.parametrize(
    ("texts", "count", "groups"),
    [
        (["api,worker,gateway"], 3, [ProcessGroup(frozenset(ProcessRole), 3, listens=True)]),
        (["api,worker,gateway"], None, [ProcessGroup(frozenset(ProcessRole), 1, listens=True)]),
        (["worker"], 2, [ProcessGroup(frozenset({WORKER}), 2, listens=True)]),
        (
            ["api,gateway=2", "worker=3"],
            None,
            [
                ProcessGroup(frozenset({API, GATEWAY}), 2, listens=True),
                ProcessGroup(frozenset({WORKER}), 3, listens=False),
            ],
        ),
        (
            ["api, gateway,worker", "worker=1"],
            4,
            [
                ProcessGroup(frozenset(ProcessRole), 4, listens=True),
                ProcessGroup(frozenset({WORKER}), 1, listens=False),
            ],
        ),
    ],
)
def test_processes_are_counted_by_what_they_do(texts: list[str], count: int, groups: list[ProcessGroup]) -> None:
    assert parse(texts, count) == groups


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["boss"], "--roles takes any of api, worker, gateway"),
        ([""], "--roles takes any of"),
        (["api=0"], "1 to 64"),
        (["api=many"], "1 to 64"),
        (["api="], "1 to 64"),
        (["api=60", "api,worker=5"], "at most 64"),
        (["api=2", "gateway=2"], "the same listening roles"),
        (["api,gateway=2", "api"], "the same listening roles"),
    ],
)
def test_what_cannot_stand_behind_one_port_is_refused(texts: list[str], said: str) -> None:
    with pytest.raises(WrongRoles, match=said):
        parse(texts, None)


@pytest.mark.parametrize("texts", [["worker=2"], ["api,gateway=2", "worker=3"]])
def test_a_number_that_nobody_would_follow_is_refused(texts: list[str]) -> None:
    with pytest.raises(WrongRoles, match=r"--workers 3 and --roles .* both give a number"):
        parse(texts, 3)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("/healthz", None),
        ("/readyz", None),
        ("/metrics", None),
        ("/api/v1/ws", GATEWAY),
        ("/api/v1/sync", GATEWAY),
        ("/api/v1/sync/", GATEWAY),
        ("/api/v1/synchrony", API),
        ("/api/v1/outbound/messages", API),
        ("/api/v1/webhooks/whatsapp/inbound", API),
        ("/", API),
    ],
)
def test_each_path_belongs_to_one_role(path: str, role: ProcessRole | None) -> None:
    assert role_for(path) is role
