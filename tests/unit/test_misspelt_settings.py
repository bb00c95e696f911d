"""A setting that does not exist is told, with the one that was meant; what belongs to others is not."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from waypost.runtime.cli import tell_misspelt
from waypost.runtime.doctor import _check_names
from waypost.runtime.doctor_findings import Findings
from waypost.runtime.misspelt import misspelt
from waypost.runtime.settings import Settings

TYPOS = [
    ("WAYPOST_REDISURL", "WAYPOST_REDIS_URL"),
    ("WAYPOST_DATABSE_URL", "WAYPOST_DATABASE_URL"),
    ("waypost_log_url", "WAYPOST_LOG_URL"),
    ("WAYPOST_PORT", ""),
]
HUSH = "redis://:hush@cache"


@pytest.mark.parametrize(("typo", "meant"), TYPOS)
def test_a_name_that_is_no_setting_is_found_with_the_nearest(typo: str, meant: str) -> None:
    ((name, nearest),) = misspelt({typo: HUSH, "HOME": "/"})
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
    assert misspelt(known | kubernetes | ours) == []


def test_it_is_said_at_the_start_and_by_the_doctor_without_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    environment = {"WAYPOST_REDISURL": HUSH}
    with capture_logs() as logs:
        tell_misspelt(environment)
    assert logs == [
        {
            "event": "unknown_setting",
            "log_level": "warning",
            "name": "WAYPOST_REDISURL",
            "nearest": "WAYPOST_REDIS_URL",
        }
    ]
    findings = Findings(as_json=False)
    _check_names(environment, findings)
    assert findings.end() == 0, "a warning"
    told = capsys.readouterr().out
    assert told == (
        "warn  WAYPOST_REDISURL is set, and there is no such setting\n      → did you mean WAYPOST_REDIS_URL?\n"
    )
