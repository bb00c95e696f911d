"""Checks of a template message, and its preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

import msgspec

from waypost.model.template import Preview, ShownButton, Template, TemplateButton, TemplateText
from waypost.rules.content.template_parameters import (
    GivenComponent,
    WrongParameters,
    listed,
    parse_components,
    wrong_parameters,
)
from waypost.rules.content.template_reading import filled

CANNOT_BE_SENT = frozenset(
    {"PENDING", "REJECTED", "DISABLED", "IN_APPEAL", "PENDING_DELETION", "DELETED", "LIMIT_EXCEEDED", "ARCHIVED"}
)
"""Without PAUSED: a paused template becomes usable again by itself, and its messages wait.

Without unknown statuses: the provider decides about those.
"""

_COMPARED = 64
"""Characters of a name that are compared for suggestions."""


class UnknownTemplate(msgspec.Struct, frozen=True):
    field: Literal["name", "language"]
    reason: str


TemplateProblem: TypeAlias = UnknownTemplate | WrongParameters | None


def check(templates: Sequence[Template], name: str, language: str, components: object) -> TemplateProblem:
    """The first error that prevents sending this template; None if there is none."""
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
        return UnknownTemplate("name", _unknown_name(templates, name))
    if language not in by_language:
        there = listed(sorted(by_language))
        return UnknownTemplate("language", f"template {name[:80]!r} is not in {language[:40]!r}, it is in {there}")
    return by_language[language]


def _unknown_name(templates: Sequence[Template], name: str) -> str:
    by_start = {each.name[:_COMPARED]: each.name for each in templates}
    close = [by_start[start] for start in get_close_matches(name[:_COMPARED].lower(), sorted(by_start), 3, 0.6)]
    reason = f"the account has no template {name[:80]!r}"
    return f"{reason}; did you mean {listed(close)}?" if close else reason


def preview(template: Template, components: object) -> Preview:
    """The template with its placeholders filled in; one without a value stays."""
    given = parse_components(components)
    parts = given if isinstance(given, list) else []
    sent = {(each.kind, each.index): each for each in parts}
    body = template.body or TemplateText()
    return Preview(
        header=_shown_header(template, sent.get(("header", None))),
        body=filled(body, _values(body, sent.get(("body", None)))),
        footer=template.footer,
        buttons=tuple(_shown_button(each, sent.get(("button", n))) for n, each in enumerate(template.buttons)),
    )


def _values(words: TemplateText, given: GivenComponent | None) -> Mapping[str, str]:
    """Values by parameter name, or else by order."""
    parameters = given.parameters if given else []
    turns = dict(zip(words.places, map(_shown, parameters), strict=False))
    named = {str(each["parameter_name"]): _shown(each) for each in parameters if each.get("parameter_name")}
    return named or turns


def _shown(parameter: Mapping[str, Any]) -> str:
    """Currencies and dates are shown by their `fallback_value`."""
    value = parameter.get(str(parameter.get("type")))
    return str(value.get("fallback_value", "")) if isinstance(value, dict) else str(value)


def _shown_header(template: Template, given: GivenComponent | None) -> str | None:
    header = template.header
    if header is None:
        return None
    if header.format == "text":
        return filled(header.words, _values(header.words, given))
    inner = given.parameters[0].get(header.format) if given and given.parameters else None
    content: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    named = next((str(content[key]) for key in ("filename", "name", "link", "id") if content.get(key)), "")
    return f"[{header.format} {named}]" if named else f"[{header.format}]"


def _shown_button(button: TemplateButton, given: GivenComponent | None) -> ShownButton:
    """A link with its suffix filled in; a code or reply with its parameter."""
    first = given.parameters[0] if given and given.parameters else None
    if button.value.text:
        turn = {place: _shown(first) for place in button.value.places} if first else {}
        return ShownButton(button.kind, button.label, filled(button.value, turn))
    if first is None or first.get("type") not in ("payload", "coupon_code", "text"):
        return ShownButton(button.kind, button.label, None)
    return ShownButton(button.kind, button.label, _shown(first))


def is_marketing(templates: Sequence[Template], name: str) -> bool:
    """Whether the template is of the marketing category; all languages of a name share one."""
    return any(template.name == name and template.category.upper() == "MARKETING" for template in templates)
