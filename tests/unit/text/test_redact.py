"""A provider's text is kept without tokens, phone numbers and links, and still makes sense."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.rules.receiving.webhook import status_details
from waypost.rules.text.redact import LINK, LONGEST_TEXT, NUMBER, TOKEN, redact, redact_answer

PHONE = re.compile(r"\+\d{7,}|(?<!\w)\d{8,}(?!\w)|(?<![\w#])\d{7}(?!\w)")
"""With # before it, seven digits are an error code."""
A_TOKEN = "EAAGm0PX4ZCpsBAO9kZBz1"
WAMID = "wamid.HBgLMTY1MDU1NTEyMzQVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA"


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("(#131047) Re-engagement message", "(#131047) Re-engagement message"),
        ("(#2388073) Message footer format is incorrect", "(#2388073) Message footer format is incorrect"),
        ("Recipient +16505551234 is not allowed", f"Recipient {NUMBER} is not allowed"),
        ("Recipient 16505551234, not allowed", f"Recipient {NUMBER}, not allowed"),
        ("call +1 (650) 555-1234.", f"call {NUMBER}."),
        ("call (650) 555-1234.", f"call {NUMBER}."),
        ("call 650-555-1234 or 0044 20 7946 0958", f"call {NUMBER} or {NUMBER}"),
        ("user 16505551234@s.whatsapp.net", f"user {NUMBER}@s.whatsapp.net"),
        ("number ١٦٥٠٥٥٥١٢٣٤ unknown", f"number {NUMBER} unknown"),
        ("Object with ID '106540352242922' does not exist", f"Object with ID '{NUMBER}' does not exist"),
        ("on 2026-11-15 09:30:00 UTC, after 24 hours", "on 2026-11-15 09:30:00 UTC, after 24 hours"),
        ("at most 1024 of 4096 characters", "at most 1024 of 4096 characters"),
        (f"Malformed access token {A_TOKEN}", f"Malformed access token {TOKEN}"),
        (f"Error validating {A_TOKEN}: expired", f"Error validating {TOKEN}: expired"),
        ("Authorization: Bearer abc123def456", f"Authorization: Bearer {TOKEN}"),
        ("access_token=abc123def456&x=1", f"access_token={TOKEN}&x=1"),
        ('the secret is "a1b2c3d4e5f6"', f'the secret is "{TOKEN}"'),
        ("token " + "abcd" * 10, f"token {TOKEN}"),
        ("app 1234567890|s3cr3tOfTheApp failed", f"app {TOKEN} failed"),
        ("The access token could not be decrypted", "The access token could not be decrypted"),
        ("Bearer authentication is required", "Bearer authentication is required"),
        ("see https://developers.facebook.com/docs?x=1 for more", f"see {LINK} for more"),
        ("(see https://fb.me/x).", f"(see {LINK})."),
        ("open HTTP://EXAMPLE.COM/a/b", f"open {LINK}"),
        ("write to wa.me/16505551234 now", f"write to {LINK} now"),
        ("www.example.com is down", f"{LINK} is down"),
        ("image.jpeg and/or video.mp4", "image.jpeg and/or video.mp4"),
        (f"Message {WAMID} not found", f"Message {WAMID} not found"),
        ("", ""),
    ],
)
def test_a_sentence_keeps_its_sense_and_its_code(told: str, kept: str) -> None:
    assert redact(told) == kept


pieces = st.one_of(
    st.text(),
    st.from_regex(r"\+?[0-9]{5,18}", fullmatch=True),
    st.from_regex(r"\+[0-9]{1,3}([ .-][0-9]{2,4}){2,5}", fullmatch=True),
    st.sampled_from(["token ", "Bearer ", A_TOKEN, WAMID, "https://", "www.", "wa.me/", "(#131047)", "#", "+", "00"]),
    st.sampled_from([TOKEN, NUMBER, LINK, " ", ": ", "-", "_", "|", "[", "]", '"', "\\", "\0", "é", "x"]),
)
sentences = st.lists(pieces, max_size=8).map("".join)


@given(sentences)
def test_no_phone_number_survives_in_a_sentence(told: str) -> None:
    assert not PHONE.search(re.sub(r"wamid\.\S+", "wamid", redact(told)))


@given(sentences)
@example("+1234567+1234567 1234567")
def test_what_was_redacted_once_stays_as_it_is(told: str) -> None:
    once = redact(told)
    assert redact(once) == once


@given(st.text(alphabet="0123456789", min_size=7, max_size=20), sentences)
def test_a_number_with_a_plus_is_never_kept(digits: str, around: str) -> None:
    assert f"+{digits}" not in redact(f"{around} +{digits} {around}")


@given(st.from_regex(r"EAA[A-Za-z0-9]{12,180}", fullmatch=True), sentences)
def test_a_token_is_never_kept(token: str, around: str) -> None:
    assert token not in redact(f"{around} {token}")


@pytest.mark.parametrize("told", ["a-" * 50_000, "token=" * 20_000, "+1 " * 30_000, "a." * 50_000, "[" * 100_000])
def test_however_odd_a_text_is_it_is_cleaned_and_cut(told: str) -> None:
    assert len(redact(told)) <= LONGEST_TEXT
    assert len(redact_answer(told)) <= LONGEST_TEXT


# Whole answers


def test_every_text_of_an_answer_is_redacted_and_its_shape_stays() -> None:
    answer = {
        "error": {
            "message": "(#131026) to +16505551234",
            "code": 131026,
            "error_subcode": 2494010,
            "error_data": {"details": ["see https://fb.me/x", None, True, 1.5]},
            "access_token": "short",
        }
    }
    assert json.loads(redact_answer(json.dumps(answer))) == {
        "error": {
            "message": f"(#131026) to {NUMBER}",
            "code": 131026,
            "error_subcode": 2494010,
            "error_data": {"details": [f"see {LINK}", None, True, 1.5]},
            "access_token": TOKEN,
        }
    }


@pytest.mark.parametrize("given_id", [WAMID, "16505551234", "gBGGFlCGg0cvAglAxydbAoy-gwNo"])
def test_the_ids_of_messages_stay(given_id: str) -> None:
    contacts = [{"input": "+16505551234", "wa_id": "16505551234"}]
    kept = json.loads(redact_answer(json.dumps({"contacts": contacts, "messages": [{"id": given_id}]})))
    assert kept == {"contacts": [{"input": NUMBER, "wa_id": NUMBER}], "messages": [{"id": given_id}]}


@pytest.mark.parametrize("odd", [{"messages": "+16505551234"}, {"messages": [["+16505551234", {"id": 5}]]}])
def test_messages_of_another_shape_are_redacted_like_the_rest(odd: dict[str, Any]) -> None:
    assert "16505551234" not in redact_answer(json.dumps(odd))


def test_an_escaped_link_is_found() -> None:
    assert (
        redact_answer(r'{"href":"https:\/\/fb.me\/x","n":"\u002b16505551234"}') == f'{{"href":"{LINK}","n":"{NUMBER}"}}'
    )


def test_an_answer_with_nothing_in_it_to_hide_stays_as_it_was_written() -> None:
    written = '{ "error": {"code": 2,\n "message": "(#2) Service\\u0020down"} }'
    assert redact_answer(written) == written


def test_a_page_is_one_text() -> None:
    assert redact_answer("<p>Bad gateway, call +16505551234</p>") == f"<p>Bad gateway, call {NUMBER}</p>"


trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | sentences,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(sentences | st.just("messages"), inner, max_size=4),
    max_leaves=12,
)


def shape(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: shape(item) for name, item in tree.items()}
    return [shape(item) for item in tree] if isinstance(tree, list) else type(tree)


@given(trees)
def test_an_answer_keeps_its_shape_and_is_redacted_once(tree: Any) -> None:
    once = redact_answer(json.dumps(tree))
    assert shape(json.loads(once)) == shape(tree)
    assert redact_answer(once) == once


@given(st.text())
def test_whatever_is_said_never_raises(told: str) -> None:
    redact_answer(told)


def test_a_failure_told_by_a_status_is_redacted_too() -> None:
    assert status_details('{"errors":[{"code":131026,"title":"to +16505551234"}]}') == f"131026 to {NUMBER}"
