"""A failure is explained in words, by the right catalogue."""

from __future__ import annotations

import pytest

from waypost.model.message import Status
from waypost.rules.operations import failures
from waypost.runtime.wiring.wiring import catalogues

META, SEED = catalogues()["meta"], catalogues()["seed"]


@pytest.mark.parametrize("status", [Status.QUEUED, Status.SENDING, Status.SENT, Status.DELIVERED])
def test_what_did_not_fail_has_no_reason(status: Status) -> None:
    assert failures.delivery_failure(status, "131026", "no", META) is None


@pytest.mark.parametrize(
    ("status", "code", "shown"),
    [
        (Status.FAILED, "SESSION_EXPIRED", "SESSION_EXPIRED"),
        (Status.FAILED, "131047", "131047"),
        (Status.FAILED, None, "UNKNOWN"),
        (Status.CANCELLED, None, "CANCELLED"),
        (Status.CANCELLED, "TAKEN_OVER", "TAKEN_OVER"),
    ],
)
def test_every_failure_says_why_and_what_to_do(status: Status, code: str | None, shown: str) -> None:
    told = failures.delivery_failure(status, code, "the provider's words", META)
    assert told is not None
    assert told.code == shown
    assert told.title
    assert told.remedy.endswith(".")


def test_a_code_means_what_the_numbers_catalogue_says() -> None:
    meta, seed = (failures.delivery_failure(Status.FAILED, "0", None, catalogue) for catalogue in (META, SEED))
    assert meta is not None
    assert seed is not None
    assert (meta.title, seed.title) == ("AuthException", "Temporary error")
    assert meta.remedy != seed.remedy


def test_a_code_that_nobody_knows_is_told_in_the_providers_words() -> None:
    told = failures.delivery_failure(Status.FAILED, "987654", "solar flare", META)
    assert told is not None
    assert told.title == "solar flare"
