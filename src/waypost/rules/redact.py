"""A provider's words without what must not be kept: access tokens, phone numbers and links."""

from __future__ import annotations

import re
from typing import Any

import msgspec

TOKEN, NUMBER, LINK = "[token]", "[number]", "[link]"
LONGEST_TEXT = 4_000
"""Of one text; more is cut off, so that no answer, however long, takes long to clean."""

_ANNOUNCED = r"bearer|oauth|token|secret|password|(?:api|app|secret)[ _-]?key|appsecret_proof|authorization"
_SECRETS = frozenset({"access_token", "token", "appsecret_proof", "app_secret", "secret", "authorization", "password"})
"""Fields whose text is a secret, whatever it looks like."""

_OPAQUE = r"[A-Za-z0-9._~+/|%=-]"
_LINKED = r"""[^\s"'<>]*[^\s"'<>.,;:!?)\]]"""
"""Up to the end of the link, not of the sentence."""
_GAP = r"[ .()/\u00a0\u2010-\u2015-]{0,3}"
_PATTERN = re.compile(
    rf"""
    (?P<kept> wamid\.[A-Za-z0-9+/=_-]+           # names a message, and is needed to find it again
            | \#\d{{1,7}}(?!\d)                  # an error code, as the provider writes it
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
_STAND_INS = {"link": LINK, "number": NUMBER}
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeError)


def redact(text: str) -> str:
    """A sentence with its sense and its error code, and with nothing that opens a door or names a person."""
    before, clean = "", text[:LONGEST_TEXT]
    while clean != before:  # what was glued to something that is gone now stands alone
        before, clean = clean, _PATTERN.sub(_stand_in, clean)
    return clean


def _stand_in(found: re.Match[str]) -> str:
    if found["kept"]:
        return found["kept"]
    if found["token"]:
        return (found["word"] or "") + TOKEN
    return _STAND_INS[str(found.lastgroup)]


def without(secret: str, text: str) -> str:
    """Without one of our own secrets, whatever it looks like, and without what a database cannot hold."""
    readable = text.replace("\0", "\ufffd")
    for written in {secret, secret.replace("/", "\\/")} - {""}:  # JSON may escape a slash
        readable = readable.replace(written, TOKEN)
    return readable


def redact_answer(text: str) -> str:
    """An answer whose every text is redacted: JSON stays JSON of the same shape, anything else is one text."""
    try:
        told = msgspec.json.decode(text)
        clean = _clean(told)
        return text if clean == told else msgspec.json.encode(clean).decode()
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
    """The provider's id of a message stays, whatever it looks like: statuses come under it."""
    if isinstance(message, dict) and isinstance(message.get("id"), str):
        return _clean(message) | {"id": message["id"]}
    return _clean(message)
