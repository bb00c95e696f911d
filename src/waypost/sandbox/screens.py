"""What a customer sees on the phone: both sides of the conversation, oldest first."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from waypost.model.time import Instant
from waypost.sandbox.calls import iso
from waypost.sandbox.changes import Changes
from waypost.sandbox.keyed_log import KeyedLog
from waypost.sandbox.letters import Letter, Status
from waypost.sandbox.templates import Templates


class Note(msgspec.Struct):
    """A message from the customer; `delivered` when a webhook was answered, `read` when the business says so."""

    phone: str
    wamid: str
    message: dict[str, Any]
    at: Instant
    status: Literal["sent", "delivered", "read"] = "sent"


class Screens:
    def __init__(self, most: int, templates: Templates, changes: Changes) -> None:
        self._log: KeyedLog[Letter | Note] = KeyedLog(most)
        self._notes: dict[str, Note] = {}
        self._typing: dict[str, Instant] = {}
        self._templates = templates
        self._changes = changes

    def received(self, letter: Letter) -> None:
        self._typing.pop(letter.recipient.phone, None)
        self._forget(self._log.add(letter.recipient.phone, letter))
        self._changes.happened()

    def reached(self, letter: Letter, status: Status) -> None:
        letter.reached(status)
        self._changes.happened()

    def wrote(self, note: Note) -> None:
        self._notes[note.wamid] = note
        self._forget(self._log.add(note.phone, note))
        self._changes.happened()

    def delivered(self, note: Note) -> None:
        """A business that has marked it as read meanwhile knows it already."""
        if note.status == "sent":
            note.status = "delivered"
            self._changes.happened()

    def moved(self, phone: str, new_phone: str) -> None:
        self._log.move(phone, new_phone)
        self._changes.happened()

    def _forget(self, entry: Letter | Note | None) -> None:
        if isinstance(entry, Note):
            self._notes.pop(entry.wamid, None)

    def marked_read(self, wamid: str) -> None:
        if note := self._notes.get(wamid):
            note.status = "read"
            self._changes.happened()

    def typing(self, wamid: str, until: Instant) -> None:
        """The business lets the writer of this message see that it types."""
        if note := self._notes.get(wamid):
            self._typing[note.phone] = until
            self._changes.happened()

    def typing_until(self, phone: str) -> Instant | None:
        return self._typing.get(phone)

    def letters(self, phone: str) -> list[Letter]:
        return [entry for entry in self._log.of(phone) if isinstance(entry, Letter)]

    def latest_phones(self, most: int) -> list[str]:
        return self._log.latest_keys(most)

    def unread(self, phone: str) -> int:
        return sum(letter.status in ("accepted", "sent", "delivered") for letter in self.letters(phone))

    def shown(self, phone: str) -> list[dict[str, Any]]:
        return [self._shown(entry) for entry in self._log.of(phone)]

    def watched(self, phone: str, most: int) -> list[dict[str, Any]]:
        """The latest, with what only a picture of a phone needs: the buttons of a template."""
        return [self._with_buttons(entry, self._shown(entry)) for entry in self._log.of(phone)[-most:]]

    def _with_buttons(self, entry: Letter | Note, shown: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(entry, Letter) or entry.kind != "template":
            return shown
        return {**shown, "buttons": self._templates.buttons(entry.number.waba_id, shown["message"]["template"])}

    def _shown(self, entry: Letter | Note) -> dict[str, Any]:
        ours = isinstance(entry, Letter)
        message = _content_of(entry.body) if isinstance(entry, Letter) else entry.message
        text = _text_of(message)
        if isinstance(entry, Letter) and entry.kind == "template":
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
    """The message itself out of a call to the messages endpoint."""
    call: dict[str, Any] = msgspec.json.decode(body)
    kind = call.get("type", "text")
    content = {"type": kind, kind: call[kind]}
    return {**content, "context": call["context"]} if call.get("context") else content


def _text_of(message: dict[str, Any]) -> str | None:
    """The words of a message, where it has any."""
    kind = message["type"]
    content = message.get(kind)
    if not isinstance(content, dict):
        return None
    match kind:
        case "text":
            words = content.get("body")
        case "reaction":
            words = content.get("emoji")
        case "button" | "order":
            words = content.get("text")
        case "system":
            words = content.get("body")
        case "edit":
            words = _words_of_edit(content)
        case "location":
            words = content.get("name")
        case "interactive":
            words = _words_of_interactive(content)
        case _:
            words = content.get("caption")
    return words if isinstance(words, str) else None


def _words_of_edit(content: dict[str, Any]) -> object:
    """Those of the message that it makes; an edit of an edit has none."""
    made = content.get("message")
    if not isinstance(made, dict) or not isinstance(made.get("type"), str) or made["type"] == "edit":
        return None
    return _text_of(made)


def _words_of_interactive(content: dict[str, Any]) -> object:
    """The title of what a customer chose, or the body of what a business asked."""
    chosen = content.get(str(content.get("type")))
    body = content.get("body")
    if isinstance(chosen, dict):
        return chosen.get("title") or chosen.get("body")
    return body.get("text") if isinstance(body, dict) else None
