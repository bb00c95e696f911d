"""What each type of message must hold before it is queued: the Cloud API's documented limits, and nothing stricter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from waypost.rules.interactive import check_interactive
from waypost.rules.shape import Filled, Invalid, Link, read

LONGEST_TEXT: Final = 4096
LONGEST_CAPTION: Final = 1024
MOST_CONTACTS: Final = 257

Check: TypeAlias = Callable[[object, str], Invalid | None]
Caption: TypeAlias = Annotated[str, Meta(max_length=LONGEST_CAPTION)]
Degrees: TypeAlias = float | Annotated[str, Meta(pattern=r"^[+-]?[0-9]{1,3}(\.[0-9]*)?\Z")]
"""The Cloud API takes them in quotes too."""
Objects: TypeAlias = list[dict[str, Any]]


class Media(Struct, frozen=True):
    """By the id of an upload or by link."""

    id: Filled | None = None
    link: Link | None = None


class Captioned(Media, frozen=True):
    caption: Caption | None = None


class Document(Captioned, frozen=True):
    filename: str | None = None


class Audio(Media, frozen=True):
    voice: bool | None = None


class Location(Struct, frozen=True):
    latitude: Degrees
    longitude: Degrees
    name: str | None = None
    address: str | None = None


class Reaction(Struct, frozen=True):
    message_id: Filled
    emoji: str
    """An empty one takes the reaction back."""


class Name(Struct, frozen=True):
    formatted_name: Filled
    first_name: str | None = None
    last_name: str | None = None
    middle_name: str | None = None
    suffix: str | None = None
    prefix: str | None = None


class Card(Struct, frozen=True):
    name: Name
    phones: Objects | None = None
    emails: Objects | None = None
    addresses: Objects | None = None
    urls: Objects | None = None
    org: dict[str, Any] | None = None
    birthday: str | None = None


class Language(Struct, frozen=True):
    code: Filled


class Template(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=512)]
    language: Language
    components: Objects | None = None


class Context(Struct, frozen=True):
    """The message that this one answers."""

    message_id: Filled


M = TypeVar("M", bound=Media)
_Cards: TypeAlias = Annotated[list[Card], Meta(min_length=1, max_length=MOST_CONTACTS)]


def check(kind: str, content: object, where: str) -> Invalid | None:
    """What is wrong with the content of a message of this type; a type that we do not know is taken as it is."""
    rule = _CHECKS.get(kind)
    return rule(content, where) if rule else None


def check_text(text: object, where: str) -> Invalid | None:
    if not isinstance(text, str) or not text or text.isspace():
        return Invalid(where, "must be a text that is not empty")
    if len(text) > LONGEST_TEXT:
        return Invalid(where, f"has {len(text)} characters, at most {LONGEST_TEXT} are allowed")
    return None


def check_context(context: object, where: str) -> Invalid | None:
    if context is None:
        return None
    found = read(context, Context, where)
    return found if isinstance(found, Invalid) else None


def _text(content: object, where: str) -> Invalid | None:
    if not isinstance(content, dict):
        return Invalid(f"{where}.body", 'is required: {"type": "text", "text": {"body": "…"}}')
    if not isinstance(content.get("preview_url"), bool | None):
        return Invalid(f"{where}.preview_url", "must be true or false")
    return check_text(content.get("body"), f"{where}.body")


def _media(wanted: type[M]) -> Check:
    def check_media(content: object, where: str) -> Invalid | None:
        media = read(content, wanted, where)
        return media if isinstance(media, Invalid) else check_source(media.id, media.link, where)

    return check_media


def check_source(upload: str | None, link: str | None, where: str) -> Invalid | None:
    if upload is None and link is None:
        return Invalid(where, "must have an id or a link")
    if upload is not None and link is not None:
        return Invalid(where, "must have either an id or a link, not both")
    return None


def _location(content: object, where: str) -> Invalid | None:
    location = read(content, Location, where)
    if isinstance(location, Invalid):
        return location
    for name, degrees, most in (("latitude", location.latitude, 90), ("longitude", location.longitude, 180)):
        if not -most <= float(degrees) <= most:
            return Invalid(f"{where}.{name}", f"must be a number from -{most} to {most}")
    return None


def _contacts(content: object, where: str) -> Invalid | None:
    cards: list[Card] | Invalid = read(content, _Cards, where)
    if isinstance(cards, Invalid):
        return cards
    for index, card in enumerate(cards):
        name = card.name
        if not any((name.first_name, name.last_name, name.middle_name, name.suffix, name.prefix)):
            parts = "first_name, last_name, middle_name, suffix or prefix"
            return Invalid(f"{where}[{index}].name", f"must have a {parts} beside formatted_name")
    return None


def _shaped(wanted: type[Struct]) -> Check:
    """Where the types say everything."""

    def check_shape(content: object, where: str) -> Invalid | None:
        found = read(content, wanted, where)
        return found if isinstance(found, Invalid) else None

    return check_shape


_CHECKS: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "text": _text,
        "image": _media(Captioned),
        "video": _media(Captioned),
        "audio": _media(Audio),
        "document": _media(Document),
        "sticker": _media(Media),
        "location": _location,
        "contacts": _contacts,
        "reaction": _shaped(Reaction),
        "interactive": check_interactive,
        "template": _shaped(Template),
    }
)


def mark_read(wamid: str, *, typing: bool = False) -> bytes:
    """The body that marks a customer's message as read; `typing` shows that somebody writes, and marks it read too."""
    body: dict[str, Any] = {"messaging_product": "whatsapp", "status": "read", "message_id": wamid}
    if typing:
        body["typing_indicator"] = {"type": "text"}
    return msgspec.json.encode(body)
