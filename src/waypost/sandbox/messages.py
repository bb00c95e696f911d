"""The messages endpoint: judge the call, let faults befall it, accept it, send it on its way."""

from __future__ import annotations

import msgspec

from waypost.model.time import Instant, seconds
from waypost.ports.clock import Clock, Ids
from waypost.sandbox.account import json_object
from waypost.sandbox.asgi import Answer, Request, answer, gateway_page, refused
from waypost.sandbox.calls import Call, Calls
from waypost.sandbox.courier import Courier
from waypost.sandbox.faults import Fault, Faults, refusal_of, retry_after_header
from waypost.sandbox.graph_errors import INVALID_PARAMETER, Refusal
from waypost.sandbox.letters import Letter
from waypost.sandbox.numbers import Numbers, SandboxNumber
from waypost.sandbox.orders import Order, order_of, wrong_receipt
from waypost.sandbox.screens import Screens
from waypost.sandbox.shape import Json
from waypost.sandbox.templates import Templates

TYPING_SHOWN = seconds(25)
"""Meta takes the sign away then, or with the next message."""
_NOT_JSON = Refusal(INVALID_PARAMETER, details="The request body is not a JSON object")


class Messages:
    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        numbers: Numbers,
        templates: Templates,
        faults: Faults,
        calls: Calls,
        screens: Screens,
        courier: Courier,
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._numbers = numbers
        self._templates = templates
        self._faults = faults
        self._calls = calls
        self._screens = screens
        self._courier = courier

    async def post(self, request: Request, phone_number_id: str) -> Answer:
        body = json_object(request.body)
        call = self._calls.arrived(self._clock.now(), phone_number_id, request.body, body)
        number = self._numbers.allowed(request, phone_number_id)
        reply = await self._judged(number, body, call)
        call.http_status = reply.status
        return reply

    async def _judged(self, number: SandboxNumber | Refusal, body: Json | None, call: Call) -> Answer:
        if isinstance(number, Refusal):
            return self._refused(number)
        if body is None:
            return self._refused(_NOT_JSON)
        if "status" in body:
            return await self._receipt(body)
        order = order_of(number, body, self._templates)
        return self._refused(order) if isinstance(order, Refusal) else await self._carried_out(order, call)

    async def _carried_out(self, order: Order, call: Call) -> Answer:
        fault = self._faults.take(order.recipient.phone, order.kind)
        if refusal := await self._befallen(fault):
            return refusal
        letter = self._courier.accept(order, fault, bytes(call.body))
        call.wamid = letter.wamid
        await self._courier.set_out(letter, fault)
        return _as_told(_accepted(letter), fault)

    async def _receipt(self, body: Json) -> Answer:
        """Mark as read, with or without a typing indicator."""
        if wrong := wrong_receipt(body):
            return self._refused(wrong)
        fault = self._faults.take("", "typing" if "typing_indicator" in body else "read")
        if refusal := await self._befallen(fault):
            return refusal
        self._screens.marked_read(body["message_id"])
        if "typing_indicator" in body:
            self._screens.typing(body["message_id"], Instant(self._clock.now() + TYPING_SHOWN))
        return _as_told(answer(200, {"success": True}), fault)

    async def _befallen(self, fault: Fault) -> Answer | None:
        """What a fault does before anything is accepted."""
        if fault.delay_ms:
            await self._clock.sleep(seconds(fault.delay_ms / 1000))
        if fault.raw_status is not None:
            return msgspec.structs.replace(gateway_page(fault.raw_status), headers=retry_after_header(fault))
        refusal = refusal_of(fault)
        return self._refused(refusal, retry_after_header(fault)) if refusal else None

    def _refused(self, refusal: Refusal, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
        return refused(refusal, self._ids.token(12), headers)


def _accepted(letter: Letter) -> Answer:
    recipient = letter.recipient
    reached = {"user_id": recipient.written} if recipient.by_user_id else {"wa_id": recipient.phone}
    message = {"id": letter.wamid}
    if letter.kind == "template":
        message["message_status"] = "accepted"
    contacts = [{"input": recipient.written, **reached}]
    return answer(200, {"messaging_product": "whatsapp", "contacts": contacts, "messages": [message]})


def _as_told(reply: Answer, fault: Fault) -> Answer:
    """What the caller hears of a call that was carried out."""
    if fault.accept_then_raw_status is not None:
        reply = gateway_page(fault.accept_then_raw_status)
    return msgspec.structs.replace(reply, cut=True) if fault.drop_response else reply
