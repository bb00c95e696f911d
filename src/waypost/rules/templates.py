"""May this template be sent so, and what will the customer read?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

import msgspec

from waypost.model.template import Button, Preview, ShownButton, Template, Words
from waypost.rules.template_parameters import Given, WrongParameters, listed, understood, wrong_parameters
from waypost.rules.template_reading import filled

CANNOT_BE_SENT = frozenset(
    {"PENDING", "REJECTED", "DISABLED", "IN_APPEAL", "PENDING_DELETION", "DELETED", "LIMIT_EXCEEDED", "ARCHIVED"}
)
"""A paused template is missing here: it comes back by itself, and its messages wait for that.

So is any status that did not exist when this was written: the provider knows what it means.
"""

_COMPARED = 64
"""Characters of a name that count for a near miss."""


class UnknownTemplate(msgspec.Struct, frozen=True):
    field: Literal["name", "language"]
    reason: str


Verdict: TypeAlias = UnknownTemplate | WrongParameters | None


def check(templates: Sequence[Template], name: str, language: str, components: object) -> Verdict:
    """What a sender would have to mend before this template can be sent; None when nothing is wrong."""
    template = find(templates, name, language)
    if isinstance(template, UnknownTemplate):
        return template
    if template.status in CANNOT_BE_SENT:
        reason = f"template {name[:80]!r} in {language} is {template.status}: it cannot be sent until it is APPROVED"
        return UnknownTemplate("name", reason)
    return wrong_parameters(template, components)


def find(templates: Sequence[Template], name: str, language: str) -> Template | UnknownTemplate:
    """The template of this name in exactly this language."""
    by_language = {each.language: each for each in templates if each.name == name}
    if not by_language:
        return UnknownTemplate("name", _nobody(templates, name))
    if language not in by_language:
        there = listed(sorted(by_language))
        return UnknownTemplate("language", f"template {name[:80]!r} is not in {language[:40]!r}, it is in {there}")
    return by_language[language]


def _nobody(templates: Sequence[Template], name: str) -> str:
    by_start = {each.name[:_COMPARED]: each.name for each in templates}
    close = [by_start[start] for start in get_close_matches(name[:_COMPARED].lower(), sorted(by_start), 3, 0.6)]
    told = f"the account has no template {name[:80]!r}"
    return f"{told}; did you mean {listed(close)}?" if close else told


def preview(template: Template, components: object) -> Preview:
    """The template with its values in their places; a place without one stays as it is."""
    given = understood(components)
    parts = given if isinstance(given, list) else []
    sent = {(each.kind, each.index): each for each in parts}
    body = template.body or Words()
    return Preview(
        header=_shown_header(template, sent.get(("header", None))),
        body=filled(body, _values(body, sent.get(("body", None)))),
        footer=template.footer,
        buttons=tuple(_shown_button(each, sent.get(("button", n))) for n, each in enumerate(template.buttons)),
    )


def _values(words: Words, given: Given | None) -> Mapping[str, str]:
    """By the name that comes with a value, else by its turn."""
    parameters = given.parameters if given else []
    turns = dict(zip(words.places, map(_shown, parameters), strict=False))
    named = {str(each["parameter_name"]): _shown(each) for each in parameters if each.get("parameter_name")}
    return named or turns


def _shown(parameter: Mapping[str, Any]) -> str:
    """Money and dates come with the words that stand in for them."""
    value = parameter.get(str(parameter.get("type")))
    return str(value.get("fallback_value", "")) if isinstance(value, dict) else str(value)


def _shown_header(template: Template, given: Given | None) -> str | None:
    header = template.header
    if header is None:
        return None
    if header.format == "text":
        return filled(header.words, _values(header.words, given))
    inner = given.parameters[0].get(header.format) if given and given.parameters else None
    content: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    named = next((str(content[key]) for key in ("filename", "name", "link", "id") if content.get(key)), "")
    return f"[{header.format} {named}]" if named else f"[{header.format}]"


def _shown_button(button: Button, given: Given | None) -> ShownButton:
    """A link has its ending filled in; a code or a reply shows what comes with the message."""
    first = given.parameters[0] if given and given.parameters else None
    if button.value.text:
        turn = {place: _shown(first) for place in button.value.places} if first else {}
        return ShownButton(button.kind, button.label, filled(button.value, turn))
    if first is None or first.get("type") not in ("payload", "coupon_code", "text"):
        return ShownButton(button.kind, button.label, None)
    return ShownButton(button.kind, button.label, _shown(first))


def is_marketing(templates: Sequence[Template], name: str) -> bool:
    """All languages of a name are of one category."""
    return any(template.name == name and template.category.upper() == "MARKETING" for template in templates)
