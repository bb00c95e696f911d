"""Customers at their phones, and an intruder who owns one org and tries to change the messages of the other."""

from __future__ import annotations

import asyncio
from typing import Any

from waypost.http.edge.webhook_endpoint import PATH
from waypost.sandbox import Sandbox, SandboxNumber, SayRequest
from waypost.sandbox.webhooks.sender import signature, webhook_body
from waypost_testing.simulation import START
from waypost_testing.stories.cluster import SharedLedger
from waypost_testing.stories.sending.callers import MESSAGES, TRY_LATER, SimulatedOrg, Workload, phone

FORGED = "999999"
"""An error code that only a forged status carries."""
DAY = 86_400
STORED_WITHIN = 120
"""Seconds within which a STOP must be stored; it is judged only if it was stored."""
FORGED_WAMID = "wamid.forged"


async def customers(crowd: Workload, sandbox: Sandbox, numbers: list[SandboxNumber]) -> None:
    """They read messages, and write now and then. Runs inside the provider's node."""
    await _wrote_before(crowd, sandbox, numbers)
    while await crowd.pause(60):
        who = phone(crowd.rng.randrange(4)).removeprefix("+")
        if crowd.rng.random() < 0.7:
            await sandbox.phones.read(who)
        else:
            await sandbox.phones.say(who, crowd.rng.choice(numbers), SayRequest(text="hello"))


async def revoke_and_grant_consent(crowd: Workload, sandbox: Sandbox, org: SimulatedOrg, ledger: SharedLedger) -> None:
    """A customer sends STOP while messages wait, and START later. Runs inside the provider's node."""
    (number,) = (each for each in sandbox.numbers.all() if each.phone_number_id == org.number)
    while await crowd.pause(400):
        customer = phone(crowd.rng.randrange(4))
        stop = await sandbox.phones.say(customer.removeprefix("+"), number, SayRequest(text="STOP"))
        if await _is_stored(stop, ledger):
            crowd.record.consent(org.name, customer, granted=False)
        await asyncio.sleep(crowd.rng.uniform(30, 300))
        crowd.record.consent(org.name, customer, granted=True)
        await sandbox.phones.say(customer.removeprefix("+"), number, SayRequest(text="START"))


async def _is_stored(wamid: str, ledger: SharedLedger) -> bool:
    """Checked every second: an unanswered webhook is delivered again."""
    for _ in range(STORED_WITHIN):
        if ledger.has_inbound(wamid):
            return True
        await asyncio.sleep(1)
    return False


async def _wrote_before(crowd: Workload, sandbox: Sandbox, numbers: list[SandboxNumber]) -> None:
    """Messages from before the storm arrive now: some new, some almost a day old; some customers never wrote."""
    now = (START + crowd.record.now()) // 1_000_000
    for number in numbers:
        for who in range(4):
            ago = crowd.rng.choice((60, 60, 3600, DAY - crowd.rng.randrange(1500), None))
            if ago is not None:
                request = SayRequest(message={"type": "text", "text": {"body": "hello"}, "timestamp": str(now - ago)})
                await sandbox.phones.say(phone(who).removeprefix("+"), number, request)


async def intruder(crowd: Workload, own: SimulatedOrg, victim: SimulatedOrg) -> None:
    """Requests the victim's messages with its own key, and posts statuses about them under its own secret."""
    while await crowd.pause(150):
        known = [message_id for org, message_id in crowd.record.views if org == victim.name]
        if not known:
            continue
        target = crowd.rng.choice(known)
        crowd.record.intrusions += 1
        if crowd.rng.random() < 0.5:
            await _reach_for(crowd, own, target)
        else:
            await _forge(crowd, own, victim, target)


async def _reach_for(crowd: Workload, own: SimulatedOrg, target: int) -> None:
    verb, path = crowd.rng.choice((("GET", ""), ("GET", "/attempts"), ("POST", "/cancel"), ("POST", "/retry")))
    reply = await crowd.client.ask(own, verb, f"{MESSAGES}/{target}{path}")
    if reply is not None and reply.status not in (404, *TRY_LATER):
        crowd.record.breaches.append(f"{own.name} got HTTP {reply.status} for {verb} {target}{path}")


async def _forge(crowd: Workload, own: SimulatedOrg, victim: SimulatedOrg, target: int) -> None:
    """From its own number with the victim's message id or wamid, or from the victim's number with its own secret."""
    as_victim = crowd.rng.random() < 0.4
    status: dict[str, Any] = {
        "id": _wamid_of(crowd, victim, target),
        "status": crowd.rng.choice(("failed", "read")),
        "timestamp": "1767225600",
        "recipient_id": phone(0).removeprefix("+"),
        "biz_opaque_callback_data": f"wp1.{target}.1",
        "errors": [{"code": int(FORGED), "title": "forged"}],
    }
    sender = victim if as_victim else own
    number = SandboxNumber(sender.number, sender.waba, sender.token, sender.app_secret)
    body = webhook_body(number, {"statuses": [status]})
    reply = await crowd.client.post_raw(PATH, body, {"x-hub-signature-256": signature(own.app_secret, body)})
    if reply is not None and as_victim and reply.status not in (401, *TRY_LATER):
        crowd.record.breaches.append(f"{own.name} signed for {victim.name}'s number and got HTTP {reply.status}")


def _wamid_of(crowd: Workload, victim: SimulatedOrg, target: int) -> str:
    """The real one if it is known by then."""
    view = crowd.record.views[victim.name, target][-1].view
    return view.provider_message_id or FORGED_WAMID
