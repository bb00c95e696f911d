"""What the provider's answer says of a number: a table."""

from __future__ import annotations

from typing import Any

import pytest

from waypost.model.outcome import LookedUp, NumberRecord, Rejected, Unreached, Unsure
from waypost.rules.number_trial import Trial, verdict
from waypost.testing.contracts.examples import a_number

URL = "https://graph.facebook.com/v25.0"


def refused(code: str, subcode: int | None = None) -> Rejected:
    plain: dict[str, Any] = {"details": None, "trace": None, "retry_after": None, "response": "{}"}
    return Rejected(code=code, message="no", subcode=subcode, **plain)


@pytest.mark.parametrize(
    ("answer", "state", "remedy"),
    [
        (NumberRecord(), Trial.UNKNOWN_NUMBER, "business account"),
        (NumberRecord(verified_name="Shop", status="CONNECTED"), Trial.UNKNOWN_NUMBER, "business account"),
        (NumberRecord(display_phone_number="+1 555"), Trial.WORKS, None),
        (NumberRecord(display_phone_number="+1 555", status="CONNECTED"), Trial.WORKS, None),
        (NumberRecord(display_phone_number="+1 555", status="FLAGGED"), Trial.WORKS, None),
        (NumberRecord(display_phone_number="+1 555", status="PENDING"), Trial.NOT_READY, "WhatsApp Manager"),
        (refused("190"), Trial.TOKEN_REFUSED, "--token TOKEN"),
        (refused("0"), Trial.TOKEN_REFUSED, "--token TOKEN"),
        (refused("10"), Trial.TOKEN_REFUSED, "permissions"),
        (refused("200"), Trial.TOKEN_REFUSED, "permissions"),
        (refused("100", 33), Trial.UNKNOWN_NUMBER, "phone number ID"),
        (refused("803"), Trial.UNKNOWN_NUMBER, "phone number ID"),
        (refused("131031"), Trial.REFUSED, "appeal"),
        (refused("4"), Trial.REFUSED, "in a minute"),
        (refused("2"), Trial.REFUSED, "in a minute"),
        (Unreached("no connection"), Trial.UNREACHABLE, f"is {URL} reachable"),
        (Unsure("no answer within 10 s"), Trial.UNREACHABLE, f"is {URL} reachable"),
        (Unsure("HTTP 502 without an error", "<html>"), Trial.UNREACHABLE, f"is {URL} the right address"),
    ],
)
def test_every_answer_has_a_state_and_every_trouble_a_remedy(
    answer: LookedUp, state: Trial, remedy: str | None
) -> None:
    told = verdict(answer, a_number(), URL)
    assert told.state is state
    assert told.remedy is None if remedy is None else remedy in (told.remedy or "")


def test_a_record_is_told_as_far_as_it_goes() -> None:
    whole = NumberRecord(verified_name="Shop", display_phone_number="+1 555", quality="RED", messaging_limit="TIER_2K")
    assert verdict(whole, a_number(), URL).said == (
        "the provider knows it as Shop +1 555, quality RED, messaging limit TIER_2K"
    )
    little = NumberRecord(display_phone_number="+1 555", status="BANNED")
    assert verdict(little, a_number(), URL).said == "the provider knows it as +1 555, but its status is BANNED"
