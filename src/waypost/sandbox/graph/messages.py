"""The messages endpoint: validates a call, applies faults, accepts the message and starts its delivery."""

from __future__ import annotations

import msgspec

from waypost.model.time import Instant, seconds
from waypost.ports.platform.clock import Clock, Ids
from waypost.sandbox.content.json_checks import Json
from waypost.sandbox.content.message_checks import CheckedMessage, order_of, wrong_receipt
from waypost.sandbox.content.templates import TemplateRegistry
from waypost.sandbox.edge.asgi import SandboxRequest, SandboxResponse, answer, gateway_page, refused
from waypost.sandbox.edge.graph_errors import INVALID_PARAMETER, GraphError
from waypost.sandbox.faults import Fault, Faults, refusal_of, retry_after_header
from waypost.sandbox.graph.account import json_object
from waypost.sandbox.graph.calls import Calls, RecordedCall
from waypost.sandbox.phones.accepted_messages import AcceptedMessage
from waypost.sandbox.phones.delivery_simulator import DeliverySimulator
from waypost.sandbox.phones.screens import Screens
from waypost.sandbox.store.numbers import Numbers, SandboxNumber

TYPING_SHOWN = seconds(25)
"""How long the typing indicator shows, unless a message comes first."""
_NOT_JSON = GraphError(INVALID_PARAMETER, details="The request body is not a JSON object")


class MessageEndpoints:
    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        numbers: Numbers,
        templates: TemplateRegistry,
        faults: Faults,
        calls: Calls,
        screens: Screens,
        delivery: DeliverySimulator,
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._numbers = numbers
        self._templates = templates
        self._faults = faults
        self._calls = calls
        self._screens = screens
        self._delivery = delivery

    async def post(self, request: SandboxRequest, phone_number_id: str) -> SandboxResponse:
        body = json_object(request.body)
        call = self._calls.record(self._clock.now(), phone_number_id, request.body, body)
        number = self._numbers.allowed(request, phone_number_id)
        reply = await self._checked(number, body, call)
        call.http_status = reply.status
        return reply

    async def _checked(
        self, number: SandboxNumber | GraphError, body: Json | None, call: RecordedCall
    ) -> SandboxResponse:
        if isinstance(number, GraphError):
            return self._refused(number)
        if body is None:
            return self._refused(_NOT_JSON)
        if "status" in body:
            return await self._receipt(body)
        order = order_of(number, body, self._templates)
        return self._refused(order) if isinstance(order, GraphError) else await self._accept(order, call)

    async def _accept(self, order: CheckedMessage, call: RecordedCall) -> SandboxResponse:
        fault = self._faults.take(order.recipient.phone, order.kind)
        if refusal := await self._apply_fault_to_call(fault):
            return refusal
        accepted = self._delivery.accept(order, fault, bytes(call.body))
        call.wamid = accepted.wamid
        await self._delivery.start(accepted, fault)
        return _apply_fault(_accepted(accepted), fault)

    async def _receipt(self, body: Json) -> SandboxResponse:
        """Marks a message as read, with or without a typing indicator."""
        if wrong := wrong_receipt(body):
            return self._refused(wrong)
        fault = self._faults.take("", "typing" if "typing_indicator" in body else "read")
        if refusal := await self._apply_fault_to_call(fault):
            return refusal
        self._screens.marked_read(body["message_id"])
        if "typing_indicator" in body:
            self._screens.typing(body["message_id"], Instant(self._clock.now() + TYPING_SHOWN))
        return _apply_fault(answer(200, {"success": True}), fault)

    async def _apply_fault_to_call(self, fault: Fault) -> SandboxResponse | None:
        """Applies the faults that act before a message is accepted."""
        if fault.delay_ms:
            await self._clock.sleep(seconds(fault.delay_ms / 1000))
        if fault.raw_status is not None:
            return msgspec.structs.replace(gateway_page(fault.raw_status), headers=retry_after_header(fault))
        refusal = refusal_of(fault)
        return self._refused(refusal, retry_after_header(fault)) if refusal else None

    def _refused(self, refusal: GraphError, headers: tuple[tuple[bytes, bytes], ...] = ()) -> SandboxResponse:
        return refused(refusal, self._ids.token(12), headers)


def _accepted(accepted: AcceptedMessage) -> SandboxResponse:
    recipient = accepted.recipient
    reached = {"user_id": recipient.written} if recipient.by_user_id else {"wa_id": recipient.phone}
    message = {"id": accepted.wamid}
    if accepted.kind == "template":
        message["message_status"] = "accepted"
    contacts = [{"input": recipient.written, **reached}]
    return answer(200, {"messaging_product": "whatsapp", "contacts": contacts, "messages": [message]})


def _apply_fault(reply: SandboxResponse, fault: Fault) -> SandboxResponse:
    """Applies the faults that change the answer of an accepted call."""
    if fault.accept_then_raw_status is not None:
        reply = gateway_page(fault.accept_then_raw_status)
    return msgspec.structs.replace(reply, cut=True) if fault.drop_response else reply
