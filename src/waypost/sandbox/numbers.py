"""The business numbers that the sandbox serves, and who may act for them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from waypost.sandbox.asgi import Request
from waypost.sandbox.graph_errors import BAD_TOKEN, NO_TOKEN, Refusal, no_such_object


class SandboxNumber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    phone_number_id: str
    waba_id: str
    token: str
    app_secret: str
    verify_token: str = ""
    webhook_url: str | None = None
    """None: this number posts no webhooks."""
    display_phone_number: str = "15550783881"
    verified_name: str = "Sandbox"


class Numbers:
    """Every number by its id, in the order in which they were added."""

    def __init__(self, numbers: Iterable[SandboxNumber]) -> None:
        self._by_id = {number.phone_number_id: number for number in numbers}

    def add(self, number: SandboxNumber) -> None:
        """A number of the same id is replaced."""
        self._by_id[number.phone_number_id] = number

    def all(self) -> list[SandboxNumber]:
        return list(self._by_id.values())

    def get(self, phone_number_id: str) -> SandboxNumber | None:
        return self._by_id.get(phone_number_id)

    def of_account(self, waba_id: str) -> list[SandboxNumber]:
        return [number for number in self._by_id.values() if number.waba_id == waba_id]

    def stranger(self, request: Request) -> Refusal | None:
        """What a caller hears whose token belongs to no number at all."""
        if request.token is None:
            return NO_TOKEN
        known = any(number.token == request.token for number in self._by_id.values())
        return None if known else BAD_TOKEN

    def allowed(self, request: Request, phone_number_id: str) -> SandboxNumber | Refusal:
        """The number that this caller acts for."""
        number = self._by_id.get(phone_number_id)
        if number is None:
            return self.stranger(request) or no_such_object(request.method, phone_number_id)
        if number.token == request.token:
            return number
        return BAD_TOKEN if request.token else NO_TOKEN

    def account(self, request: Request, waba_id: str) -> list[SandboxNumber] | Refusal:
        """The numbers of the account that this caller acts for."""
        numbers = self.of_account(waba_id)
        if not numbers:
            return self.stranger(request) or no_such_object(request.method, waba_id)
        if any(number.token == request.token for number in numbers):
            return numbers
        return BAD_TOKEN if request.token else NO_TOKEN
