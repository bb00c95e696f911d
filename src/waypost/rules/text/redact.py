"""Removal of access tokens, phone numbers and links from a provider's texts."""

from __future__ import annotations

import re
from typing import Any

import msgspec

TOKEN, NUMBER, LINK = "[token]", "[number]", "[link]"
LONGEST_TEXT = 4_000
"""Maximum characters of one text, which limits the work; the rest is cut off."""

_ANNOUNCED = r"bearer|oauth|token|secret|password|(?:api|app|secret)[ _-]?key|appsecret_proof|authorization"
_SECRETS = frozenset({"access_token", "token", "appsecret_proof", "app_secret", "secret", "authorization", "password"})
"""Fields whose value is always a secret."""

_OPAQUE = r"[A-Za-z0-9._~+/|%=-]"
_LINKED = r"""[^\s"'<>]*[^\s"'<>.,;:!?)\]]"""
"""The rest of a link, without the punctuation after it."""
_GAP = r"[ .()/\u00a0\u2010-\u2015-]{0,3}"
_PATTERN = re.compile(
    rf"""
    (?P<kept> wamid\.[A-Za-z0-9+/=_-]+           # a message id, needed to find the message
            | \#\d{{1,7}}(?!\d)                  # an error code in the provider's notation
    )
  | (?P<link> \b(?:[a-z][a-z0-9+.-]{{1,15}}://|www\.){_LINKED}
            | \b(?:[a-z0-9-]{{1,63}}\.){{1,8}}[a-z]{{2,24}}/(?:{_LINKED})?
    )
  | (?P<token> (?<![A-Za-z0-9])EAA[A-Za-z0-9_-]{{6,}}
            | (?<!\d)\d{{6,}}\|{_OPAQUE}{{8,}}   # an app's own token: its id and its secret
            | (?P<word>(?:{_ANNOUNCED})["']?(?:\s+is)?[\s:=]{{1,3}}["']?)
              (?: (?={_OPAQUE}{{0,99}}\d){_OPAQUE}{{8,}} | {_OPAQUE}{{32,}} )
    )
  | (?P<number> (?:\+|(?<!\d)00)[ ]?\d(?:{_GAP}\d){{5,}}
            | (?<![^\W_])\(?\d{{3}}\)?[ .-]{{1,2}}\d{{3}}[ .-]\d{{4}}(?![^\W_])
            | (?<![^\W_])\d{{7,}}(?![^\W_])
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PLACEHOLDERS = {"link": LINK, "number": NUMBER}
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeError)


def redact(text: str) -> str:
    """The text with secrets and personal data replaced by placeholders; error codes stay."""
    before, clean = "", text[:LONGEST_TEXT]
    while clean != before:  # a replacement may expose another match
        before, clean = clean, _PATTERN.sub(_placeholder, clean)
    return clean


def _placeholder(found: re.Match[str]) -> str:
    if found["kept"]:
        return found["kept"]
    if found["token"]:
        return (found["word"] or "") + TOKEN
    return _PLACEHOLDERS[str(found.lastgroup)]


def without(secret: str, text: str) -> str:
    """The text without this secret, and without NUL, which a database cannot store."""
    readable = text.replace("\0", "\ufffd")
    for written in {secret, secret.replace("/", "\\/")} - {""}:  # JSON may escape a slash
        readable = readable.replace(written, TOKEN)
    return readable


def redact_answer(text: str) -> str:
    """An answer with all strings redacted; JSON keeps its structure, anything else is one string."""
    try:
        decoded = msgspec.json.decode(text)
        clean = _clean(decoded)
        return text if clean == decoded else msgspec.json.encode(clean).decode()
    except _UNREADABLE:
        return redact(text)


def _clean(value: Any) -> Any:
    match value:
        case str():
            return redact(value)
        case list():
            return [_clean(item) for item in value]
        case dict():
            return {name: _clean_field(name, item) for name, item in value.items()}
        case _:
            return value


def _clean_field(name: str, value: Any) -> Any:
    if isinstance(value, str) and name.lower() in _SECRETS:
        return TOKEN
    if name == "messages" and isinstance(value, list):
        return [_clean_message(item) for item in value]
    return _clean(value)


def _clean_message(message: Any) -> Any:
    """Keeps the provider's message id, since statuses refer to it."""
    if isinstance(message, dict) and isinstance(message.get("id"), str):
        return _clean(message) | {"id": message["id"]}
    return _clean(message)
