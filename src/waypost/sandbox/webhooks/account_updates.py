"""Posts account update webhooks as Meta does: accounts, templates and user preferences."""

from __future__ import annotations

from typing import Any

import msgspec

from waypost.model.time import as_seconds
from waypost.ports.platform.clock import Clock
from waypost.sandbox.store.numbers import Numbers, SandboxNumber
from waypost.sandbox.webhooks.sender import Webhooks, escaped

OF_A_NUMBER = ("user_preferences",)
"""Fields whose value contains the number."""


class Update(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    field: str
    value: Any
    phone_number_id: str | None = None
    waba_id: str | None = None
    time: int | None = None
    """The time of the update in Unix seconds; None means now."""


class Updates:
    def __init__(self, clock: Clock, numbers: Numbers, webhooks: Webhooks) -> None:
        self._clock = clock
        self._numbers = numbers
        self._webhooks = webhooks

    async def post(self, update: Update) -> bool | None:
        """Whether the first webhook attempt was answered; None if there is no such number or account."""
        number = self._number(update)
        if number is None:
            return None
        time = int(as_seconds(self._clock.now())) if update.time is None else update.time
        change = {"field": update.field, "value": _value(update, number)}
        entry = {"id": number.waba_id, "time": time, "changes": [change]}
        body = escaped({"object": "whatsapp_business_account", "entry": [entry]})
        return await self._webhooks.post(number, body)

    def _number(self, update: Update) -> SandboxNumber | None:
        """By id, by account, or the first number."""
        if update.phone_number_id is not None:
            return self._numbers.get(update.phone_number_id)
        if update.waba_id is not None:
            return next(iter(self._numbers.of_account(update.waba_id)), None)
        return next(iter(self._numbers.all()), None)


def _value(update: Update, number: SandboxNumber) -> Any:
    if update.field not in OF_A_NUMBER or not isinstance(update.value, dict):
        return update.value
    metadata = {"display_phone_number": number.display_phone_number, "phone_number_id": number.phone_number_id}
    return {"messaging_product": "whatsapp", "metadata": metadata, **update.value}
