"""What people write: read from the chat API's content, kept as the Cloud API would have it, shown again."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.chat import NOTE
from waypost.model.conversation import Entry
from waypost.rules import json_parts, people
from waypost.rules.payload import kind_of
from waypost.rules.shape import Invalid

LONGEST_TEXT = 16_384
"""Characters among people; to a customer the provider takes fewer."""
DELETED = "deleted"


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A content that can be posted."""

    type: str
    body: dict[str, Any]
    template: str | None = None
    """To a customer: the template that it is made from."""
    payload: dict[str, Any] | None = None
    """What goes out, where that is not `body`."""


def read(content: object, *, with_customer: bool) -> Written | Invalid:
    if not isinstance(content, dict) or not isinstance(content.get("type"), str):
        return Invalid("content", 'must be an object with a type, e.g. {"type": "text", "text": "Hello"}')
    kind = content["type"]
    if kind == "text":
        return _text(content)
    if not with_customer:
        return Invalid("content.type", "must be text among people")
    if kind == "template":
        return _template(content)
    if kind == NOTE:
        return Invalid("content.type", "notes are for the team: POST /conversations/{id}/notes")
    return Written(type=kind, body=dict(content))


def _text(content: dict[str, Any]) -> Written | Invalid:
    text = content.get("text")
    if isinstance(text, dict):
        text = text.get("body")
    if not isinstance(text, str) or not text.strip():
        return Invalid("content.text", "must be a text that says something")
    if len(text) > LONGEST_TEXT:
        return Invalid("content.text", f"has {len(text)} characters, at most {LONGEST_TEXT} are allowed")
    beside = {name: content[name] for name in ("context",) if name in content}
    return Written(type="text", body={"type": "text", "text": {"body": text}, **beside})


def _template(content: dict[str, Any]) -> Written | Invalid:
    template = content.get("template")
    if not isinstance(template, dict) or not isinstance(template.get("name"), str):
        return Invalid("content.template", 'must be an object with a name, e.g. {"name": "hello_world", …}')
    language = template.get("language")
    payload = {
        "language": language.get("code") if isinstance(language, dict) else language,
        **({"components": template["components"]} if "components" in template else {}),
    }
    return Written(
        type="template", body=from_template(template["name"], payload), template=template["name"], payload=payload
    )


def from_template(name: str, payload: dict[str, Any]) -> dict[str, Any]:
    """As the Cloud API has it, so that it is shown like any other message."""
    return {"type": "template", "template": {"name": name, **payload}}


def sent(template: str | None, payload: str) -> tuple[str, str]:
    """The type and the body under which a message of the outbox is shown in a conversation."""
    if template is None:
        return kind_of(payload), payload
    return "template", msgspec.json.encode(from_template(template, json_parts.whole(payload))).decode()


def note(text: str) -> Written | Invalid:
    if not text.strip():
        return Invalid("text", "must be a text that says something")
    if len(text) > LONGEST_TEXT:
        return Invalid("text", f"has {len(text)} characters, at most {LONGEST_TEXT} are allowed")
    return Written(type=NOTE, body={"type": NOTE, NOTE: {"body": text}})


def shown(entry: Entry) -> dict[str, Any]:
    if entry.deleted_at is not None:
        return {"type": DELETED}
    if entry.is_away:
        raise ValueError("only the Log has what was said: it is to be filled in before it is shown")
    message = people.read(entry.body, entry.type)
    if entry.type == NOTE:
        return {"type": NOTE, "text": words(entry)}
    return people.shown(message)


def words(entry: Entry) -> str:
    """What it says in words: what is searched, and shown in a list."""
    message = people.read(entry.body, entry.type)
    if entry.type == NOTE:
        inner = message.get(NOTE)
        text = inner.get("body") if isinstance(inner, dict) else None
        return text if isinstance(text, str) else ""
    return people.words(message)
