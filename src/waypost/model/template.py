"""Message templates, and their preview with the sender's values."""

from __future__ import annotations

import msgspec


class TemplateText(msgspec.Struct, frozen=True):
    """A text with placeholders."""

    text: str = ""
    places: tuple[str, ...] = ()
    """Each once: numbers in ascending order, names in order of appearance."""


class TemplateHeader(msgspec.Struct, frozen=True):
    format: str
    """Lower case: `text`, `image`, `video`, `document`, `location`, or a newer format."""
    words: TemplateText


class TemplateButton(msgspec.Struct, frozen=True):
    kind: str
    """Lower case: `url`, `quick_reply`, `copy_code`, `flow`, `phone_number`, …"""
    label: str
    value: TemplateText
    """The link, the phone number or the code behind it."""


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """One template name in one language, as listed by the account."""

    id: str
    name: str
    language: str
    status: str
    category: str
    named: bool
    """Its placeholders have names; otherwise they are numbered from 1."""
    header: TemplateHeader | None
    body: TemplateText | None
    """None if the account does not show the text."""
    footer: str | None
    buttons: tuple[TemplateButton, ...]
    definition: str
    """The provider's whole definition as JSON; all other fields are derived from it."""


class TemplateStatusChange(msgspec.Struct, frozen=True):
    """A status change of one template, reported by the provider."""

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
        """Its whole text, one part per line."""
        return "\n".join(part for part in (self.header, self.body, self.footer) if part)
