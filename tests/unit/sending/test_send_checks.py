"""Whether a message may be sent: the table of expiry, consent, window and pace, in the order of the checks."""

from __future__ import annotations

from typing import Any

import pytest

from waypost.model.message import Channel
from waypost.model.time import Instant, Span, seconds
from waypost.rules.sending.delivery import Defer, Expire, GiveUp
from waypost.rules.sending.send_checks import CONSENT_REQUIRED, SESSION_EXPIRED, check_before_send
from waypost_testing.contracts.examples import T0, a_claim, later

OPEN, SHUT = later(Span(1)), T0
FREE: dict[str, Any] = {"window_until": OPEN}
TEMPLATE: dict[str, Any] = {"template": "hello"}
DOSSIER: dict[str, Any] = {"window_until": OPEN, "dossier_id": 7}
PUT_OFF: dict[str, Any] = {"put_off_until": later(seconds(6)), "put_off_by": "pacing"}
LATE: dict[str, Any] = {"expires_at": T0}

TABLE: list[tuple[dict[str, Any], str | None]] = [
    (FREE, None),
    ({"window_until": SHUT}, SESSION_EXPIRED),
    ({"window_until": None}, SESSION_EXPIRED),
    (TEMPLATE, None),
    (TEMPLATE | {"window_until": SHUT}, None),
    ({"channel": Channel.EMAIL}, None),
    (FREE | LATE, "EXPIRED"),
    (FREE | {"expires_at": later(Span(1))}, None),
    (DOSSIER | {"consent": "GRANTED"}, None),
    (DOSSIER | {"consent": "REVOKED"}, CONSENT_REQUIRED),
    (DOSSIER | {"consent": "PENDING"}, CONSENT_REQUIRED),
    (DOSSIER | {"consent": None}, CONSENT_REQUIRED),
    (DOSSIER | {"consent": "GRANTED", "address_consent": "REVOKED"}, CONSENT_REQUIRED),
    (FREE | {"address_consent": "GRANTED"}, None),
    (FREE | {"address_consent": "PENDING"}, None),
    (FREE | {"address_consent": "REVOKED"}, CONSENT_REQUIRED),
    (FREE | {"consent": "REVOKED"}, None),  # without a dossier there is no consent to check
    (TEMPLATE | {"address_consent": "REVOKED"}, CONSENT_REQUIRED),
    ({"channel": Channel.EMAIL, "address_consent": "REVOKED"}, CONSENT_REQUIRED),
    (FREE | PUT_OFF, "pacing"),
    (FREE | PUT_OFF | {"put_off_by": "throttle"}, "throttle"),
    (FREE | PUT_OFF | {"put_off_by": None}, "pacing"),
    (FREE | PUT_OFF | {"put_off_until": T0}, None),
    # The order of the rules: expiry first, then consent, window, pace.
    ({"window_until": SHUT, "address_consent": "REVOKED"} | PUT_OFF | LATE, "EXPIRED"),
    ({"window_until": SHUT, "address_consent": "REVOKED"} | PUT_OFF, CONSENT_REQUIRED),
    ({"window_until": SHUT} | PUT_OFF, SESSION_EXPIRED),
]


@pytest.mark.parametrize(("message", "says_no"), TABLE)
def test_the_first_rule_that_says_no_decides(message: dict[str, Any], says_no: str | None) -> None:
    verdict = check_before_send(a_claim(**message), T0)
    match verdict:
        case None:
            assert says_no is None
        case GiveUp() | Expire():
            assert (verdict.code, bool(verdict.message)) == (says_no, True)
        case Defer():
            assert (verdict.rule, verdict.at) == (says_no, message["put_off_until"])
        case _:
            raise AssertionError(verdict)


def test_the_window_can_be_left_to_the_provider() -> None:
    message = a_claim(window_until=SHUT)
    assert check_before_send(message, T0, enforce_window=False) is None
    assert check_before_send(a_claim(expires_at=Instant(T0)), T0, enforce_window=False) == Expire()
