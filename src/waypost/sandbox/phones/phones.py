"""The customers' phones: they write to a business and read its messages."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from waypost.ports.platform.clock import Clock, Ids
from waypost.sandbox.content.recipients import phone_digits
from waypost.sandbox.phones.accepted_messages import wamid_of
from waypost.sandbox.phones.contacts import Contacts
from waypost.sandbox.phones.delivery_simulator import DeliverySimulator
from waypost.sandbox.phones.inbound import (
    MEDIA_TYPES,
    as_posted,
    inbound_value,
    is_system_message,
    number_change_message,
)
from waypost.sandbox.phones.screens import PhoneMessage, Screens
from waypost.sandbox.store.media import INBOUND_KEPT, MediaStore, SandboxMedia
from waypost.sandbox.store.numbers import SandboxNumber
from waypost.sandbox.webhooks.sender import Webhooks, webhook_body

MOST_AT_ONCE = 1000
"""Messages in one webhook."""


class SayRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`message` is an inbound message as the webhook will carry it; its own `id` and `timestamp` are kept.

    `texts` or `messages` are a burst: one webhook each, or with `together` one webhook for all of them. `name`,
    `username` and `hide_phone` change the customer's profile.
    With `file_base64` and `mime_type` the file is stored, and the media object gets its id and checksum; the same
    applies to a media object with its own `data` (base64) and `mime_type`.
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


class PhoneChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A customer gets a new number."""

    new_phone: str
    phone_number_id: str | None = None


class InvalidPhoneMessage(Exception):
    """A request for a message that a phone cannot send."""


class Phones:
    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        webhooks: Webhooks,
        contacts: Contacts,
        screens: Screens,
        delivery: DeliverySimulator,
        media: MediaStore,
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._webhooks = webhooks
        self._contacts = contacts
        self._screens = screens
        self._delivery = delivery
        self._media = media

    async def say(self, phone: str, number: SandboxNumber, request: SayRequest) -> str:
        """Returns the wamid after the first webhook attempt; retries run in the background."""
        message = self._with_file(number, request, _message_of(request))
        self._contacts.met(phone, request.name, request.username, request.hide_phone)
        one = self._written(phone, number, message)
        await self._post(number, [one])
        return one.wamid

    async def say_all(self, phone: str, number: SandboxNumber, request: SayRequest) -> list[str]:
        """Sends a burst; each separate webhook is posted after the first attempt of the one before."""
        messages = [self._with_file(number, request, message) for message in _messages_of(request)]
        self._contacts.met(phone, request.name, request.username, request.hide_phone)
        written: list[PhoneMessage] = []
        for message in messages:
            written.append(self._written(phone, number, message))
            if not request.together:
                await self._post(number, written[-1:])
        if request.together:
            await self._post(number, written)
        return [one.wamid for one in written]

    async def change_number(self, phone: str, number: SandboxNumber, moved: PhoneChange) -> tuple[str, str]:
        """Returns the wamid of the system message and the new phone, which takes over the screen."""
        new_phone = phone_digits(moved.new_phone)
        if new_phone is None or new_phone == phone:
            raise InvalidPhoneMessage(f"new_phone: {moved.new_phone!r} is not another phone number")
        person = self._contacts.person(phone)
        one = self._phone_message(phone, number_change_message(phone, new_phone, person))
        self._contacts.moved(phone, new_phone)
        self._screens.moved(phone, new_phone)
        await self._webhooks.post(number, webhook_body(number, inbound_value([one], person)))
        return one.wamid, new_phone

    def _written(self, phone: str, number: SandboxNumber, message: dict[str, Any]) -> PhoneMessage:
        one = self._phone_message(phone, as_posted(number, message))
        if not is_system_message(message):
            self._contacts.wrote(phone, number.phone_number_id, one.at)
        self._screens.wrote(one)
        return one

    def _phone_message(self, phone: str, message: dict[str, Any]) -> PhoneMessage:
        own = message.get("id")
        rest = {key: value for key, value in message.items() if key != "id"}
        return PhoneMessage(phone, str(own or wamid_of(phone, self._ids.token(12))), rest, self._clock.now())

    async def _post(self, number: SandboxNumber, written: list[PhoneMessage]) -> None:
        body = webhook_body(number, inbound_value(written, self._contacts.person(written[0].phone)))
        answered = await self._webhooks.post(number, body)
        if answered:
            for one in written:
                self._screens.delivered(one)

    async def read(self, phone: str) -> int:
        return await self._delivery.read(phone)

    def screen(self, phone: str) -> list[dict[str, Any]]:
        return self._screens.shown(phone)

    @property
    def forgotten(self) -> int:
        return self._screens.forgotten

    def file(self, media_id: str) -> SandboxMedia | None:
        """A file that was sent to or by a phone."""
        return self._media.get(media_id)

    def _with_file(self, number: SandboxNumber, request: SayRequest, message: dict[str, Any]) -> dict[str, Any]:
        given = message.get(message["type"])
        described = dict(given) if message["type"] in MEDIA_TYPES and isinstance(given, dict) else {}
        data = described.pop("data", request.file_base64)
        mime_type = request.mime_type or described.get("mime_type")
        if data is None:
            return message
        if message["type"] not in MEDIA_TYPES or not isinstance(mime_type, str):
            raise InvalidPhoneMessage("a file needs a mime_type and a message of type " + ", ".join(MEDIA_TYPES))
        stored = self._media.store(number, _decoded(data), mime_type, INBOUND_KEPT)
        reference = {"id": stored.id, "mime_type": mime_type, "sha256": base64.b64encode(stored.digest).decode()}
        return {**message, message["type"]: {**described, **reference}}


def _decoded(data: object) -> bytes:
    try:
        return base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidPhoneMessage(f"file_base64 or data: {error}") from error


def is_burst(request: SayRequest) -> bool:
    return request.texts is not None or request.messages is not None


def _message_of(request: SayRequest) -> dict[str, Any]:
    if (request.text is None) == (request.message is None):
        raise InvalidPhoneMessage("set either text or message, or texts or messages for a burst")
    return _text(request.text) if request.text is not None else _typed(request.message or {})


def _messages_of(request: SayRequest) -> list[dict[str, Any]]:
    alone = (request.text, request.message, request.file_base64)
    if (request.texts is None) == (request.messages is None) or any(one is not None for one in alone):
        raise InvalidPhoneMessage("a burst has either texts or messages, and neither text, message nor file_base64")
    messages = [_text(text) for text in request.texts or ()] or [_typed(message) for message in request.messages or ()]
    if not 1 <= len(messages) <= MOST_AT_ONCE:
        raise InvalidPhoneMessage(f"a burst has 1 to {MOST_AT_ONCE} messages, not {len(messages)}")
    return messages


def _text(body: str) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}}


def _typed(message: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(message.get("type"), str):
        raise InvalidPhoneMessage("a message needs a type")
    return message
