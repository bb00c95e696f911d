"""The sandbox's control API under `/_sandbox`: numbers, phones, faults and recorded calls."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from waypost.ports.platform.clock import Ids
from waypost.sandbox.content.recipients import phone_of, user_id_of
from waypost.sandbox.control.change_watch import ChangeWatch
from waypost.sandbox.edge.asgi import SandboxRequest, SandboxResponse, answer
from waypost.sandbox.faults import Fault, Faults, InvalidFault
from waypost.sandbox.graph.calls import Calls, shown
from waypost.sandbox.phones.phones import InvalidPhoneMessage, PhoneChange, Phones, SayRequest, is_burst
from waypost.sandbox.store.media import SandboxMedia
from waypost.sandbox.store.numbers import Numbers, SandboxNumber
from waypost.sandbox.webhooks.account_updates import Update, Updates
from waypost.sandbox.webhooks.sender import Webhooks

Body = TypeVar("Body")

SHOWN_INLINE = frozenset(f"image/{kind}" for kind in ("jpeg", "png", "webp", "gif")) | frozenset(
    ("audio/aac", "audio/amr", "audio/mp4", "audio/mpeg", "audio/ogg", "video/mp4", "video/3gpp")
)
_NOT_RENDERED = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
)


class Control:
    def __init__(
        self,
        ids: Ids,
        numbers: Numbers,
        faults: Faults,
        calls: Calls,
        phones: Phones,
        webhooks: Webhooks,
        updates: Updates,
        watch: ChangeWatch,
    ) -> None:
        self._ids = ids
        self._numbers = numbers
        self._faults = faults
        self._calls = calls
        self._phones = phones
        self._webhooks = webhooks
        self._updates = updates
        self._watch = watch

    async def answer(self, request: SandboxRequest, parts: list[str]) -> SandboxResponse:
        try:
            return await self._routed(request, parts)
        except (msgspec.ValidationError, msgspec.DecodeError, InvalidFault, InvalidPhoneMessage) as error:
            return _error(400, str(error))

    async def _routed(self, request: SandboxRequest, parts: list[str]) -> SandboxResponse:
        match (request.method, *parts):
            case ("GET", "health"):
                forgotten = {"calls": self._calls.forgotten, "messages": self._phones.forgotten}
                return answer(200, {"status": "ok", "forgotten": forgotten})
            case (_, "numbers", *rest):
                return await self._number_call(request, rest)
            case (_, "faults", *rest):
                return self._fault_call(request, rest)
            case ("GET", "calls"):
                calls = self._calls.listed(request.query.get("to"))
                return answer(200, {"calls": [shown(call) for call in calls], "forgotten": self._calls.forgotten})
            case ("POST", "updates"):
                return await self._update(_read(request, Update))
            case _:
                return await self._customer_call(request, parts)

    async def _customer_call(self, request: SandboxRequest, parts: list[str]) -> SandboxResponse:
        match (request.method, *parts):
            case (_, "phones", phone, verb):
                return await self._phone_call(request, phone, verb)
            case ("GET", "media", media_id):
                return _file(self._phones.file(media_id))
            case _:
                return _error(404, f"{request.method} {request.path} is not an endpoint of the sandbox")

    async def _number_call(self, request: SandboxRequest, rest: list[str]) -> SandboxResponse:
        match (request.method, *rest):
            case ("GET",):
                return answer(200, {"numbers": self._numbers.all()})
            case ("POST",):
                number = _read(request, SandboxNumber)
                self._numbers.add(number)
                return answer(201, number)
            case ("POST", phone_number_id, "verify"):
                known = self._numbers.get(phone_number_id)
                if known is None:
                    return _error(404, f"no number {phone_number_id}")
                return answer(200, {"verified": await self._webhooks.verified(known, self._ids.token(8))})
            case _:
                return _error(405, f"numbers do not support {request.method}")

    def _fault_call(self, request: SandboxRequest, rest: list[str]) -> SandboxResponse:
        match (request.method, *rest):
            case ("POST",):
                made = self._faults.add(_read(request, Fault))
                self._watch.notify()
                return answer(201, {"id": made})
            case ("GET",):
                return answer(200, {"faults": self._faults.listed()})
            case ("DELETE",):
                cleared = self._faults.clear()
                self._watch.notify()
                return answer(200, {"cleared": cleared})
            case ("DELETE", fault_id):
                removed = self._faults.remove(fault_id)
                self._watch.notify()
                return answer(200, {"cleared": 1}) if removed else _error(404, f"no fault {fault_id}")
            case _:
                return _error(405, f"faults do not support {request.method}")

    async def _phone_call(self, request: SandboxRequest, written: str, verb: str) -> SandboxResponse:
        phone = phone_of(written)
        if phone is None:
            return _error(400, f"{written!r} is not a phone number")
        match (request.method, verb):
            case ("POST", "say"):
                return await self._say(phone, _read(request, SayRequest))
            case ("POST", "number"):
                return await self._change_number(phone, _read(request, PhoneChange))
            case ("POST", "read"):
                return answer(200, {"read": await self._phones.read(phone)})
            case ("GET", "screen"):
                return answer(200, await self._screen(phone, request.query))
            case _:
                return _error(404, f"phones do not support {request.method} {verb}")

    async def _screen(self, phone: str, query: dict[str, str]) -> dict[str, Any]:
        """With `after`, waits for a later version and returns more."""
        if "after" in query:
            return await self._watch.poll(phone, query)
        return {"phone": phone, "messages": self._phones.screen(phone)}

    async def _say(self, phone: str, request: SayRequest) -> SandboxResponse:
        number = self._number(request.phone_number_id)
        if number is None:
            return _error(404, f"no number {request.phone_number_id or 'at all'}")
        if is_burst(request):
            return answer(200, {"wamids": await self._phones.say_all(phone, number, request)})
        return answer(200, {"wamid": await self._phones.say(phone, number, request)})

    async def _change_number(self, phone: str, change: PhoneChange) -> SandboxResponse:
        number = self._number(change.phone_number_id)
        if number is None:
            return _error(404, f"no number {change.phone_number_id or 'at all'}")
        wamid, new_phone = await self._phones.change_number(phone, number, change)
        return answer(200, {"wamid": wamid, "phone": new_phone, "user_id": user_id_of(new_phone)})

    def _number(self, wanted: str | None) -> SandboxNumber | None:
        """The wanted number, or the first one."""
        return self._numbers.get(wanted) if wanted else next(iter(self._numbers.all()), None)

    async def _update(self, update: Update) -> SandboxResponse:
        answered = await self._updates.post(update)
        if answered is None:
            return _error(404, f"no number {update.phone_number_id or update.waba_id or 'at all'}")
        return answer(200, {"answered": answered})


def _file(media: SandboxMedia | None) -> SandboxResponse:
    """Serves images, audio and video inline, everything else as a download, so that no browser renders it."""
    if media is None:
        return _error(404, "no such file")
    kind = media.mime_type.partition(";")[0].strip().lower()
    if kind in SHOWN_INLINE:
        return SandboxResponse(200, media.content, content_type=kind, headers=_NOT_RENDERED)
    kept = (b"content-disposition", b"attachment")
    return SandboxResponse(200, media.content, content_type="application/octet-stream", headers=(*_NOT_RENDERED, kept))


def _read(request: SandboxRequest, kind: type[Body]) -> Body:
    return msgspec.json.decode(request.body, type=kind)


def _error(status: int, reason: str) -> SandboxResponse:
    return answer(status, {"error": reason})
