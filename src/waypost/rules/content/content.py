"""Checks of each message type before it is queued: the Cloud API's documented limits, nothing stricter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from waypost.rules.content.interactive import check_interactive
from waypost.rules.text.json_validation import Filled, HttpUrl, InvalidField, read

LONGEST_TEXT: Final = 4096
LONGEST_CAPTION: Final = 1024
MOST_CONTACTS: Final = 257

ContentCheck: TypeAlias = Callable[[object, str], InvalidField | None]
Caption: TypeAlias = Annotated[str, Meta(max_length=LONGEST_CAPTION)]
Degrees: TypeAlias = float | Annotated[str, Meta(pattern=r"^[+-]?[0-9]{1,3}(\.[0-9]*)?\Z")]
"""The Cloud API also accepts them as strings."""
Objects: TypeAlias = list[dict[str, Any]]


class MediaContent(Struct, frozen=True):
    """By the id of an upload or by link."""

    id: Filled | None = None
    link: HttpUrl | None = None


class CaptionedMedia(MediaContent, frozen=True):
    caption: Caption | None = None


class Document(CaptionedMedia, frozen=True):
    filename: str | None = None


class Audio(MediaContent, frozen=True):
    voice: bool | None = None


class Location(Struct, frozen=True):
    latitude: Degrees
    longitude: Degrees
    name: str | None = None
    address: str | None = None


class Reaction(Struct, frozen=True):
    message_id: Filled
    emoji: str
    """Empty to remove the reaction."""


class ContactName(Struct, frozen=True):
    formatted_name: Filled
    first_name: str | None = None
    last_name: str | None = None
    middle_name: str | None = None
    suffix: str | None = None
    prefix: str | None = None


class ContactCard(Struct, frozen=True):
    name: ContactName
    phones: Objects | None = None
    emails: Objects | None = None
    addresses: Objects | None = None
    urls: Objects | None = None
    org: dict[str, Any] | None = None
    birthday: str | None = None


class Language(Struct, frozen=True):
    code: Filled


class TemplateContent(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=512)]
    language: Language
    components: Objects | None = None


class ReplyContext(Struct, frozen=True):
    """The message that this one answers."""

    message_id: Filled


M = TypeVar("M", bound=MediaContent)
_Cards: TypeAlias = Annotated[list[ContactCard], Meta(min_length=1, max_length=MOST_CONTACTS)]


def check(kind: str, content: object, where: str) -> InvalidField | None:
    """The first error in the content of a message of this type; an unknown type is not checked."""
    rule = _CHECKS.get(kind)
    return rule(content, where) if rule else None


def check_text(text: object, where: str) -> InvalidField | None:
    if not isinstance(text, str) or not text or text.isspace():
        return InvalidField(where, "must be a text that is not empty")
    if len(text) > LONGEST_TEXT:
        return InvalidField(where, f"has {len(text)} characters, at most {LONGEST_TEXT} are allowed")
    return None


def check_context(context: object, where: str) -> InvalidField | None:
    if context is None:
        return None
    found = read(context, ReplyContext, where)
    return found if isinstance(found, InvalidField) else None


def _text(content: object, where: str) -> InvalidField | None:
    if not isinstance(content, dict):
        return InvalidField(f"{where}.body", 'is required: {"type": "text", "text": {"body": "…"}}')
    if not isinstance(content.get("preview_url"), bool | None):
        return InvalidField(f"{where}.preview_url", "must be true or false")
    return check_text(content.get("body"), f"{where}.body")


def _media(wanted: type[M]) -> ContentCheck:
    def check_media(content: object, where: str) -> InvalidField | None:
        media = read(content, wanted, where)
        return media if isinstance(media, InvalidField) else check_source(media.id, media.link, where)

    return check_media


def check_source(upload: str | None, link: str | None, where: str) -> InvalidField | None:
    if upload is None and link is None:
        return InvalidField(where, "must have an id or a link")
    if upload is not None and link is not None:
        return InvalidField(where, "must have either an id or a link, not both")
    return None


def _location(content: object, where: str) -> InvalidField | None:
    location = read(content, Location, where)
    if isinstance(location, InvalidField):
        return location
    for name, degrees, most in (("latitude", location.latitude, 90), ("longitude", location.longitude, 180)):
        if not -most <= float(degrees) <= most:
            return InvalidField(f"{where}.{name}", f"must be a number from -{most} to {most}")
    return None


def _contacts(content: object, where: str) -> InvalidField | None:
    cards: list[ContactCard] | InvalidField = read(content, _Cards, where)
    if isinstance(cards, InvalidField):
        return cards
    for index, card in enumerate(cards):
        name = card.name
        if not any((name.first_name, name.last_name, name.middle_name, name.suffix, name.prefix)):
            parts = "first_name, last_name, middle_name, suffix or prefix"
            return InvalidField(f"{where}[{index}].name", f"must have a {parts} beside formatted_name")
    return None


def _shaped(wanted: type[Struct]) -> ContentCheck:
    """A check of the types only."""

    def check_shape(content: object, where: str) -> InvalidField | None:
        found = read(content, wanted, where)
        return found if isinstance(found, InvalidField) else None

    return check_shape


_CHECKS: Final[Mapping[str, ContentCheck]] = MappingProxyType(
    {
        "text": _text,
        "image": _media(CaptionedMedia),
        "video": _media(CaptionedMedia),
        "audio": _media(Audio),
        "document": _media(Document),
        "sticker": _media(MediaContent),
        "location": _location,
        "contacts": _contacts,
        "reaction": _shaped(Reaction),
        "interactive": check_interactive,
        "template": _shaped(TemplateContent),
    }
)


def mark_read(wamid: str, *, typing: bool = False) -> bytes:
    """The request body that marks a customer's message as read; `typing` also shows a typing indicator."""
    body: dict[str, Any] = {"messaging_product": "whatsapp", "status": "read", "message_id": wamid}
    if typing:
        body["typing_indicator"] = {"type": "text"}
    return msgspec.json.encode(body)
