"""A port that is still in use when a server starts."""

from __future__ import annotations

import time

import pytest
from structlog.testing import capture_logs

from waypost.runtime.process import uvicorn_runner
from waypost.runtime.process.uvicorn_runner import CannotListen, listen, listen_when_free

HOST = "127.0.0.1"


def test_a_server_waits_for_its_port_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = listen(HOST, 0)
    port = taken.getsockname()[1]
    pauses: list[float] = []

    def pause(span: float) -> None:
        pauses.append(span)
        if len(pauses) == 3:
            taken.close()

    monkeypatch.setattr(time, "sleep", pause)
    with capture_logs() as logs, listen_when_free(HOST, port) as sock:
        assert sock.getsockname()[1] == port
    assert [each["event"] for each in logs] == ["waiting_for_port"]


def test_a_port_that_stays_in_use_is_an_error_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn_runner, "PORT_PATIENCE", 0.0)
    with listen(HOST, 0) as taken, pytest.raises(CannotListen, match="another program listens there: choose another"):
        listen_when_free(HOST, taken.getsockname()[1])
