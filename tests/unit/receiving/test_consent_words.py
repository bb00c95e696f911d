"""STOP and START are whole messages; a message that merely contains the word changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.dossier import ConsentStatus
from waypost.model.policy import ConsentWords
from waypost.model.time import Instant, minutes, seconds
from waypost.rules.receiving.consent_words import START, STARTED, STOP, STOPPED, consent_in_text, counts_from

NO, YES = ConsentStatus.REVOKED, ConsentStatus.GRANTED


@pytest.mark.parametrize(
    "text", ["STOP", " stop. ", "Stop!", "«stop»", "Arrêter", "ARRÊT", "Sair", "стоп", "停止", "*STOP*"]
)
def test_these_say_no(text: str) -> None:
    said = consent_in_text(text, None)
    assert said is not None
    assert (said.status, said.confirmation) == (NO, STOPPED)


@pytest.mark.parametrize("text", ["start", "UNSTOP", "Alta", "Başla", "старт", "s'abonner"])
def test_these_say_yes_again(text: str) -> None:
    said = consent_in_text(text, None)
    assert said is not None
    assert (said.status, said.confirmation) == (YES, STARTED)


@pytest.mark.parametrize("text", ["", "don't stop", "stop it please", "bus stop", "starting", "ok", "STOP " * 20, "?"])
def test_these_say_nothing(text: str) -> None:
    assert consent_in_text(text, None) is None


def test_an_org_may_choose_its_own_words_and_answers() -> None:
    words = ConsentWords(stop=("Genug",), stop_reply="Schluss.", start_reply="")
    assert consent_in_text("stop", words) is None
    assert (found := consent_in_text("GENUG!", words)) is not None
    assert found.confirmation == "Schluss."
    assert (again := consent_in_text("start", words)) is not None
    assert again.confirmation == "", "an empty one confirms nothing"


def test_an_org_may_do_without() -> None:
    assert consent_in_text("STOP", ConsentWords(enabled=False)) is None


def test_no_word_says_both() -> None:
    assert {consent_in_text(word, None).status for word in STOP if consent_in_text(word, None)} == {NO}  # type: ignore[union-attr]  # just asked
    assert {consent_in_text(word, None).status for word in START if consent_in_text(word, None)} == {YES}  # type: ignore[union-attr]  # just asked
    assert all(consent_in_text(word, None) for word in (*STOP, *START))


@given(st.text())
def test_anything_may_be_written(text: str) -> None:
    consent_in_text(text, None)


T = Instant(1_760_000_000_000_000)
SOON = Instant(T + seconds(1) - 1)
LATER = Instant(T + minutes(5))


@pytest.mark.parametrize(
    ("status", "latest", "now", "found"),
    [
        (NO, None, LATER, T),
        (YES, None, LATER, T),
        (NO, None, Instant(T - 1), Instant(T - 1)),
        (NO, T, LATER, T),
        (YES, T, LATER, T),
        (NO, SOON, LATER, SOON),
        (YES, SOON, LATER, None),
        (NO, Instant(SOON + 1), LATER, None),
        (NO, LATER, LATER, None),
        (YES, LATER, LATER, None),
        (NO, LATER, Instant(LATER - 1), LATER),
        (YES, LATER, Instant(LATER - 1), None),
    ],
)
def test_what_was_said_since_stands_and_in_doubt_it_is_a_no(
    status: ConsentStatus, latest: Instant | None, now: Instant, found: Instant | None
) -> None:
    assert counts_from(status, T, latest, now) == found
