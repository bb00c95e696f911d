"""Small builders for contract tests: a call names what matters to the test, everything else has a default."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from waypost.model.account import Number, Org
from waypost.model.conversation import InboundMessage, TurnTiming
from waypost.model.gate import GateClosing
from waypost.model.ids import Fence, MessageId, NumberId, OrgId, Wamid, WorkerId
from waypost.model.message import Attempt, Channel, ClaimedMessage, Delivery, Draft, Message, Status
from waypost.model.time import Instant, Span, days, minutes, seconds
from waypost.model.webhook import Echo, FailureClosing, JournalItem, StatusKind, StatusUpdate, WebhookBatch
from waypost.ports.ledger import Ledger
from waypost.ports.receiving.journal import AppliedWebhook
from waypost.ports.sending.messages import MessageRecord
from waypost.ports.sending.outbox import Created, Demand, Settled, Settlement, StaleLimits, UptimeTick
from waypost.rules.sending.delivery import Accept, DeliveryVerdict, GiveUp, StayUnsure, TryAgain, Unsettled

Ledgers: TypeAlias = tuple[Ledger, Ledger]
"""Two processes' views of one database."""

PassTime: TypeAlias = Callable[[Span], Awaitable[None]]
"""Moves the Ledger's own clock forward or back."""

T0 = Instant(1_760_000_000_000_000)
ORG = OrgId("acme")
OTHER_ORG = OrgId("globex")
NUMBER = NumberId("100000000000001")
OTHER_NUMBER = NumberId("200000000000002")
CUSTOMER = "+4915100000001"
OTHER_CUSTOMER = "+4915100000002"
W1 = WorkerId("worker-1")
W2 = WorkerId("worker-2")
UNKNOWN = MessageId(987_654_321)
GAP, FORGET = days(1), days(2)
"""Longer than any gap between two uptime ticks in these tests."""

PATIENCE = StaleLimits(limit=minutes(10), slack=seconds(5), policy=Unsettled.REQUEUE)
PARKING = StaleLimits(limit=minutes(10), slack=seconds(5), policy=Unsettled.PARK)

_counter = itertools.count(1)


def later(span: Span) -> Instant:
    return Instant(T0 + span)


def fresh(word: str) -> str:
    """A word that no other test uses."""
    return f"{word}-{next(_counter)}"


def a_wamid() -> Wamid:
    return Wamid(fresh("wamid"))


def a_customer() -> str:
    return f"+49152{next(_counter):07d}"


def a_draft(*, key: str | None = None, content: str = "hello", **fields: Any) -> Draft:
    """`content` represents everything that makes two requests the same."""
    standard: dict[str, Any] = {
        "org_id": ORG,
        "sender": NUMBER,
        "channel": Channel.WHATSAPP,
        "recipient": CUSTOMER,
        "template": None,
        "subject": None,
        "payload": f'{{"text":"{content}"}}',
        "dossier_id": None,
        "priority": 5,
        "scheduled_at": None,
        "expires_at": None,
        "ordered": False,
        "max_attempts": 5,
    }
    return Draft(
        idempotency_key=key or fresh("key"), digest=hashlib.sha256(content.encode()).digest(), **(standard | fields)
    )


def _under_way() -> Delivery:
    return Delivery(
        message_id=MessageId(1),
        org_id=ORG,
        status=Status.SENDING,
        generation=1,
        fence=Fence(1),
        first_fence=Fence(0),
        tries=1,
        due_at=None,
        owner=W1,
        claimed_at=T0,
        open_at_claim=0,
        parked=False,
        provider_id=None,
        error_code=None,
        error_message=None,
        sent_at=None,
        delivered_at=None,
        read_at=None,
        updated_at=T0,
    )


def a_claim(**fields: Any) -> ClaimedMessage:
    """A claim that no Ledger made, for rules that only read one."""
    stands = _under_way()
    claimed = ClaimedMessage(
        id=stands.message_id,
        fence=stands.fence,
        generation=1,
        tries=1,
        org_id=ORG,
        sender=NUMBER,
        recipient=CUSTOMER,
        template=None,
        payload='{"text":"hello"}',
        max_attempts=5,
        expires_at=None,
        queue_id=None,
        created_at=T0,
        claimed_at=T0,
        ready_at=T0,
        start_at=T0,
        delivery=stands,
    )
    return replace(claimed, **fields)


def a_report(
    kind: StatusKind | str, wamid: Wamid, *, echo: ClaimedMessage | Echo | None = None, at: Instant = T0, **fields: Any
) -> StatusUpdate:
    """`echo` may be the claim itself: the provider returns what was sent with it."""
    if isinstance(echo, ClaimedMessage):
        echo = Echo(echo.id, echo.fence)
    standard: dict[str, Any] = {
        "org_id": ORG,
        "number": NUMBER,
        "participant": "",
        "recipient": CUSTOMER,
        "error_code": None,
        "error_message": None,
        "body": f'{{"status":"{kind}"}}',
    }
    return StatusUpdate(wamid=wamid, kind=StatusKind(kind), at=at, echo=echo, **(standard | fields))


def a_failure(closing: GateClosing) -> WebhookBatch:
    """A POST with one failed status that closes this gate."""
    failed = a_report("failed", a_wamid(), error_code=closing.code)
    return WebhookBatch([failed], [], [], [FailureClosing(failed, closing)])


def an_item(*, kind: str = "text", key: str | None = None, **fields: Any) -> JournalItem:
    standard: dict[str, Any] = {"org_id": ORG, "number": NUMBER, "body": "{}"}
    return JournalItem(kind=kind, key=key or fresh("inbound"), **(standard | fields))


def an_inbound(customer: str = CUSTOMER, at: Instant = T0, number: NumberId = NUMBER, **fields: Any) -> InboundMessage:
    """A customer's text message; a customer without a phone number has a user id."""
    text = fields.pop("text", "hello")
    standard: dict[str, Any] = {
        "org_id": ORG,
        "wamid": a_wamid(),
        "addresses": (f"phone:{customer}" if customer.startswith("+") else f"user:{customer}",),
        "reply_to": customer,
        "name": None,
        "username": None,
        "type": "text",
        "body": msgspec.json.encode({"type": "text", "text": {"body": text}}).decode(),
        "asks": True,
        "opens_window": True,
        "times": TurnTiming(),
    }
    return InboundMessage(number=number, at=at, **(standard | fields))


def a_number(number: NumberId = NUMBER, org: OrgId = ORG, **fields: Any) -> Number:
    standard: dict[str, Any] = {
        "waba_id": "300000000000003",
        "sealed_token": b"\x01token",
        "sealed_app_secret": b"\x01secret",
        "sealed_verify_token": b"\x01verify",
        "graph_url": None,
        "error_catalogue": "meta",
        "enabled": True,
        "created_at": T0,
        "updated_at": T0,
    }
    return Number(id=number, org_id=org, **(standard | fields))


def an_org(name: OrgId = ORG, at: Instant = T0) -> Org:
    return Org(name, at)


def try_again(at: Instant, *, code: str = "131000", counts: bool = True) -> TryAgain:
    return TryAgain(at, code, "something went wrong", '{"error":{}}', counts)


def give_up(code: str = "131026") -> GiveUp:
    return GiveUp(code, "message undeliverable", '{"error":{}}')


def unsure() -> StayUnsure:
    return StayUnsure("no answer within 10 s", None)


async def submit(ledger: Ledger, *, now: Instant = T0, **draft: Any) -> Message:
    answer = await ledger.outbox.submit(a_draft(**draft), now)
    assert isinstance(answer, Created), answer
    return answer.message


async def claim(ledger: Ledger, *, slots: int = 100, owner: WorkerId = W1, now: Instant = T0) -> list[ClaimedMessage]:
    return list((await ledger.outbox.claim(Demand(owner=owner, slots=slots), now)).claimed)


async def claim_one(ledger: Ledger, *, owner: WorkerId = W1, now: Instant = T0) -> ClaimedMessage:
    """The only due message."""
    (claimed,) = await claim(ledger, owner=owner, now=now)
    return claimed


async def settle(ledger: Ledger, claimed: ClaimedMessage, verdict: DeliveryVerdict, now: Instant = T0) -> Settled:
    return await ledger.outbox.settle(Settlement(message=claimed, verdict=verdict), now)


async def accept(ledger: Ledger, claimed: ClaimedMessage, wamid: Wamid | None = None, now: Instant = T0) -> Settled:
    return await settle(ledger, claimed, Accept(wamid or a_wamid(), '{"messages":[]}'), now)


async def take(ledger: Ledger, *reports: StatusUpdate, now: Instant = T0) -> AppliedWebhook:
    return await ledger.journal.apply_webhook(WebhookBatch(list(reports), []), now)


async def delivery(ledger: Ledger, message: MessageId) -> Delivery:
    found = await ledger.lookup.delivery(message)
    assert found is not None
    return found


async def status(ledger: Ledger, message: MessageId) -> Status:
    return (await delivery(ledger, message)).status


async def life(ledger: Ledger, message: MessageId, org: OrgId = ORG) -> MessageRecord:
    found = await ledger.messages.life(org, message)
    assert found is not None
    return found


async def attempts(ledger: Ledger, message: MessageId) -> list[Attempt]:
    return list((await life(ledger, message)).attempts)


async def event_kinds(ledger: Ledger, message: MessageId) -> list[str]:
    return [event.kind for event in (await life(ledger, message)).events]


def a_tick(
    listener: str = "one",
    gap: Span = GAP,
    forget: Span = FORGET,
    *,
    place: str = "",
    first: bool = False,
    refused: bool = False,
) -> UptimeTick:
    """By default each listener has its own place."""
    place = place or listener
    return UptimeTick(listener=listener, place=place, first=first, gap=gap, forget=forget, refused=refused)


async def webhooks_up(ledger: Ledger, pass_time: PassTime, span: Span) -> None:
    """Webhooks could be received for this long."""
    await ledger.webhook_uptime.tick(a_tick())
    await pass_time(span)
    await ledger.webhook_uptime.tick(a_tick())


async def requeue_stale(ledger: Ledger, pass_time: PassTime, now: Instant = T0) -> list[MessageId]:
    """Let every attempt under way go stale and queue it again."""
    await webhooks_up(ledger, pass_time, minutes(11))
    return list((await ledger.outbox.sweep(PATIENCE, 100, now)).requeued)


async def drain(ledger: Ledger, now: Instant = T0) -> list[MessageId]:
    """Send every due message until none is left, in the order in which they became claimable."""
    sent: list[MessageId] = []
    while claimed := await claim(ledger, now=now):
        for each in claimed:
            await accept(ledger, each, now=now)
            sent.append(each.id)
    return sent
