"""What a customer does: writing to a business and reading what it wrote."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from waypost.ports.clock import Clock, Ids
from waypost.sandbox.contacts import Contacts
from waypost.sandbox.courier import Courier
from waypost.sandbox.inbound import MEDIA_TYPES, a_move, as_posted, inbound_value, is_notice
from waypost.sandbox.letters import wamid_of
from waypost.sandbox.media import INBOUND_KEPT, Media, MediaStore
from waypost.sandbox.numbers import SandboxNumber
from waypost.sandbox.recipients import phone_digits
from waypost.sandbox.screens import Note, Screens
from waypost.sandbox.webhooks import Webhooks, webhook_body

MOST_AT_ONCE = 1000
"""Messages in one webhook."""


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`message` is an inbound message as the webhook will carry it; its own `id` and `timestamp` are kept.

    `texts` or `messages` are a burst: one webhook each, or with `together` one webhook for all of them. `name`,
    `username` and `hide_phone` are what the customer goes by from now on.
    With `file_base64` and `mime_type` the file is stored, and the media object gets its id and checksum; so it is with
    a media object that has `data` (base64) and `mime_type` itself.
    """

    text: str | None = None
    message: dict[str, Any] | None = None
    texts: list[str] | None = None
    messages: list[dict[str, Any]] | None = None
    together: bool = False
    name: str | None = None
    username: str | None = None
    hide_phone: bool | None = None
    phone_number_id: str | None = None
    file_base64: str | None = None
    mime_type: str | None = None


class Moved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A customer gets a new number."""

    new_phone: str
    phone_number_id: str | None = None


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
        message = self._with_file(number, said, _message_of(said))
        self._contacts.met(phone, said.name, said.username, said.hide_phone)
        note = self._written(phone, number, message)
        await self._post(number, [note])
        return note.wamid

    async def say_all(self, phone: str, number: SandboxNumber, said: Said) -> list[str]:
        """A burst; of separate webhooks each is posted when the one before it was tried."""
        messages = [self._with_file(number, said, message) for message in _messages_of(said)]
        self._contacts.met(phone, said.name, said.username, said.hide_phone)
        notes: list[Note] = []
        for message in messages:
            notes.append(self._written(phone, number, message))
            if not said.together:
                await self._post(number, notes[-1:])
        if said.together:
            await self._post(number, notes)
        return [note.wamid for note in notes]

    async def change_number(self, phone: str, number: SandboxNumber, moved: Moved) -> tuple[str, str]:
        """Returns the wamid of the notice and the new phone, which has the screen from now on."""
        new_phone = phone_digits(moved.new_phone)
        if new_phone is None or new_phone == phone:
            raise Unsayable(f"new_phone: {moved.new_phone!r} is not another phone number")
        person = self._contacts.person(phone)
        note = self._note(phone, a_move(phone, new_phone, person))
        self._contacts.moved(phone, new_phone)
        self._screens.moved(phone, new_phone)
        await self._webhooks.post(number, webhook_body(number, inbound_value([note], person)))
        return note.wamid, new_phone

    def _written(self, phone: str, number: SandboxNumber, message: dict[str, Any]) -> Note:
        note = self._note(phone, as_posted(number, message))
        if not is_notice(message):
            self._contacts.wrote(phone, number.phone_number_id, note.at)
        self._screens.wrote(note)
        return note

    def _note(self, phone: str, message: dict[str, Any]) -> Note:
        own = message.get("id")
        rest = {key: value for key, value in message.items() if key != "id"}
        return Note(phone, str(own or wamid_of(phone, self._ids.token(12))), rest, self._clock.now())

    async def _post(self, number: SandboxNumber, notes: list[Note]) -> None:
        body = webhook_body(number, inbound_value(notes, self._contacts.person(notes[0].phone)))
        answered = await self._webhooks.post(number, body)
        if answered:
            for note in notes:
                self._screens.delivered(note)

    async def read(self, phone: str) -> int:
        return await self._courier.read(phone)

    def screen(self, phone: str) -> list[dict[str, Any]]:
        return self._screens.shown(phone)

    def file(self, media_id: str) -> Media | None:
        """One that was sent to or by a phone."""
        return self._media.get(media_id)

    def _with_file(self, number: SandboxNumber, said: Said, message: dict[str, Any]) -> dict[str, Any]:
        given = message.get(message["type"])
        described = dict(given) if message["type"] in MEDIA_TYPES and isinstance(given, dict) else {}
        data = described.pop("data", said.file_base64)
        mime_type = said.mime_type or described.get("mime_type")
        if data is None:
            return message
        if message["type"] not in MEDIA_TYPES or not isinstance(mime_type, str):
            raise Unsayable("a file needs a mime_type and a message of type " + ", ".join(MEDIA_TYPES))
        stored = self._media.store(number, _decoded(data), mime_type, INBOUND_KEPT)
        told = {"id": stored.id, "mime_type": mime_type, "sha256": base64.b64encode(stored.digest).decode()}
        return {**message, message["type"]: {**described, **told}}


def _decoded(data: object) -> bytes:
    try:
        return base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unsayable(f"file_base64 or data: {error}") from error


def is_burst(said: Said) -> bool:
    return said.texts is not None or said.messages is not None


def _message_of(said: Said) -> dict[str, Any]:
    if (said.text is None) == (said.message is None):
        raise Unsayable("say either text or message, or a burst of texts or messages")
    return _text(said.text) if said.text is not None else _typed(said.message or {})


def _messages_of(said: Said) -> list[dict[str, Any]]:
    alone = (said.text, said.message, said.file_base64)
    if (said.texts is None) == (said.messages is None) or any(one is not None for one in alone):
        raise Unsayable("a burst is either texts or messages, and nothing besides")
    messages = [_text(text) for text in said.texts or ()] or [_typed(message) for message in said.messages or ()]
    if not 1 <= len(messages) <= MOST_AT_ONCE:
        raise Unsayable(f"a burst has 1 to {MOST_AT_ONCE} messages, not {len(messages)}")
    return messages


def _text(body: str) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}}


def _typed(message: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(message.get("type"), str):
        raise Unsayable("message needs a type")
    return message
