"""Carries accepted messages to the phones and tells of each step by webhook."""

from __future__ import annotations

import asyncio

from waypost.ports.clock import Clock, Ids
from waypost.sandbox.contacts import Contacts
from waypost.sandbox.faults import Fault
from waypost.sandbox.graph_errors import WINDOW_CLOSED
from waypost.sandbox.letters import Letter, Status, Step, pricing_of, status_value, steps_of, wamid_of
from waypost.sandbox.orders import Order
from waypost.sandbox.screens import Screens
from waypost.sandbox.settings import Timing
from waypost.sandbox.tasks import Tasks
from waypost.sandbox.webhooks import Webhooks, webhook_body


class Courier:
    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        tasks: Tasks,
        webhooks: Webhooks,
        contacts: Contacts,
        screens: Screens,
        timing: Timing,
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

    def accept(self, order: Order, fault: Fault, raw: bytes) -> Letter:
        """From here on the message has an id and shows on the phone's screen."""
        phone = order.recipient.phone
        letter = Letter(
            number=order.number,
            recipient=order.recipient,
            wamid=wamid_of(phone, self._ids.token(12)),
            kind=order.kind,
            body=raw,
            at=self._clock.now(),
            pricing=pricing_of(order.category, self._window_open(order.number.phone_number_id, phone)),
            opaque=order.body.get("biz_opaque_callback_data") if fault.echo else None,
        )
        self._screens.received(letter)
        return letter

    async def set_out(self, letter: Letter, fault: Fault) -> None:
        """Returns at once and tells of the steps in the background; `status_first` waits for the first of them."""
        steps = steps_of(letter.kind, fault, self._failure(letter, fault), self._timing)
        copies = 1 + fault.duplicate_statuses
        if fault.status_first and steps:
            await self._tell(letter, steps[0].status, copies, steps[0].error)
            steps = steps[1:]
        if steps:
            self._tasks.start(self._carry(letter, steps, copies))

    async def read(self, phone: str) -> int:
        """Everything delivered and unread is read now; returns how much that was, after the first tries."""
        unread = [letter for letter in self._screens.letters(phone) if letter.status == "delivered"]
        for letter in unread:
            self._screens.reached(letter, "read")
        await asyncio.gather(*(self._tell(letter, "read") for letter in unread))
        return len(unread)

    def _failure(self, letter: Letter, fault: Fault) -> int | None:
        if fault.status_error is not None or not self._enforce_window or letter.kind == "template":
            return fault.status_error
        window_open = self._window_open(letter.number.phone_number_id, letter.recipient.phone)
        return None if window_open else WINDOW_CLOSED

    def _window_open(self, phone_number_id: str, phone: str) -> bool:
        return self._contacts.window_open(phone, phone_number_id, self._clock.now())

    async def _carry(self, letter: Letter, steps: tuple[Step, ...], copies: int) -> None:
        for step in steps:
            await self._clock.sleep(step.pause)
            await self._tell(letter, step.status, copies, step.error)

    async def _tell(self, letter: Letter, status: Status, copies: int = 1, error: int | None = None) -> None:
        """The screen moves when the first try is over: whoever sees `delivered` there finds its webhook posted."""
        person = self._contacts.person(letter.recipient.phone)
        body = webhook_body(letter.number, status_value(letter, status, self._clock.now(), person, error))
        for _ in range(copies):
            await self._webhooks.post_in_order(letter.number, letter.waiting, body)
        self._screens.reached(letter, status)
