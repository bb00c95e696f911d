"""Simulates the delivery of accepted messages and posts their status webhooks."""

from __future__ import annotations

import asyncio

from waypost.ports.platform.clock import Clock, Ids
from waypost.sandbox.content.message_checks import CheckedMessage
from waypost.sandbox.edge.graph_errors import WINDOW_CLOSED
from waypost.sandbox.faults import Fault
from waypost.sandbox.phones.accepted_messages import (
    AcceptedMessage,
    SandboxStatus,
    StatusStep,
    pricing_of,
    status_value,
    steps_of,
    wamid_of,
)
from waypost.sandbox.phones.contacts import Contacts
from waypost.sandbox.phones.screens import Screens
from waypost.sandbox.settings import SandboxTiming
from waypost.sandbox.tasks import Tasks
from waypost.sandbox.webhooks.sender import Webhooks, webhook_body


class DeliverySimulator:
    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        tasks: Tasks,
        webhooks: Webhooks,
        contacts: Contacts,
        screens: Screens,
        timing: SandboxTiming,
        enforce_window: bool,
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._tasks = tasks
        self._webhooks = webhooks
        self._contacts = contacts
        self._screens = screens
        self._timing = timing
        self._enforce_window = enforce_window

    def accept(self, order: CheckedMessage, fault: Fault, raw: bytes) -> AcceptedMessage:
        """Gives the message an id and shows it on the phone's screen."""
        phone = order.recipient.phone
        message = AcceptedMessage(
            number=order.number,
            recipient=order.recipient,
            wamid=wamid_of(phone, self._ids.token(12)),
            kind=order.kind,
            body=raw,
            at=self._clock.now(),
            pricing=pricing_of(order.category, self._window_open(order.number.phone_number_id, phone)),
            opaque=order.body.get("biz_opaque_callback_data") if fault.echo else None,
        )
        self._screens.received(message)
        return message

    async def start(self, message: AcceptedMessage, fault: Fault) -> None:
        """Posts the statuses in the background; with `status_first`, waits for the first one."""
        steps = steps_of(message.kind, fault, self._failure(message, fault), self._timing)
        copies = 1 + fault.duplicate_statuses
        if fault.status_first and steps:
            await self._post_status(message, steps[0].status, copies, steps[0].error)
            steps = steps[1:]
        if steps:
            self._tasks.start(self._post_statuses(message, steps, copies))

    async def read(self, phone: str) -> int:
        """Marks all delivered messages as read; returns their number after the first webhook attempts."""
        unread = [message for message in self._screens.accepted_messages(phone) if message.status == "delivered"]
        for message in unread:
            self._screens.reached(message, "read")
        await asyncio.gather(*(self._post_status(message, "read") for message in unread))
        return len(unread)

    def _failure(self, message: AcceptedMessage, fault: Fault) -> int | None:
        if fault.status_error is not None or not self._enforce_window or message.kind == "template":
            return fault.status_error
        window_open = self._window_open(message.number.phone_number_id, message.recipient.phone)
        return None if window_open else WINDOW_CLOSED

    def _window_open(self, phone_number_id: str, phone: str) -> bool:
        return self._contacts.window_open(phone, phone_number_id, self._clock.now())

    async def _post_statuses(self, message: AcceptedMessage, steps: tuple[StatusStep, ...], copies: int) -> None:
        for step in steps:
            await self._clock.sleep(step.pause)
            await self._post_status(message, step.status, copies, step.error)

    async def _post_status(
        self, message: AcceptedMessage, status: SandboxStatus, copies: int = 1, error: int | None = None
    ) -> None:
        """Updates the screen after the first attempt: a status on the screen means that its webhook was posted."""
        profile = self._contacts.person(message.recipient.phone)
        body = webhook_body(message.number, status_value(message, status, self._clock.now(), profile, error))
        for _ in range(copies):
            await self._webhooks.post_in_order(message.number, message.waiting, body)
        self._screens.reached(message, status)
