"""Emails: addresses, contents, MIME messages and the codes of mail servers."""

from __future__ import annotations

import json
from email import message_from_bytes, policy
from email.message import EmailMessage
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.email import Email, Mailbox, Security
from waypost.model.ids import Fence, MessageId
from waypost.model.time import Instant
from waypost.model.webhook import Echo
from waypost.rules.content import email
from waypost.rules.limits.error_catalogue import ErrorAction, ErrorScope, parse
from waypost.rules.text.json_validation import InvalidField

CODES = parse("smtp", files("waypost.rules.limits").joinpath("data", "smtp_error_codes.csv").read_text())
MAILBOX = Mailbox(
    address="shop@example.com", domain="mail.example.com", host="smtp.example.com", port=465, security=Security.TLS
)
NOON = Instant(1_790_000_000_000_000)
MORE_THAN_A_LINE = [
    "a\rb",
    "a\nb",
    "a\r\nBcc: x@y.zz",
    "a\0b",
    "a\x0bb",
    "a\x0cb",
    "a\x1cb",
    "a\x85b",
    "a\u2028b",
    "\ud800",
]


def written(subject: str = "Hello", mailbox: Mailbox = MAILBOX, **payload: Any) -> Email:
    letter = outcome(subject, mailbox, **payload)
    assert isinstance(letter, Email), letter
    return letter


def outcome(subject: str = "Hello", mailbox: Mailbox = MAILBOX, **payload: Any) -> Email | InvalidField:
    return email.write(
        mailbox,
        message_id=MessageId(7),
        fence=Fence(2),
        recipient="ada@example.org",
        subject=subject,
        payload=json.dumps(payload or {"text": "Hi"}),
        now=NOON,
    )


def parsed(letter: Email) -> EmailMessage:
    return message_from_bytes(letter.content, policy=policy.default)


# Addresses


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ada@example.org", "ada@example.org"),
        (" Ada.Lovelace+tag@EXAMPLE.Org ", "Ada.Lovelace+tag@example.org"),
        ("o'brien_{x}@a-b.example.co", "o'brien_{x}@a-b.example.co"),
        ("x@xn--strae-oqa.de", "x@xn--strae-oqa.de"),
        (f"{'a' * 64}@example.org", f"{'a' * 64}@example.org"),
    ],
)
def test_an_address_keeps_its_name_and_gets_a_small_domain(text: str, kept: str) -> None:
    assert email.address(text) == kept


@pytest.mark.parametrize(
    "text",
    ["", "@", "ada", "ada@", "@example.org", "ada@localhost", "ada@example.org.", "a..b@example.org", ".a@example.org",
     "a b@example.org", "ada@exa mple.org", "Ada <ada@example.org>", '"a b"@example.org', "ada@[127.0.0.1]",
     "ada@127.0.0.1", "ada@-a.org", "ada@a_b.org", "müller@example.org", "ada@straße.de", f"{'a' * 65}@example.org",
     f"a@{'b' * 64}.org", f"a@{'b.' * 126}org", "ada@example.org\n", "\nada@example.org",
     "ada@example.org\r\nBcc: x@y.zz",
     "ada\0@example.org", "ada@example.org,eve@example.org", "ada@example.org>", "ada\t@example.org",
     "a@b@example.org"],
)  # fmt: skip
def test_anything_else_is_no_address(text: str) -> None:
    assert email.address(text) is None


@given(st.text() | st.text("a@.\r\n<> \0-"))
def test_the_check_of_an_address_never_raises_and_what_it_keeps_is_one_safe_word(text: str) -> None:
    kept = email.address(text)
    assert kept is None or (kept.isascii() and kept.isprintable() and not set(kept) & set(' <>",;\r\n\0'))
    assert kept is None or email.address(kept) == kept


@given(st.emails())
def test_what_it_keeps_of_a_real_address_is_that_address(text: str) -> None:
    kept = email.address(text)
    assert kept is None or kept.lower() == text.lower()


# What can be queued


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        (None, "payloadJson"),
        ([], "payloadJson"),
        ("Hi", "payloadJson"),
        ({}, "payloadJson.text"),
        ({"text": None}, "payloadJson.text"),
        ({"text": " "}, "payloadJson.text"),
        ({"text": 5}, "payloadJson.text"),
        ({"text": "a\0b"}, "payloadJson.text"),
        ({"text": "\ud800"}, "payloadJson.text"),
        ({"html": ""}, "payloadJson.html"),
        ({"text": "Hi", "html": []}, "payloadJson.html"),
        ({"text": "x" * (email.LARGEST_CONTENT + 1)}, "payloadJson"),
        ({"text": "Hi", "attachments": []}, "payloadJson.attachments"),
        ({"text": "Hi", "replyTo": "me"}, "payloadJson.replyTo"),
        ({"text": "Hi", "replyTo": 5}, "payloadJson.replyTo"),
        ({"text": "Hi", "replyTo": "a@b.cc\r\nBcc: x@y.zz"}, "payloadJson.replyTo"),
        ({"text": "Hi", "headers": []}, "payloadJson.headers"),
        ({"text": "Hi", "headers": {f"X-{n}": "x" for n in range(21)}}, "payloadJson.headers"),
        ({"text": "Hi", "headers": {"X-A": "1", "x-a": "2"}}, "payloadJson.headers"),
        ({"text": "Hi", "headers": {"X A": "1"}}, "payloadJson.headers"),
        ({"text": "Hi", "headers": {"X:A": "1"}}, "payloadJson.headers"),
        ({"text": "Hi", "headers": {"": "1"}}, "payloadJson.headers"),
        ({"text": "Hi", "headers": {"X-A\r\nBcc": "1"}}, "payloadJson.headers"),
        ({"text": "Hi", "headers": {"X-A": 1}}, "payloadJson.headers.X-A"),
        ({"text": "Hi", "headers": {"X-A": " "}}, "payloadJson.headers.X-A"),
        ({"text": "Hi", "headers": {"X-A": "x" * 901}}, "payloadJson.headers.X-A"),
        ({"text": "Hi", "headers": {"Bcc": "x@y.zz"}}, "payloadJson.headers.Bcc"),
        ({"text": "Hi", "headers": {"message-ID": "<x@y.zz>"}}, "payloadJson.headers.message-ID"),
        ({"text": "Hi", "headers": {"Content-Type": "text/html"}}, "payloadJson.headers.Content-Type"),
    ],
)
def test_what_must_be_mended_is_named(payload: object, field: str) -> None:
    found = email.check(payload, "Hello")
    assert found is not None
    assert found.field == field


@pytest.mark.parametrize("subject", [None, "", "  ", "x" * 251, *MORE_THAN_A_LINE])
def test_a_subject_is_one_line(subject: str | None) -> None:
    found = email.check({"text": "Hi"}, subject)
    assert found is not None
    assert found.field == "subject"


@pytest.mark.parametrize("value", MORE_THAN_A_LINE)
def test_a_header_is_one_line(value: str) -> None:
    found = email.check({"text": "Hi", "headers": {"X-A": value}}, "Hello")
    assert found is not None
    assert found.field == "payloadJson.headers.X-A"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["text", "html", "replyTo", "headers"]) | st.text(), inner)
    ),
)


@given(JSON, st.none() | st.text(st.characters(codec=None)))
def test_the_check_of_a_content_never_raises(payload: object, subject: str | None) -> None:
    email.check(payload, subject)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"address": "shop"}, "address"),
        ({"address": "shop@EXAMPLE.com"}, "address"),
        ({"domain": "a\r\nb"}, "domain"),
        ({"domain": ""}, "domain"),
        ({"host": ""}, "host"),
        ({"host": "a b"}, "host"),
        ({"port": 0}, "host"),
        ({"name": "a\r\nBcc: x@y.zz"}, "name"),
        ({"security": Security.NONE, "username": "shop", "password": "x"}, "security"),
    ],
)
def test_a_mailbox_that_cannot_be_used_says_why(change: dict[str, Any], field: str) -> None:
    found = email.check_mailbox(a_mailbox(**change))
    assert found is not None
    assert found.field == field
    assert isinstance(outcome(mailbox=a_mailbox(**change)), InvalidField)


def a_mailbox(**change: Any) -> Mailbox:
    return Mailbox(**{name: getattr(MAILBOX, name) for name in Mailbox.__struct_fields__} | change)


def test_a_mailbox_does_not_show_its_password() -> None:
    assert "s3cret" not in repr(a_mailbox(username="shop", password="s3cret"))


# The MIME message


def test_a_letter_says_who_to_whom_when_and_which() -> None:
    letter = written("Hello", a_mailbox(name="Jürgen's, Shop"), text="Hi", replyTo="Help@Example.com")
    mail = parsed(letter)
    (sender,) = mail["From"].addresses
    assert (sender.display_name, sender.addr_spec) == ("Jürgen's, Shop", "shop@example.com")
    assert (mail["To"], mail["Reply-To"], mail["Subject"]) == ("ada@example.org", "Help@example.com", "Hello")
    assert mail["Date"].datetime.timestamp() == 1_790_000_000
    assert mail["Message-ID"] == letter.id == "<wp1.7.2@mail.example.com>"
    assert (letter.sender, letter.recipient) == ("shop@example.com", "ada@example.org")


def test_text_and_html_are_two_forms_of_one_letter() -> None:
    mail = parsed(written(text="Grüße", html="<b>Grüße</b>"))
    assert mail.get_content_type() == "multipart/alternative"
    assert [(part.get_content_type(), part.get_content()) for part in mail.iter_parts()] == [
        ("text/plain", "Grüße"),
        ("text/html", "<b>Grüße</b>"),
    ]
    assert parsed(written(html="<b>Hi</b>")).get_content_type() == "text/html"


def test_the_same_try_makes_the_same_bytes() -> None:
    assert written(text="a", html="b") == written(text="a", html="b")


def test_no_content_can_end_its_part() -> None:
    forged = "--=_wp1.7.2\r\nContent-Type: text/html\r\n\r\n<script>"
    (text, html) = parsed(written(text=forged, html=forged)).iter_parts()
    assert "<script>" in text.get_content()
    assert "<script>" in html.get_content()


def test_headers_of_the_caller_are_kept() -> None:
    refers = " ".join(f"<{'x' * 40}.{n}@example.org>" for n in range(10))
    mail = parsed(written(text="Hi", headers={"References": refers, "X-Grose": "groß"}))
    assert (mail["References"], mail["X-Grose"]) == (refers, "groß")


@pytest.mark.parametrize("subject", MORE_THAN_A_LINE)
def test_an_unsafe_letter_is_not_written(subject: str) -> None:
    assert isinstance(outcome(subject), InvalidField)


LINE = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=250).filter(str.strip)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)


@given(LINE, TEXT)
def test_a_letter_parses_back_to_the_same_subject_and_text(subject: str, text: str) -> None:
    letter = written(subject, text=text)
    mail = parsed(letter)
    assert str(mail["Subject"]) == subject
    sent = mail.get_payload(decode=True)
    assert isinstance(sent, bytes)
    assert in_lines(sent.decode()) == in_lines(text)
    assert letter.content.isascii()
    assert max(map(len, letter.content.split(b"\r\n"))) <= 998
    assert b"\n" not in letter.content.replace(b"\r\n", b"")


def in_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("<wp1.7.2@mail.example.com>", Echo(MessageId(7), Fence(2))),
        (" wp1.7.2@else.where ", Echo(MessageId(7), Fence(2))),
        ("<wp1.7@x>", None),
        ("wp1.7.2", None),
        ("<abc@example.org>", None),
        ("", None),
        (None, None),
    ],
)
def test_a_message_id_tells_whose_letter_it_was(text: str | None, whose: Echo | None) -> None:
    assert email.echo(text) == whose


# What a server's reply means


@pytest.mark.parametrize(
    ("reply", "text", "code", "action"),
    [
        (452, "4.2.2 Mailbox full", "4.2.2", ErrorAction.RETRY),
        (450, "4.7.1 Greylisted, come back", "4.7.1", ErrorAction.RETRY),
        (421, "4.7.28 too fast", "4.7.28", ErrorAction.RETRY),
        (550, "5.1.1 No such user", "5.1.1", ErrorAction.FAIL),
        (550, "5.1.1", "5.1.1", ErrorAction.FAIL),
        (550, "05.01.001 odd", "550", ErrorAction.FAIL),
        (554, "5.7.1 Spam", "5.7.1", ErrorAction.FAIL),
        (535, "5.7.8 Bad credentials", "5.7.8", ErrorAction.HOLD),
        (550, "5.7.999 new policy", "5.7.0", ErrorAction.FAIL),
        (450, "4.99.1 new subject", "4.0.0", ErrorAction.RETRY),
        (550, "No such user", "550", ErrorAction.FAIL),
        (450, "Try later", "450", ErrorAction.RETRY),
        (499, "Try later", "499", ErrorAction.RETRY),
        (599, "", "599", ErrorAction.FAIL),
        (550, "4.2.2 contradicts itself", "550", ErrorAction.FAIL),
        (450, "5.1.1 contradicts itself", "450", ErrorAction.RETRY),
        (550, "5.1.1234 no status", "550", ErrorAction.FAIL),
        (550, "sorry, 4.2.2", "550", ErrorAction.FAIL),
    ],
)
def test_a_reply_is_retried_or_fails(reply: int, text: str, code: str, action: ErrorAction) -> None:
    assert email.reply_code(reply, text, CODES) == code
    assert CODES.action(code) is action


@given(st.integers(400, 599), st.from_regex(r"\A[245]\.[0-9]{1,3}\.[0-9]{1,3} .*\Z") | st.text())
def test_the_first_digit_decides_whatever_the_server_adds(reply: int, text: str) -> None:
    action = CODES.action(email.reply_code(reply, text, CODES))
    assert action is ErrorAction.RETRY if reply < 500 else action in (ErrorAction.FAIL, ErrorAction.HOLD)


@pytest.mark.parametrize(
    ("reply", "text", "code"),
    [
        (535, "5.7.8 wrong password", "5.7.8"),
        (535, "5.7.3 Authentication unsuccessful", "535"),
        (530, "5.7.0 Authentication Required", "530"),
        (534, "5.7.9 Application-specific password required", "5.7.9"),
        (535, "no status at all", "535"),
        (538, "5.7.11 encryption", "538"),
    ],
)
def test_a_refused_log_in_holds_the_mailbox_whatever_status_the_server_adds(reply: int, text: str, code: str) -> None:
    assert email.reply_code(reply, text, CODES) == code
    known = CODES.find(code)
    assert known is not None
    assert (known.action, known.scope) == (ErrorAction.HOLD, ErrorScope.NUMBER)


def test_these_codes_hold_a_mailbox() -> None:
    held = {row.code for row in CODES.rows() if row.action is ErrorAction.HOLD}
    assert held == {*["530", "534", "535", "538", "5.7.8", "5.7.9", "5.7.10", "5.7.12", "5.7.13"], "BAD_MAILBOX"}


def test_every_code_says_what_it_means_and_each_status_has_both_classes() -> None:
    rows = [*CODES.codes.values(), *(row for _, _, row in CODES.ranges)]
    assert len(rows) == 151
    assert all(row.title.strip() and row.meaning.strip() for row in rows)
    for_now, for_good = ({code[1:] for code in CODES.codes if code.startswith(level)} for level in ("4.", "5."))
    assert for_now == for_good
