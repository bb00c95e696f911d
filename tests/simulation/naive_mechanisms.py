"""The mechanisms that the seeds describe, in place of ours: each is put into the real server through its ports."""

from __future__ import annotations

import asyncio
from dataclasses import replace as with_parts
from typing import Any

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql.engine.plan import Once, Plan
from waypost.adapters.sql.kernel.commit_queues import Writer
from waypost.adapters.sql.kernel.intent import Keys
from waypost.adapters.sql.kernel.kernel import decide_together
from waypost.adapters.sql.kernel.outbox_intents import SettleStaleAttempts, Submit
from waypost.adapters.sql.rows import message_rows
from waypost.adapters.whatsapp.provider import CloudApi
from waypost.model.ids import Fence, OrgId
from waypost.model.message import Draft, Status
from waypost.model.outcome import Accepted
from waypost.model.time import Instant, minutes
from waypost.model.webhook import StatusUpdate, WebhookBatch
from waypost.ports.platform.failure import Unavailable
from waypost.ports.receiving.journal import AppliedWebhook
from waypost.ports.sending.messages import Query
from waypost.ports.sending.outbox import Created, Settled, Settlement, StaleLimits, Submitted, SweptAttempts
from waypost.ports.sending.provider import Sender
from waypost.rules.sending.delivery import Accept
from waypost_testing.stories.cluster import GRAPH_TIMEOUT, GRAPH_URL, ServerParts

ORGS = (OrgId("north"), OrgId("south"))
SYNC_TIMEOUT = 15.0
"""Seconds. Twenty would be usual, when the provider hangs up too; a shorter one is kinder to the mechanism."""


class Overlay:
    """A port, or a Ledger, with some of its methods replaced."""

    def __init__(self, inner: Any, **replaced: Any) -> None:
        assert [name for name in replaced if not hasattr(inner, name)] == [], "else nothing would be replaced"
        self.__dict__.update(replaced)
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


# The sender and the webhook meet in a channel of their own process


class InProcessChannel:
    """A status waits for its message in this process and is answered 200 and dropped when it does not come."""

    def __init__(self, parts: ServerParts) -> None:
        self._ledger = parts.ledger
        self._saved: dict[str, asyncio.Event] = {}

    async def settle(self, settlement: Settlement, now: Instant) -> Settled:
        settled = await self._ledger.outbox.settle(settlement, now)
        if isinstance(settlement.verdict, Accept):
            self._saved.setdefault(settlement.verdict.wamid, asyncio.Event()).set()
        return settled

    async def apply_webhook(self, post: WebhookBatch, now: Instant) -> AppliedWebhook:
        known = [replace(told, echo=None) for told in post.statuses if await self._found(told)]
        return await self._ledger.journal.apply_webhook(WebhookBatch(known, post.items), now)

    async def _found(self, told: StatusUpdate) -> bool:
        if await self._stored(told):
            return True
        saved = self._saved.setdefault(told.wamid, asyncio.Event())
        try:
            async with asyncio.timeout(SYNC_TIMEOUT):
                await saved.wait()
        except TimeoutError:
            return await self._stored(told)
        return True

    async def _stored(self, told: StatusUpdate) -> bool:
        """By the wamid in the message's row, as the seed looks it up."""
        found = await self._ledger.messages.find(told.org_id, Query(recipient=told.recipient), 1000)
        return any(message.delivery.provider_id == told.wamid for message in found)


def in_process_channel(parts: ServerParts) -> ServerParts:
    channel = InProcessChannel(parts)
    outbox = Overlay(parts.ledger.outbox, settle=channel.settle)
    journal = Overlay(parts.ledger.journal, apply_webhook=channel.apply_webhook)
    return with_parts(parts, ledger=Overlay(parts.ledger, outbox=outbox, journal=journal))


# Whatever is SENDING for ten minutes goes back into the queue


class Unsuspecting(SettleStaleAttempts):
    def needs(self, keys: Keys) -> None:
        keys.messages.update(self.candidates)


class BlindRequeue:
    """By this process's clock, whether or not a status could have come, and whoever is still sending it."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts

    async def sweep(self, patience: StaleLimits, limit: int, now: Instant) -> SweptAttempts:
        sending = [
            message
            for org in ORGS
            for message in await self._parts.ledger.messages.find(org, Query(status=Status.SENDING), limit)
        ]
        stale = tuple(sorted(m.id for m in sending if m.delivery.updated_at < now - minutes(10)))
        blind = Unsuspecting(stale, patience, 2**62, now)
        answer: SweptAttempts = await Writer(self._parts.engine.run).decide(blind) if stale else SweptAttempts([], [])
        return answer


def blind_requeue(parts: ServerParts) -> ServerParts:
    outbox = Overlay(parts.ledger.outbox, sweep=BlindRequeue(parts).sweep)
    return with_parts(parts, ledger=Overlay(parts.ledger, outbox=outbox))


# Send, then store


class SendThenStore:
    """The provider is called while the caller waits; the row is written when the provider has said yes."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts
        self._provider = CloudApi(parts.transport, GRAPH_TIMEOUT)

    async def submit(self, draft: Draft, now: Instant) -> Submitted:
        known = await self._known(draft)
        if known is not None:
            return known
        sender = Sender(number=draft.sender, token=f"token-of-{draft.org_id}", graph_url=GRAPH_URL)
        outcome = await self._provider.send(sender, _body(draft))
        if not isinstance(outcome, Accepted):
            raise Unavailable(f"the provider did not take it: {outcome}")
        return await self._parts.engine.transact(_store_as_sent(draft, outcome, now))

    async def _known(self, draft: Draft) -> Submitted | None:
        """A key that was used before is not sent again."""
        found = await self._parts.ledger.messages.find(draft.org_id, Query(recipient=draft.recipient), 1000)
        if any(message.draft.idempotency_key == draft.idempotency_key for message in found):
            return await self._parts.ledger.outbox.submit(draft, Instant(0))
        return None


def _body(draft: Draft) -> bytes:
    """What goes to the provider; there is no id of ours yet that could go with it."""
    payload = msgspec.json.decode(draft.payload)
    content: dict[str, Any] = {"type": "text", "text": {"body": payload.get("text")}}
    if draft.template:
        template = {"name": draft.template, "language": {"code": "en"}, "components": payload["components"]}
        content = {"type": "template", "template": template}
    return msgspec.json.encode({"messaging_product": "whatsapp", "to": draft.recipient, **content})


def _store_as_sent(draft: Draft, accepted: Accepted, now: Instant) -> Plan[Submitted]:
    ((answer,), _) = yield from decide_together([Submit(replace(draft, ordered=False, scheduled_at=None), now)])
    if not isinstance(answer, Created):
        stored: Submitted = answer
        return stored
    fresh = answer.message.delivery
    sent = replace(
        fresh, status=Status.SENT, fence=Fence(1), tries=1, due_at=None, provider_id=accepted.wamid, sent_at=now
    )
    yield Once("ready_drop", (sent.message_id,))
    yield Once("delivery_update", message_rows.delivery_state(sent))
    yield Once("wamid_bind", (draft.sender, accepted.wamid, sent.message_id, 1))
    return Created(replace(answer.message, delivery=sent))


def send_then_store(parts: ServerParts) -> ServerParts:
    outbox = Overlay(parts.ledger.outbox, submit=SendThenStore(parts).submit)
    return with_parts(parts, ledger=Overlay(parts.ledger, outbox=outbox))
