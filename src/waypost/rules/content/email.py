"""Emails: checks of addresses and content, composition, and the error codes of mail servers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from email.charset import QP, Charset
from email.header import Header
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from email.policy import compat32
from email.utils import format_datetime
from typing import Any

import msgspec

from waypost.model.email import Email, Mailbox, Security
from waypost.model.ids import Fence, MessageId, Wamid
from waypost.model.time import Instant, to_datetime
from waypost.model.webhook import Echo
from waypost.rules.limits.error_catalogue import ErrorAction, ErrorCatalogue
from waypost.rules.sending.callback_data import read, stamp
from waypost.rules.text.json_validation import InvalidField

LONGEST_SUBJECT = 250
LONGEST_NAME = 100
LONGEST_HEADER = 900
"""An email line has at most 998 characters, and some text cannot be folded."""
MOST_HEADERS = 20
LARGEST_CONTENT = 1024 * 1024
"""Characters of text and html together."""

LOGIN = frozenset((530, 534, 535, 538))
"""Reply codes that only a login gets. Whatever status a server adds, the mailbox's credentials are at fault."""

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\.(?![0-9]+\Z){_LABEL}", re.ASCII)
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf"(?=.{{1,64}}\Z){_ATOM}(?:\.{_ATOM})*", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9.:-]{1,253}", re.ASCII)
_HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,75}", re.ASCII)
_OURS = re.compile(
    r"from|sender|to|cc|bcc|subject|date|message-id|reply-to|return-path|received|mime-version|content-.*|resent-.*"
    r"|dkim-signature|arc-.*",
    re.ASCII,
)
_UNSAFE = frozenset(("Cc", "Cs", "Zl", "Zp"))
"""Unicode categories that could end a header line or cannot be encoded."""
_PLAIN = re.compile(r"[!-~]+(?: [!-~]+)*", re.ASCII)
_STATUS = re.compile(r"([245])\.([0-9]{1,3})\.([0-9]{1,3})(?:\s|$)", re.ASCII)
_UTF8 = Charset("utf-8")
_UTF8.body_encoding = QP  # readable in transit, and no line in it can look like a boundary with "=_"
_AS_SENT = compat32.clone(linesep="\r\n")


def address(text: str) -> str | None:
    """A plain address with its domain in lower case; None for anything else, including display names and quoted forms.

    Only ASCII: not every server accepts other addresses, and a domain in another script has an `xn--` form.
    """
    local, _, domain = text.strip(" ").rpartition("@")
    if len(local) + len(domain) > 253 or not _LOCAL.fullmatch(local) or not _DOMAIN.fullmatch(domain):
        return None
    return f"{local}@{domain.lower()}"


def check_mailbox(mailbox: Mailbox) -> InvalidField | None:
    """The first setting that prevents sending from it."""
    if address(mailbox.address) != mailbox.address:
        return InvalidField("address", "must be an email address")
    if not _DOMAIN.fullmatch(mailbox.domain):
        return InvalidField("domain", "must be a domain, e.g. mail.example.com")
    if not _HOST.fullmatch(mailbox.host) or mailbox.port not in range(1, 65536):
        return InvalidField("host", "must be a host name or address, with a port from 1 to 65535")
    if mailbox.username is not None and mailbox.security is Security.NONE:
        return InvalidField("security", "must be tls or starttls when there is a password")
    return _check_line(mailbox.name, "name", LONGEST_NAME)


def check(payload: object, subject: str | None) -> InvalidField | None:
    """The first error that prevents queueing."""
    if not isinstance(payload, dict):
        return InvalidField("payloadJson", "must be an object")
    return next((found for found in _faults(payload, subject) if found), None)


def _faults(payload: dict[str, Any], subject: str | None) -> Iterator[InvalidField | None]:
    for unknown in payload.keys() - {"text", "html", "replyTo", "headers"}:
        yield InvalidField(
            f"payloadJson.{str(unknown)[:40]}", "is not known: an email has text, html, replyTo and headers"
        )
    yield _check_subject(subject)
    yield _check_content(payload)
    reply_to = payload.get("replyTo")
    if reply_to is not None and (not isinstance(reply_to, str) or address(reply_to) is None):
        yield InvalidField("payloadJson.replyTo", "must be an email address")
    yield from _check_headers(payload.get("headers"))


def _check_subject(subject: str | None) -> InvalidField | None:
    if subject is None or not subject.strip():
        return InvalidField("subject", "is required for an email")
    return _check_line(subject, "subject", LONGEST_SUBJECT)


def _check_content(payload: dict[str, Any]) -> InvalidField | None:
    given = {kind: payload[kind] for kind in ("text", "html") if payload.get(kind) is not None}
    if not given:
        return InvalidField("payloadJson.text", "is required, or html, or both")
    for kind, content in given.items():
        if not isinstance(content, str) or not content.strip():
            return InvalidField(f"payloadJson.{kind}", "must be a text that is not empty")
        if "\0" in content or not _encodable(content):
            return InvalidField(f"payloadJson.{kind}", "has a character that cannot be sent")
    size = sum(map(len, given.values()))
    if size > LARGEST_CONTENT:
        return InvalidField("payloadJson", f"has {size} characters of content, at most {LARGEST_CONTENT} are allowed")
    return None


def _check_headers(headers: object) -> Iterator[InvalidField | None]:
    if headers is None:
        return
    if not isinstance(headers, dict) or len(headers) > MOST_HEADERS:
        yield InvalidField("payloadJson.headers", f"must be an object of at most {MOST_HEADERS} names")
        return
    if len({str(name).lower() for name in headers}) < len(headers):
        yield InvalidField("payloadJson.headers", "names a header twice")
    for name, value in headers.items():
        yield _check_header(str(name), value)


def _check_header(name: str, value: object) -> InvalidField | None:
    field = f"payloadJson.headers.{name[:40]}"
    if not _HEADER_NAME.fullmatch(name):
        return InvalidField("payloadJson.headers", "has a name with other characters than letters, digits and dashes")
    if _OURS.fullmatch(name.lower()):
        return InvalidField(field, "is set by Waypost and cannot be given")
    if not isinstance(value, str) or not value.strip():
        return InvalidField(field, "must be a text that is not empty")
    return _check_line(value, field, LONGEST_HEADER)


def _check_line(text: str, field: str, longest: int) -> InvalidField | None:
    if len(text) > longest:
        return InvalidField(field, f"has {len(text)} characters, at most {longest} are allowed")
    if any(unicodedata.category(character) in _UNSAFE for character in text):
        return InvalidField(field, "must be one line without control characters")
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        return False
    return True


def write(
    mailbox: Mailbox,
    *,
    message_id: MessageId,
    fence: Fence,
    recipient: str,
    subject: str | None,
    payload: str,
    now: Instant,
) -> Email | InvalidField:
    """The email for one attempt, with our id and fence; checked again to rule out header injection."""
    content: Any = msgspec.json.decode(payload)
    to = address(recipient)
    wrong = check(content, subject) or check_mailbox(mailbox)
    if wrong or to is None or subject is None:
        return wrong or InvalidField("to", "must be an email address")
    own = Wamid(f"<{stamp(message_id, fence)}@{mailbox.domain}>")
    mail = _body(content, stamp(message_id, fence))
    mail["From"] = f"{_phrase(mailbox.name)}<{mailbox.address}>" if mailbox.name.strip() else mailbox.address
    mail["To"] = to
    mail["Subject"] = _header("Subject", subject)
    mail["Date"] = format_datetime(to_datetime(now))
    mail["Message-ID"] = own
    if content.get("replyTo"):
        mail["Reply-To"] = address(content["replyTo"])
    for name, value in (content.get("headers") or {}).items():
        mail[name] = _header(name, value)
    return Email(id=own, sender=mailbox.address, recipient=to, content=mail.as_bytes(policy=_AS_SENT))


def _body(content: dict[str, Any], boundary: str) -> Message[Any, Any]:
    kinds = {"text": "plain", "html": "html"}
    parts = [_part(content[key], kind) for key, kind in kinds.items() if content.get(key) is not None]
    if len(parts) == 1:
        return parts[0]
    # Our own boundary: the library would draw a random one.
    return MIMEMultipart("alternative", f"=_{boundary}", parts)


def _part(text: str, kind: str) -> Message[Any, Any]:
    part = MIMENonMultipart("text", kind)
    part.set_payload(text, _UTF8)
    return part


def _header(name: str, value: str) -> Header:
    """Plain ASCII as is; anything else encoded as a whole, so that it decodes exactly."""
    plain = _PLAIN.fullmatch(value) and "=?" not in value
    return Header(value, "us-ascii" if plain else "utf-8", header_name=name)


def _phrase(name: str) -> str:
    return f"{Header(name, 'utf-8', header_name='From').encode()} "


def echo(message_id: str | None) -> Echo | None:
    """The message of a Message-ID, e.g. one that a bounce refers to."""
    own, at, _ = (message_id or "").strip(" <>").partition("@")
    return read(own) if at else None


def reply_code(reply: int, text: str, known: ErrorCatalogue) -> str:
    """The enhanced status (RFC 3463) as far as the catalogue knows it, otherwise the three-digit reply code.

    An unknown detail is read as `x.y.0`, an unknown subject as `x.0.0`. A status that contradicts its reply code is
    ignored: servers act by the reply code.
    """
    found = _STATUS.match(text)
    if found is None or int(found[1]) != reply // 100:
        return str(reply)
    level, subject, detail = found.groups()
    candidates = [f"{level}.{int(subject)}.{int(detail)}", f"{level}.{int(subject)}.0", f"{level}.0.0"]
    if reply in LOGIN:
        candidates = [code for code in candidates if known.action(code) is ErrorAction.HOLD]
    return next((code for code in candidates if known.find(code)), str(reply))
