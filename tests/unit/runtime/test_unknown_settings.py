"""An unknown setting is reported with the closest known one; variables of other programs are not."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from waypost.runtime.cli.app import warn_unknown_settings
from waypost.runtime.doctor.examine import _check_names
from waypost.runtime.doctor.findings import DoctorReport
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.settings.unknown_settings import unknown_settings

TYPOS = [
    ("WAYPOST_REDISURL", "WAYPOST_REDIS_URL"),
    ("WAYPOST_DATABSE_URL", "WAYPOST_DATABASE_URL"),
    ("waypost_histroy_url", "WAYPOST_HISTORY_URL"),
    ("WAYPOST_PORT", ""),
]
HUSH = "redis://:hush@cache"


@pytest.mark.parametrize(("typo", "meant"), TYPOS)
def test_a_name_that_is_no_setting_is_found_with_the_nearest(typo: str, meant: str) -> None:
    ((name, nearest),) = unknown_settings({typo: HUSH, "HOME": "/"})
    assert name == typo
    assert not meant or nearest == meant


def test_settings_and_what_others_put_into_an_environment_are_none() -> None:
    known = {f"WAYPOST_{name.upper()}": "x" for name in Settings.__struct_fields__}
    kubernetes = {
        "WAYPOST_API_SERVICE_HOST": "10.0.0.1",
        "WAYPOST_API_SERVICE_PORT": "80",
        "WAYPOST_API_SERVICE_PORT_HTTP": "80",
        "WAYPOST_API_PORT": "tcp://10.0.0.1:80",
        "WAYPOST_API_PORT_80_TCP": "tcp://10.0.0.1:80",
        "WAYPOST_API_PORT_80_TCP_ADDR": "10.0.0.1",
    }
    ours = {"WAYPOST_MAILBOX_PASSWORD": "x", "WAYPOST_KEY": "x", "WAYPOST_TEST_SEED": "1"}
    assert unknown_settings(known | kubernetes | ours) == []


def test_it_is_said_at_the_start_and_by_the_doctor_without_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    environment = {"WAYPOST_REDISURL": HUSH}
    with capture_logs() as logs:
        warn_unknown_settings(environment)
    assert logs == [
        {
            "event": "unknown_setting",
            "log_level": "warning",
            "name": "WAYPOST_REDISURL",
            "nearest": "WAYPOST_REDIS_URL",
        }
    ]
    findings = DoctorReport(as_json=False)
    _check_names(environment, findings)
    assert findings.end() == 0, "a warning"
    told = capsys.readouterr().out
    assert told == (
        "warn  WAYPOST_REDISURL is set, but there is no such setting\n      → did you mean WAYPOST_REDIS_URL?\n"
    )
