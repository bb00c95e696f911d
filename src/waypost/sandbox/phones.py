"""What a customer does: writing to a business and reading what it wrote."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from waypost.ports.clock import Clock, Ids
from waypost.sandbox.contacts import Contacts
from waypost.sandbox.courier import Courier
from waypost.sandbox.letters import wamid_of
from waypost.sandbox.media import INBOUND_KEPT, MediaStore
from waypost.sandbox.numbers import SandboxNumber
from waypost.sandbox.recipients import user_id_of
from waypost.sandbox.screens import Note, Screens
from waypost.sandbox.webhooks import Webhooks, webhook_body

MEDIA_TYPES = ("image", "video", "audio", "document", "sticker")


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`message` is an inbound message as the webhook will carry it; its own `id` and `timestamp` are kept.

    With `file_base64` and `mime_type` the file is stored, and the media object gets its id and checksum.
    """

    text: str | None = None
    message: dict[str, Any] | None = None
    name: str | None = None
    phone_number_id: str | None = None
    file_base64: str | None = None
    mime_type: str | None = None


class Unsayable(Exception):
    """A phone was asked to write something that is no message."""


class Phones:
    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        webhooks: Webhooks,
        contacts: Contacts,
        screens: Screens,
        courier: Courier,
        media: MediaStore,
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._webhooks = webhooks
        self._contacts = contacts
        self._screens = screens
        self._courier = courier
        self._media = media

    async def say(self, phone: str, number: SandboxNumber, said: Said) -> str:
        """Returns the wamid after the first webhook try; tries go on in the background while it is not answered."""
        now = self._clock.now()
        message = self._with_file(number, said, _message_of(said))
        wamid = str(message.pop("id", None) or wamid_of(phone, self._ids.token(12)))
        note = Note(phone, wamid, message, now)
        self._contacts.wrote(phone, number.phone_number_id, now, said.name)
        self._screens.wrote(note)
        body = webhook_body(number, inbound_value(note, self._contacts.name_of(phone)))
        if await self._webhooks.post(number, body) and note.status == "sent":
            note.status = "delivered"
        return wamid

    async def read(self, phone: str) -> int:
        return await self._courier.read(phone)

    def screen(self, phone: str) -> list[dict[str, Any]]:
        return self._screens.shown(phone)

    def _with_file(self, number: SandboxNumber, said: Said, message: dict[str, Any]) -> dict[str, Any]:
        if said.file_base64 is None:
            return message
        if message["type"] not in MEDIA_TYPES or not said.mime_type:
            raise Unsayable("a file needs a mime_type and a message of type " + ", ".join(MEDIA_TYPES))
        try:
            content = base64.b64decode(said.file_base64, validate=True)
        except binascii.Error as error:
            raise Unsayable(f"file_base64: {error}") from error
        stored = self._media.store(number, content, said.mime_type, INBOUND_KEPT)
        told = {"id": stored.id, "mime_type": said.mime_type, "sha256": base64.b64encode(stored.digest).decode()}
        return {**message, message["type"]: {**(message.get(message["type"]) or {}), **told}}


def _message_of(said: Said) -> dict[str, Any]:
    if (said.text is None) == (said.message is None):
        raise Unsayable("say either text or message")
    if said.message is None:
        return {"type": "text", "text": {"body": said.text}}
    if not isinstance(said.message.get("type"), str):
        raise Unsayable("message needs a type")
    return dict(said.message)


def inbound_value(note: Note, name: str) -> dict[str, Any]:
    user_id = user_id_of(note.phone)
    contact = {"profile": {"name": name}, "wa_id": note.phone, "user_id": user_id}
    message = {
        "from": note.phone,
        "from_user_id": user_id,
        "id": note.wamid,
        "timestamp": str(note.at // 1_000_000),
        **note.message,
    }
    return {"contacts": [contact], "messages": [message]}
