"""The message templates of each account."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from waypost.sandbox.content.json_checks import Json
from waypost.sandbox.content.recipients import Recipient
from waypost.sandbox.content.template_parameters import (
    Layout,
    layout_of,
    rendered,
    shown_buttons,
    variables,
    wrong_parameters,
)
from waypost.sandbox.edge.graph_errors import (
    INVALID_PARAMETER,
    TEMPLATE_DISABLED,
    TEMPLATE_PAUSED,
    TEMPLATE_UNKNOWN,
    USER_ID_NOT_SUPPORTED,
    GraphError,
    bad_parameter,
)

MOST_TEMPLATES: Final = 250
CATEGORIES: Final = ("AUTHENTICATION", "MARKETING", "UTILITY")
_NAME: Final = re.compile(r"[a-z0-9_]{1,512}")
_FIRST_ID: Final = 1_000_000_000_000_000

_SAMPLES: Final[tuple[Json, ...]] = (
    {
        "name": "hello_world",
        "language": "en_US",
        "category": "UTILITY",
        "components": [
            {"type": "HEADER", "format": "TEXT", "text": "Hello World"},
            {"type": "BODY", "text": "Welcome and congratulations!! This message shows that you can send templates."},
            {"type": "FOOTER", "text": "WhatsApp Business Platform sample message"},
        ],
    },
    {
        "name": "order_confirmation",
        "language": "en",
        "category": "UTILITY",
        "components": [
            {
                "type": "BODY",
                "text": "Hello {{1}}, your order {{2}} is confirmed.",
                "example": {"body_text": [["Ann", "A1"]]},
            },
        ],
    },
)


class SandboxTemplate(msgspec.Struct, frozen=True):
    """In the form of the Graph API."""

    name: str
    parameter_format: str
    components: list[Json]
    language: str
    status: str
    category: str
    id: str


class TemplateRegistry:
    """An account gets the sample templates on first use."""

    def __init__(self) -> None:
        self._by_account: dict[str, list[SandboxTemplate]] = {}
        self._layouts: dict[str, Layout] = {}
        self._count = 0

    def of(self, waba_id: str) -> list[SandboxTemplate]:
        if waba_id not in self._by_account:
            self._by_account[waba_id] = [self._create(sample) for sample in _SAMPLES]
        return self._by_account[waba_id]

    def create(self, waba_id: str, definition: Json) -> SandboxTemplate | GraphError:
        """Creates a template, approved at once."""
        templates = self.of(waba_id)
        if wrong := _wrong_definition(definition, templates):
            return wrong
        template = self._create(definition)
        templates.append(template)
        return template

    def delete(self, waba_id: str, name: str) -> bool:
        """Deletes a template in all its languages."""
        gone = [template for template in self.of(waba_id) if template.name == name]
        for template in gone:
            self.of(waba_id).remove(template)
            del self._layouts[template.id]
        return bool(gone)

    def _create(self, definition: Json) -> SandboxTemplate:
        self._count += 1
        template = SandboxTemplate(
            name=definition["name"],
            parameter_format=_parameter_format(definition),
            components=definition["components"],
            language=definition["language"],
            status="APPROVED",
            category=definition["category"],
            id=str(_FIRST_ID + self._count),
        )
        self._layouts[template.id] = layout_of(template.components, template.parameter_format == "NAMED")
        return template

    def find(self, waba_id: str, sent: Json) -> SandboxTemplate | None:
        name, language = sent["name"], sent["language"]["code"]
        return next((one for one in self.of(waba_id) if one.name == name and one.language == language), None)

    def by_id(self, template_id: str) -> tuple[str, SandboxTemplate] | None:
        """A template and its account."""
        for waba_id, templates in self._by_account.items():
            for template in templates:
                if template.id == template_id:
                    return waba_id, template
        return None

    def usable(self, waba_id: str, sent: Json, recipient: Recipient) -> SandboxTemplate | GraphError:
        """The template of a message, or why the message may not be sent."""
        template = self.find(waba_id, sent)
        if template is None or template.status not in ("APPROVED", "PAUSED", "DISABLED"):
            name, language = sent["name"], sent["language"]["code"]
            return GraphError(TEMPLATE_UNKNOWN, details=f"template name ({name}) does not exist in {language}")
        if template.status != "APPROVED":
            return GraphError(TEMPLATE_PAUSED if template.status == "PAUSED" else TEMPLATE_DISABLED, template.name)
        if recipient.by_user_id and template.category == "AUTHENTICATION":
            return GraphError(USER_ID_NOT_SUPPORTED, details="Authentication templates need a phone number in 'to'")
        return wrong_parameters(self._layouts[template.id], sent.get("components") or []) or template

    def buttons(self, waba_id: str, sent: Json) -> list[Json]:
        """The buttons below the message."""
        template = self.find(waba_id, sent)
        return shown_buttons(template.components, sent.get("components") or []) if template else []

    def rendered(self, waba_id: str, sent: Json) -> str | None:
        """The text that the customer reads; None if the template was deleted."""
        template = self.find(waba_id, sent)
        return rendered(self._layouts[template.id], sent.get("components") or []) if template else None


def _parameter_format(definition: Json) -> str:
    names = [name for part in definition["components"] for name in variables(part.get("text"))]
    declared = str(definition.get("parameter_format", "")).upper()
    return declared or ("NAMED" if any(not name.isdecimal() for name in names) else "POSITIONAL")


def _wrong_definition(definition: Json, existing: list[SandboxTemplate]) -> GraphError | None:
    name, language = definition.get("name"), definition.get("language")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return bad_parameter("Param name must be lower-case letters, digits and underscores.")
    if not isinstance(language, str) or not language:
        return bad_parameter("The parameter language is required.")
    if definition.get("category") not in CATEGORIES:
        return bad_parameter(f"Param category must be one of {{{', '.join(CATEGORIES)}}}.")
    if len(existing) >= MOST_TEMPLATES:
        return GraphError(2388019, details=f"The account has {MOST_TEMPLATES} templates already")
    if any(one.name == name and one.language == language for one in existing):
        details = "Content in this language already exists"
        return GraphError(INVALID_PARAMETER, details=details, subcode=2388024)
    return _wrong_components(definition.get("components"))


def _wrong_components(components: Any) -> GraphError | None:
    if not isinstance(components, list) or not all(isinstance(part, dict) for part in components):
        return bad_parameter("Param components must be an array of objects.")
    buttons = [part.get("buttons") for part in components if str(part.get("type")).upper() == "BUTTONS"]
    if not all(isinstance(some, list) and all(isinstance(one, dict) for one in some) for some in buttons):
        return bad_parameter("Param buttons must be an array of objects.")
    bodies = [part for part in components if str(part.get("type")).upper() == "BODY"]
    return None if len(bodies) == 1 else bad_parameter("Param components must have one component of type BODY.")
