"""Message templates: what an account has had approved, and what a sender fills in."""

from __future__ import annotations

import msgspec


class Words(msgspec.Struct, frozen=True):
    """A text with places to fill in."""

    text: str = ""
    places: tuple[str, ...] = ()
    """Each once: numbers by size, names in order of appearance."""


class Header(msgspec.Struct, frozen=True):
    format: str
    """In small letters: `text`, `image`, `video`, `document`, `location`, or one that came later."""
    words: Words


class Button(msgspec.Struct, frozen=True):
    kind: str
    """In small letters: `url`, `quick_reply`, `copy_code`, `flow`, `phone_number`, …"""
    label: str
    value: Words
    """The link, the phone number or the code behind it."""


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """One name in one language, as the account has it."""

    id: str
    name: str
    language: str
    status: str
    category: str
    named: bool
    """Its places have names; else they are counted from 1."""
    header: Header | None
    body: Words | None
    """None where the account does not show the text."""
    footer: str | None
    buttons: tuple[Button, ...]
    definition: str
    """The whole of it as JSON, in the provider's words; everything above can be read from it again."""


class StatusChange(msgspec.Struct, frozen=True):
    """What the provider told of one template."""

    name: str
    language: str
    status: str


class ShownButton(msgspec.Struct, frozen=True):
    kind: str
    label: str
    value: str | None


class Preview(msgspec.Struct, frozen=True):
    """What the customer will see."""

    header: str | None
    body: str
    footer: str | None
    buttons: tuple[ShownButton, ...]

    @property
    def text(self) -> str:
        """All the words of it, a line each."""
        return "\n".join(part for part in (self.header, self.body, self.footer) if part)
