"""What the provider's answer means for a number: a table."""

from __future__ import annotations

from typing import Any

import pytest

from waypost.model.outcome import LookedUp, NumberRecord, ProviderRejected, Unreached, Unsure
from waypost.rules.receiving.number_check import NumberCheckState, verdict
from waypost_testing.contracts.examples import a_number

URL = "https://graph.facebook.com/v25.0"


def refused(code: str, subcode: int | None = None) -> ProviderRejected:
    plain: dict[str, Any] = {"details": None, "trace": None, "retry_after": None, "response": "{}"}
    return ProviderRejected(code=code, message="no", subcode=subcode, **plain)


@pytest.mark.parametrize(
    ("answer", "state", "remedy"),
    [
        (NumberRecord(), NumberCheckState.UNKNOWN_NUMBER, "business account"),
        (NumberRecord(verified_name="Shop", status="CONNECTED"), NumberCheckState.UNKNOWN_NUMBER, "business account"),
        (NumberRecord(display_phone_number="+1 555"), NumberCheckState.WORKS, None),
        (NumberRecord(display_phone_number="+1 555", status="CONNECTED"), NumberCheckState.WORKS, None),
        (NumberRecord(display_phone_number="+1 555", status="FLAGGED"), NumberCheckState.WORKS, None),
        (NumberRecord(display_phone_number="+1 555", status="PENDING"), NumberCheckState.NOT_READY, "WhatsApp Manager"),
        (refused("190"), NumberCheckState.TOKEN_REFUSED, "--token TOKEN"),
        (refused("0"), NumberCheckState.TOKEN_REFUSED, "--token TOKEN"),
        (refused("10"), NumberCheckState.TOKEN_REFUSED, "permissions"),
        (refused("200"), NumberCheckState.TOKEN_REFUSED, "permissions"),
        (refused("100", 33), NumberCheckState.UNKNOWN_NUMBER, "phone number ID"),
        (refused("803"), NumberCheckState.UNKNOWN_NUMBER, "phone number ID"),
        (refused("131031"), NumberCheckState.REFUSED, "appeal"),
        (refused("4"), NumberCheckState.REFUSED, "in a minute"),
        (refused("2"), NumberCheckState.REFUSED, "in a minute"),
        (Unreached("no connection"), NumberCheckState.UNREACHABLE, f"is {URL} reachable"),
        (Unsure("no answer within 10 s"), NumberCheckState.UNREACHABLE, f"is {URL} reachable"),
        (Unsure("HTTP 502 without an error", "<html>"), NumberCheckState.UNREACHABLE, f"is {URL} the right address"),
    ],
)
def test_every_answer_has_a_state_and_every_trouble_a_remedy(
    answer: LookedUp, state: NumberCheckState, remedy: str | None
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
