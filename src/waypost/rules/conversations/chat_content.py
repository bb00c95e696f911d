"""Message content: parsed from the chat API, stored in the Cloud API's format, and shown again."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.chat import NOTE
from waypost.model.conversation import Entry
from waypost.rules.content.payload import kind_of
from waypost.rules.conversations import message_text
from waypost.rules.text import json_parts
from waypost.rules.text.json_validation import InvalidField

LONGEST_TEXT = 16_384
"""Characters in an internal chat; the provider's limit for customers is lower."""
DELETED = "deleted"


class PostContent(msgspec.Struct, frozen=True, kw_only=True):
    """Content that can be posted."""

    type: str
    body: dict[str, Any]
    template: str | None = None
    """The template code, for a template to a customer."""
    payload: dict[str, Any] | None = None
    """The outbound payload, if it differs from `body`."""


def read(content: object, *, with_customer: bool) -> PostContent | InvalidField:
    if not isinstance(content, dict) or not isinstance(content.get("type"), str):
        return InvalidField("content", 'must be an object with a type, e.g. {"type": "text", "text": "Hello"}')
    kind = content["type"]
    if kind == "text":
        return _text(content)
    if not with_customer:
        return InvalidField("content.type", "must be text in an internal chat")
    if kind == "template":
        return _template(content)
    if kind == NOTE:
        return InvalidField("content.type", "notes are for the team: POST /conversations/{id}/notes")
    return PostContent(type=kind, body=dict(content))


def _text(content: dict[str, Any]) -> PostContent | InvalidField:
    text = content.get("text")
    if isinstance(text, dict):
        text = text.get("body")
    if not isinstance(text, str) or not text.strip():
        return InvalidField("content.text", "must be a text that is not empty")
    if len(text) > LONGEST_TEXT:
        return InvalidField("content.text", f"has {len(text)} characters, at most {LONGEST_TEXT} are allowed")
    beside = {name: content[name] for name in ("context",) if name in content}
    return PostContent(type="text", body={"type": "text", "text": {"body": text}, **beside})


def _template(content: dict[str, Any]) -> PostContent | InvalidField:
    template = content.get("template")
    if not isinstance(template, dict) or not isinstance(template.get("name"), str):
        return InvalidField("content.template", 'must be an object with a name, e.g. {"name": "hello_world", …}')
    language = template.get("language")
    payload = {
        "language": language.get("code") if isinstance(language, dict) else language,
        **({"components": template["components"]} if "components" in template else {}),
    }
    return PostContent(
        type="template", body=from_template(template["name"], payload), template=template["name"], payload=payload
    )


def from_template(name: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The Cloud API's message object, so that it is shown like any other message."""
    return {"type": "template", "template": {"name": name, **payload}}


def sent(template: str | None, payload: str) -> tuple[str, str]:
    """The type and the body under which a message of the outbox is shown in a conversation."""
    if template is None:
        return kind_of(payload), payload
    return "template", msgspec.json.encode(from_template(template, json_parts.whole(payload))).decode()


def note(text: str) -> PostContent | InvalidField:
    if not text.strip():
        return InvalidField("text", "must be a text that is not empty")
    if len(text) > LONGEST_TEXT:
        return InvalidField("text", f"has {len(text)} characters, at most {LONGEST_TEXT} are allowed")
    return PostContent(type=NOTE, body={"type": NOTE, NOTE: {"body": text}})


def shown(entry: Entry) -> dict[str, Any]:
    if entry.deleted_at is not None:
        return {"type": DELETED}
    if entry.is_archived:
        raise ValueError("the body is only in history: load it before the entry is shown")
    message = message_text.read(entry.body, entry.type)
    if entry.type == NOTE:
        return {"type": NOTE, "text": words(entry)}
    return message_text.shown(message)


def words(entry: Entry) -> str:
    """Its text, for search and lists."""
    message = message_text.read(entry.body, entry.type)
    if entry.type == NOTE:
        inner = message.get(NOTE)
        text = inner.get("body") if isinstance(inner, dict) else None
        return text if isinstance(text, str) else ""
    return message_text.words(message)
