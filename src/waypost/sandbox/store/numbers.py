"""The business numbers of the sandbox and their access tokens."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from waypost.sandbox.edge.asgi import SandboxRequest
from waypost.sandbox.edge.graph_errors import BAD_TOKEN, NO_TOKEN, GraphError, no_such_object


class SandboxNumber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    phone_number_id: str
    waba_id: str
    token: str
    app_secret: str
    verify_token: str = ""
    webhook_url: str | None = None
    """None means that this number posts no webhooks."""
    display_phone_number: str = "15550783881"
    verified_name: str = "Sandbox"


class Numbers:
    """Every number by its id, in the order in which they were added."""

    def __init__(self, numbers: Iterable[SandboxNumber]) -> None:
        self._by_id = {number.phone_number_id: number for number in numbers}

    def add(self, number: SandboxNumber) -> None:
        """Replaces a number with the same id."""
        self._by_id[number.phone_number_id] = number

    def all(self) -> list[SandboxNumber]:
        return list(self._by_id.values())

    def get(self, phone_number_id: str) -> SandboxNumber | None:
        return self._by_id.get(phone_number_id)

    def of_account(self, waba_id: str) -> list[SandboxNumber]:
        return [number for number in self._by_id.values() if number.waba_id == waba_id]

    def unauthorized(self, request: SandboxRequest) -> GraphError | None:
        """The error for a token that belongs to no number; None if it belongs to one."""
        if request.token is None:
            return NO_TOKEN
        known = any(number.token == request.token for number in self._by_id.values())
        return None if known else BAD_TOKEN

    def allowed(self, request: SandboxRequest, phone_number_id: str) -> SandboxNumber | GraphError:
        """The number, if the token is its own."""
        number = self._by_id.get(phone_number_id)
        if number is None:
            return self.unauthorized(request) or no_such_object(request.method, phone_number_id)
        if number.token == request.token:
            return number
        return BAD_TOKEN if request.token else NO_TOKEN

    def account(self, request: SandboxRequest, waba_id: str) -> list[SandboxNumber] | GraphError:
        """The account's numbers, if the token belongs to one of them."""
        numbers = self.of_account(waba_id)
        if not numbers:
            return self.unauthorized(request) or no_such_object(request.method, waba_id)
        if any(number.token == request.token for number in numbers):
            return numbers
        return BAD_TOKEN if request.token else NO_TOKEN
