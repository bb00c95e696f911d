"""Accounts, and the webhooks that the provider posts about them, in Meta's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from tests.integration.stage.network import WAYPOST
from waypost.sandbox import SandboxNumber

DOOR = "/api/v1/webhooks/whatsapp/inbound"
PHONE = "+16505551234"


@dataclass
class Account:
    """An org with its number, as its owner knows it."""

    org: str
    key: str
    number: SandboxNumber

    @property
    def as_connected(self) -> dict[str, Any]:
        """The number as the API takes it."""
        names = ("phone_number_id", "waba_id", "token", "app_secret", "verify_token")
        return {name: getattr(self.number, name) for name in names}


def a_number(phone_number_id: str, **more: Any) -> SandboxNumber:
    plain = SandboxNumber(
        phone_number_id=phone_number_id,
        waba_id=f"waba-{phone_number_id}",
        token=f"EAA-token-{phone_number_id}",
        app_secret=f"app-secret-{phone_number_id}",
        verify_token=f"verify-{phone_number_id}",
        webhook_url=WAYPOST + DOOR,
    )
    return replace(plain, **more)


def status(wamid: str, kind: str, **more: Any) -> dict[str, Any]:
    """A status as Meta words it; `at` in seconds."""
    return {"id": wamid, "status": kind, "timestamp": "1760000000", "recipient_id": PHONE.lstrip("+"), **more}


def a_text(wamid: str, body: str = "hi", **more: Any) -> dict[str, Any]:
    """A customer's message as Meta words it."""
    return {
        "from": PHONE.lstrip("+"),
        "id": wamid,
        "timestamp": "1760000000",
        "type": "text",
        "text": {"body": body},
    } | more


def change(account: Account, **value: Any) -> dict[str, Any]:
    metadata = {"display_phone_number": "15550783881", "phone_number_id": account.number.phone_number_id}
    return {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}}


def envelope(*entries: tuple[Account, list[dict[str, Any]]]) -> dict[str, Any]:
    listed = [{"id": account.number.waba_id, "changes": changes} for account, changes in entries]
    return {"object": "whatsapp_business_account", "entry": listed}


def status_post(account: Account, *statuses: Any) -> dict[str, Any]:
    """A POST with these statuses and nothing else."""
    return envelope((account, [change(account, statuses=list(statuses))]))
