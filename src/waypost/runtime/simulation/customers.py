"""Customers at their phones, and an intruder who owns one org and wants to move the messages of the other."""

from __future__ import annotations

import asyncio
from typing import Any

from waypost.http.webhook_door import PATH
from waypost.runtime.simulation.callers import MESSAGES, TRY_LATER, Crowd, Org, phone
from waypost.runtime.simulation.cluster import SharedLedger
from waypost.sandbox import Said, Sandbox, SandboxNumber
from waypost.sandbox.webhooks import signature, webhook_body
from waypost.testing.simulation import START

FORGED = "999999"
"""An error code that only a forged status carries."""
DAY = 86_400
HEARD_WITHIN = 120
"""Seconds for which a customer waits before they doubt that their STOP counts: it is judged only if it was heard."""
FORGED_WAMID = "wamid.forged"


async def customers(crowd: Crowd, sandbox: Sandbox, numbers: list[SandboxNumber]) -> None:
    """They read what they got, and write now and then. Runs inside the provider's node."""
    await _wrote_before(crowd, sandbox, numbers)
    while await crowd.pause(60):
        who = phone(crowd.dice.randrange(4)).removeprefix("+")
        if crowd.dice.random() < 0.7:
            await sandbox.phones.read(who)
        else:
            await sandbox.phones.say(who, crowd.dice.choice(numbers), Said(text="hello"))


async def change_their_minds(crowd: Crowd, sandbox: Sandbox, org: Org, ledger: SharedLedger) -> None:
    """One says STOP while messages wait, and thinks better of it later. Runs inside the provider's node."""
    (number,) = (each for each in sandbox.numbers.all() if each.phone_number_id == org.number)
    while await crowd.pause(400):
        customer = phone(crowd.dice.randrange(4))
        stop = await sandbox.phones.say(customer.removeprefix("+"), number, Said(text="STOP"))
        if await _is_heard(stop, ledger):
            crowd.record.consent(org.name, customer, granted=False)
        await asyncio.sleep(crowd.dice.uniform(30, 300))
        crowd.record.consent(org.name, customer, granted=True)
        await sandbox.phones.say(customer.removeprefix("+"), number, Said(text="START"))


async def _is_heard(wamid: str, ledger: SharedLedger) -> bool:
    """Looked at every second: a webhook that nobody answered comes again."""
    for _ in range(HEARD_WITHIN):
        if ledger.has_heard(wamid):
            return True
        await asyncio.sleep(1)
    return False


async def _wrote_before(crowd: Crowd, sandbox: Sandbox, numbers: list[SandboxNumber]) -> None:
    """What they wrote before the storm is heard now: some a moment ago, some almost a day, some never wrote at all."""
    now = (START + crowd.record.now()) // 1_000_000
    for number in numbers:
        for who in range(4):
            ago = crowd.dice.choice((60, 60, 3600, DAY - crowd.dice.randrange(1500), None))
            if ago is not None:
                said = Said(message={"type": "text", "text": {"body": "hello"}, "timestamp": str(now - ago)})
                await sandbox.phones.say(phone(who).removeprefix("+"), number, said)


async def intruder(crowd: Crowd, own: Org, victim: Org) -> None:
    """Asks for the victim's messages with the own key, and posts statuses about them under the own secret."""
    while await crowd.pause(150):
        known = [message_id for org, message_id in crowd.record.told if org == victim.name]
        if not known:
            continue
        target = crowd.dice.choice(known)
        crowd.record.intrusions += 1
        if crowd.dice.random() < 0.5:
            await _reach_for(crowd, own, target)
        else:
            await _forge(crowd, own, victim, target)


async def _reach_for(crowd: Crowd, own: Org, target: int) -> None:
    verb, path = crowd.dice.choice((("GET", ""), ("GET", "/attempts"), ("POST", "/cancel"), ("POST", "/retry")))
    reply = await crowd.client.ask(own, verb, f"{MESSAGES}/{target}{path}")
    if reply is not None and reply.status not in (404, *TRY_LATER):
        crowd.record.breaches.append(f"{own.name} got HTTP {reply.status} for {verb} {target}{path}")


async def _forge(crowd: Crowd, own: Org, victim: Org, target: int) -> None:
    """As the own number, with the victim's message id or wamid; or as the victim's number, with the own secret."""
    as_victim = crowd.dice.random() < 0.4
    status: dict[str, Any] = {
        "id": _wamid_of(crowd, victim, target),
        "status": crowd.dice.choice(("failed", "read")),
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


def _wamid_of(crowd: Crowd, victim: Org, target: int) -> str:
    """The true one when it is known by then."""
    told = crowd.record.told[victim.name, target][-1].view
    return told.provider_message_id or FORGED_WAMID
