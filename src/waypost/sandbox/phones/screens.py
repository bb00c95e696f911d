"""The screens of the phones: both sides of the conversation, oldest first."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from waypost.model.time import Instant
from waypost.sandbox.content.templates import TemplateRegistry
from waypost.sandbox.edge.asgi import iso
from waypost.sandbox.phones.accepted_messages import AcceptedMessage, SandboxStatus
from waypost.sandbox.phones.changes import Changes
from waypost.sandbox.store.keyed_log import KeyedLog


class PhoneMessage(msgspec.Struct):
    """A message from the customer; `delivered` when its webhook was answered, `read` when the business marked it."""

    phone: str
    wamid: str
    message: dict[str, Any]
    at: Instant
    status: Literal["sent", "delivered", "read"] = "sent"


class Screens:
    def __init__(self, most_bytes: int, templates: TemplateRegistry, changes: Changes) -> None:
        self._log: KeyedLog[AcceptedMessage | PhoneMessage] = KeyedLog(most_bytes)
        self._by_wamid: dict[str, PhoneMessage] = {}
        self._typing: dict[str, Instant] = {}
        self._templates = templates
        self._changes = changes

    def received(self, message: AcceptedMessage) -> None:
        self._typing.pop(message.recipient.phone, None)
        self._drop(self._log.add(message.recipient.phone, message, len(message.body)))
        self._changes.happened()

    def reached(self, message: AcceptedMessage, status: SandboxStatus) -> None:
        message.reached(status)
        self._changes.happened()

    def wrote(self, message: PhoneMessage) -> None:
        self._by_wamid[message.wamid] = message
        self._drop(self._log.add(message.phone, message, len(msgspec.json.encode(message.message))))
        self._changes.happened()

    def delivered(self, message: PhoneMessage) -> None:
        """Keeps `read` if the business has already marked it."""
        if message.status == "sent":
            message.status = "delivered"
            self._changes.happened()

    def moved(self, phone: str, new_phone: str) -> None:
        self._log.move(phone, new_phone)
        self._changes.happened()

    def _drop(self, entries: list[AcceptedMessage | PhoneMessage]) -> None:
        for entry in entries:
            if isinstance(entry, PhoneMessage):
                self._by_wamid.pop(entry.wamid, None)

    @property
    def forgotten(self) -> int:
        """How many messages are no longer on any screen."""
        return self._log.dropped

    def marked_read(self, wamid: str) -> None:
        if message := self._by_wamid.get(wamid):
            message.status = "read"
            self._changes.happened()

    def typing(self, wamid: str, until: Instant) -> None:
        """Shows the typing indicator to the customer who wrote this message."""
        if message := self._by_wamid.get(wamid):
            self._typing[message.phone] = until
            self._changes.happened()

    def typing_until(self, phone: str) -> Instant | None:
        return self._typing.get(phone)

    def accepted_messages(self, phone: str) -> list[AcceptedMessage]:
        return [entry for entry in self._log.of(phone) if isinstance(entry, AcceptedMessage)]

    def latest_phones(self, most: int) -> list[str]:
        return self._log.latest_keys(most)

    def unread(self, phone: str) -> int:
        return sum(message.status in ("accepted", "sent", "delivered") for message in self.accepted_messages(phone))

    def shown(self, phone: str) -> list[dict[str, Any]]:
        return [self._shown(entry) for entry in self._log.of(phone)]

    def watched(self, phone: str, most: int) -> list[dict[str, Any]]:
        """The latest messages, with the buttons of templates."""
        return [self._with_buttons(entry, self._shown(entry)) for entry in self._log.of(phone)[-most:]]

    def _with_buttons(self, entry: AcceptedMessage | PhoneMessage, shown: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(entry, AcceptedMessage) or entry.kind != "template":
            return shown
        return {**shown, "buttons": self._templates.buttons(entry.number.waba_id, shown["message"]["template"])}

    def _shown(self, entry: AcceptedMessage | PhoneMessage) -> dict[str, Any]:
        ours = isinstance(entry, AcceptedMessage)
        message = _content_of(entry.body) if isinstance(entry, AcceptedMessage) else entry.message
        text = _text_of(message)
        if isinstance(entry, AcceptedMessage) and entry.kind == "template":
            text = self._templates.rendered(entry.number.waba_id, message["template"])
        return {
            "from": "business" if ours else "customer",
            "wamid": entry.wamid,
            "type": message["type"],
            "text": text,
            "message": message,
            "status": entry.status,
            "at": iso(entry.at),
        }


def _content_of(body: bytes) -> dict[str, Any]:
    """The message in the body of a call to the messages endpoint."""
    call: dict[str, Any] = msgspec.json.decode(body)
    kind = call.get("type", "text")
    content = {"type": kind, kind: call[kind]}
    return {**content, "context": call["context"]} if call.get("context") else content


def _text_of(message: dict[str, Any]) -> str | None:
    """The text of a message, or None."""
    kind = message["type"]
    content = message.get(kind)
    if not isinstance(content, dict):
        return None
    match kind:
        case "text":
            text = content.get("body")
        case "reaction":
            text = content.get("emoji")
        case "button" | "order":
            text = content.get("text")
        case "system":
            text = content.get("body")
        case "edit":
            text = _edited_text(content)
        case "location":
            text = content.get("name")
        case "interactive":
            text = _interactive_text(content)
        case _:
            text = content.get("caption")
    return text if isinstance(text, str) else None


def _edited_text(content: dict[str, Any]) -> object:
    """The text of the edited message; None for an edit of an edit."""
    made = content.get("message")
    if not isinstance(made, dict) or not isinstance(made.get("type"), str) or made["type"] == "edit":
        return None
    return _text_of(made)


def _interactive_text(content: dict[str, Any]) -> object:
    """The title of the customer's choice, or the body of the business's question."""
    chosen = content.get(str(content.get("type")))
    body = content.get("body")
    if isinstance(chosen, dict):
        return chosen.get("title") or chosen.get("body")
    return body.get("text") if isinstance(body, dict) else None
