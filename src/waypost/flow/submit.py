"""A caller's message, checked and stored before anything is sent."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from waypost.flow import audit, marketing, templates
from waypost.flow.numbers import LOOK_AGAIN
from waypost.flow.world import World
from waypost.model.audit import SYSTEM, Action, Entity
from waypost.model.dossier import DossierId
from waypost.model.ids import NumberId, OrgId
from waypost.model.message import Channel, Draft, Message
from waypost.model.time import Instant, Span, from_unix
from waypost.ports.failure import LedgerError
from waypost.ports.hints import OUTBOX
from waypost.ports.outbox import Blocked, Created, Different
from waypost.rules import email as emails
from waypost.rules import payload as payloads
from waypost.rules import recipient as recipients
from waypost.rules import window
from waypost.rules.clearance import refused_by_consent
from waypost.rules.shape import Invalid

KEY_LENGTH = 255
OUR_KEYS = ("turn:", "consent:", "post:")
"""How the keys begin under which a bot's replies, the confirmations of a STOP and people's posts are stored."""
TOGETHER = 100
"""Requests of a batch that are checked without a pause."""
EARLIEST, LATEST = from_unix(946_684_800), from_unix(4_102_444_800)
"""The years 2000 and 2100: a moment outside is a mistake of the caller's, and some cannot even be shown again."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asked for, as it came."""

    channel: str
    to: str
    sender: str | None
    template: str | None
    subject: str | None
    payload: Any
    dossier_id: int | None
    idempotency_key: str | None
    priority: int
    scheduled_at: Instant | None
    expires_at: Instant | None
    ordered: bool
    max_attempts: int
    ours: bool = False
    """The key is one of OUR_KEYS, and not the caller's."""


class Refusal(msgspec.Struct, frozen=True):
    """Why a message is not taken: a stable code, the field, and what to do."""

    code: str
    field: str
    reason: str


class Stored(msgspec.Struct, frozen=True):
    message: Message
    created: bool


Answer: TypeAlias = Stored | Refusal


async def submit(request: Request, org: OrgId, world: World, actor: str = SYSTEM) -> Answer:
    draft = await check(request, org, world, actor)
    return draft if isinstance(draft, Refusal) else await _store(draft, org, world)


async def _store(draft: Draft, org: OrgId, world: World) -> Answer:
    submitted = await world.ledger.outbox.submit(draft, world.clock.now())
    if isinstance(submitted, Created):
        world.hints.give([OUTBOX])
        return Stored(submitted.message, created=True)
    if isinstance(submitted, Blocked):
        return Refusal("consent_required", "to", submitted.reason)
    if isinstance(submitted, Different):
        used = f"was used for message {submitted.message_id} with other content: take a new key for a new message"
        return Refusal("idempotency_conflict", "idempotencyKey", used)
    message = await world.ledger.messages.get(org, submitted.message_id)
    if message is None:
        raise LookupError(f"message {submitted.message_id} was stored and cannot be read")
    return Stored(message, created=False)


async def submit_all(
    requests: Sequence[Request], org: OrgId, world: World, actor: str = SYSTEM
) -> list[Answer | LedgerError]:
    """One answer per request, in order. All that pass are handed in at once, so that they share a commit."""
    checked: list[Draft | Refusal] = []
    for number, request in enumerate(requests):
        checked.append(await check(request, org, world, actor))
        if number % TOGETHER == TOGETHER - 1:
            await world.clock.sleep(Span(0))  # a thousand checks in a row would keep everybody else waiting
    drafts = [each for each in checked if not isinstance(each, Refusal)]
    stored = await asyncio.gather(*(_store(draft, org, world) for draft in drafts), return_exceptions=True)
    answers = iter(stored)
    return [each if isinstance(each, Refusal) else _told(next(answers)) for each in checked]


def _told(answer: Answer | BaseException) -> Answer | LedgerError:
    """What the Ledger could not do is that request's own answer; a bug is everybody's."""
    if isinstance(answer, BaseException) and not isinstance(answer, LedgerError):
        raise answer
    return answer


async def check(request: Request, org: OrgId, world: World, actor: str = SYSTEM) -> Draft | Refusal:
    """The draft to store, or the first thing that is wrong; what consent forbids is audited as the actor's wish."""
    channel = _channel(request.channel)
    if isinstance(channel, Refusal):
        return channel
    recipient = _recipient(request.to, channel, (await world.policies.of(org)).default_region)
    if isinstance(recipient, Refusal):
        return recipient
    if refusal := _check_content(request, channel) or _check_key(request) or _check_moments(request, world):
        return refusal
    sender, refusal = await _check_world(request, channel, recipient, org, world, actor)
    if refusal is not None and not await _was_stored(request, org, world):
        return refusal
    return msgspec.structs.replace(_draft(request, org, channel, recipient, sender, world), created_by=actor)


async def _check_world(
    request: Request, channel: Channel, recipient: str, org: OrgId, world: World, actor: str
) -> tuple[NumberId, Refusal | None]:
    """What may change between a call and its repetition: the numbers, the templates, the consents."""
    sender = await _SENDERS[channel](request.sender, recipient, org, world)
    if isinstance(sender, Refusal):
        return NumberId(request.sender or ""), sender
    return sender, (
        await _check_template(request, sender, org, world)
        or await _check_dossier(request, recipient, org, world, actor)
        or await _check_marketing(request, sender, recipient, org, world, actor)
    )


def _draft(request: Request, org: OrgId, channel: Channel, recipient: str, sender: NumberId, world: World) -> Draft:
    draft = Draft(
        org_id=org,
        sender=sender,
        channel=channel,
        recipient=recipient,
        template=request.template,
        subject=request.subject,
        payload=msgspec.json.encode(request.payload, order="deterministic").decode(),
        dossier_id=request.dossier_id,
        idempotency_key=request.idempotency_key or world.ids.token(16),
        digest=b"",
        priority=request.priority,
        scheduled_at=request.scheduled_at,
        expires_at=request.expires_at,
        ordered=request.ordered,
        max_attempts=request.max_attempts,
    )
    return msgspec.structs.replace(draft, digest=content_digest(draft, request.sender))


def _channel(name: str) -> Channel | Refusal:
    if name in Channel.__members__ and (channel := Channel(name)) in _SENDERS:
        return channel
    return Refusal("unsupported_channel", "channel", f"{name[:40]!r} cannot be sent: use {' or '.join(_SENDERS)}")


def _recipient(to: str, channel: Channel, region: str | None) -> str | Refusal:
    if channel is Channel.EMAIL:
        return emails.address(to) or Refusal(
            "invalid_recipient", "to", "must be an email address, e.g. ann@example.com"
        )
    found = recipients.address(to, region)
    return Refusal("invalid_recipient", "to", found.reason) if isinstance(found, recipients.Unreadable) else found


def _check_content(request: Request, channel: Channel) -> Refusal | None:
    invalid = _check_email(request) if channel is Channel.EMAIL else payloads.check(request.payload, request.template)
    if invalid:
        return Refusal("invalid_payload", invalid.field, invalid.reason)
    return None


def _check_key(request: Request) -> Refusal | None:
    if request.ours:
        return None
    if request.idempotency_key is not None and not 0 < len(request.idempotency_key) <= KEY_LENGTH:
        return Refusal("invalid_payload", "idempotencyKey", f"must have 1 to {KEY_LENGTH} characters")
    if request.idempotency_key is not None and request.idempotency_key.startswith(OUR_KEYS):
        ours = (
            "must not begin with turn:, consent: or post:, which are kept for replies, confirmations and people's posts"
        )
        return Refusal("invalid_payload", "idempotencyKey", ours)
    return None


def _check_email(request: Request) -> Invalid | None:
    if request.template is not None:
        return Invalid("templateCode", "is for WHATSAPP: an email has a subject and payloadJson")
    return emails.check(request.payload, request.subject)


def _check_moments(request: Request, world: World) -> Refusal | None:
    for field, moment in (("scheduledAt", request.scheduled_at), ("expiresAt", request.expires_at)):
        if moment is not None and not EARLIEST <= moment < LATEST:
            return Refusal("invalid_payload", field, "must lie between the years 2000 and 2100")
    if request.expires_at and request.scheduled_at and request.expires_at <= request.scheduled_at:
        return Refusal("invalid_payload", "expiresAt", "is not after scheduledAt: it would never be sent")
    # With a key it may repeat what was taken in time: only the Ledger knows, and answers with that message.
    if request.expires_at and request.idempotency_key is None and request.expires_at <= world.clock.now():
        return Refusal("invalid_payload", "expiresAt", "has passed already: it would never be sent")
    return None


async def _number(wanted: str | None, recipient: str, org: OrgId, world: World) -> NumberId | Refusal:
    numbers = await world.numbers.of_org(org)
    if not numbers or (wanted is not None and all(connected.number.id != wanted for connected in numbers)):
        numbers = await world.numbers.of_org(org, LOOK_AGAIN)
    if wanted is not None:
        if any(connected.number.id == wanted for connected in numbers):
            return NumberId(wanted)
        return Refusal("unknown_number", "from", "is not a number that this org has connected")
    if not numbers:
        return Refusal("unknown_number", "from", "this org has no connected number: POST /api/v1/numbers first")
    return await _open_to(recipient, [connected.number.id for connected in numbers], world) or numbers[0].number.id


async def _open_to(recipient: str, numbers: list[NumberId], world: World) -> NumberId | None:
    """Of several numbers, the one that the customer wrote to last and may still be answered from."""
    if len(numbers) == 1:
        return None
    now = world.clock.now()
    pairs = [p for p in await world.ledger.windows.of(numbers, recipient) if window.is_open(p.expires_at, now)]
    return max(pairs, key=lambda pair: pair.last_inbound_at or 0).sender if pairs else None


async def _mailbox(wanted: str | None, _recipient: str, org: OrgId, world: World) -> NumberId | Refusal:
    """By its id; a mailbox that was connected by another process a moment ago is looked for."""
    if wanted is not None:
        await world.mailboxes.find(wanted)
    mailboxes = await world.mailboxes.of_org(org)
    if not mailboxes:
        world.mailboxes.forget()
        mailboxes = await world.mailboxes.of_org(org)
    found = next((each.account for each in mailboxes if wanted in (None, each.account.id)), None)
    if found is not None:
        return NumberId(found.id)
    if not mailboxes:
        return Refusal("unknown_mailbox", "from", "this org has no connected mailbox: POST /api/v1/mailboxes first")
    return Refusal("unknown_mailbox", "from", "is not the id of a mailbox that this org has connected")


_SENDERS: Mapping[Channel, Callable[[str | None, str, OrgId, World], Awaitable[NumberId | Refusal]]] = {
    Channel.WHATSAPP: _number,
    Channel.EMAIL: _mailbox,
}
"""The channels that can be sent, and who sends on each."""


async def _check_template(request: Request, sender: NumberId, org: OrgId, world: World) -> Refusal | None:
    """Against the list of the account that the sender belongs to."""
    connected = await world.numbers.find(sender) if request.template else None
    if request.template is None or connected is None:
        return None
    account = templates.account_of(connected)
    refused = await templates.check_template(request.template, request.payload, account, org, world)
    if refused is None:
        return None
    field = "templateCode" if refused.field == "name" else f"payloadJson.{refused.field}"
    return Refusal(refused.code, field, refused.reason)


async def _check_dossier(request: Request, recipient: str, org: OrgId, world: World, actor: str) -> Refusal | None:
    """The person must be known and have agreed. Without a dossier, the address alone is asked when it is stored."""
    if request.dossier_id is None:
        return None
    dossier = DossierId(request.dossier_id)
    word = await world.ledger.consents.word(org, dossier, recipient, Channel(request.channel))
    if not word.dossier_known:
        return Refusal("unknown_dossier", "dossierId", f"there is no dossier {dossier}: POST /api/v1/dossiers first")
    reason = refused_by_consent(True, word.dossier, word.address)
    return None if reason is None else await _blocked(request, recipient, reason, org, world, actor)


async def _check_marketing(
    request: Request, sender: NumberId, recipient: str, org: OrgId, world: World, actor: str
) -> Refusal | None:
    connected = await world.numbers.find(sender) if request.template else None
    if request.template is None or connected is None:
        return None
    waba_id, dossier = connected.number.waba_id, request.dossier_id
    reason = await marketing.refused(org, waba_id, request.template, recipient, dossier, world)
    return None if reason is None else await _blocked(request, recipient, reason, org, world, actor)


async def _blocked(
    request: Request, recipient: str, reason: str, org: OrgId, world: World, actor: str
) -> Refusal | None:
    """Refused for want of consent, and on record; a call that is repeated is no new wish."""
    if await _was_stored(request, org, world):
        return None
    dossier, what = request.dossier_id, f"{request.channel} message refused: {reason}"
    about = audit.About(Entity.ADDRESS, recipient) if dossier is None else audit.About(Entity.DOSSIER, str(dossier))
    await audit.record(org, about, Action.BLOCKED_BY_POLICY, actor, what, world)
    return Refusal("consent_required", "to" if dossier is None else "dossierId", reason)


async def _was_stored(request: Request, org: OrgId, world: World) -> bool:
    """A call that is repeated gets the answer of the first one, whatever was revoked in between."""
    key = request.idempotency_key
    return key is not None and await world.ledger.messages.used_key(org, key)


def content_digest(draft: Draft, wanted_sender: str | None) -> bytes:
    """Equal for two requests that ask for the same; what we filled in ourselves does not count."""
    content = (
        wanted_sender,
        draft.channel,
        draft.recipient,
        draft.template,
        draft.subject,
        draft.payload,
        draft.dossier_id,
        draft.priority,
        draft.scheduled_at,
        draft.expires_at,
        draft.ordered,
        draft.max_attempts,
    )
    return hashlib.sha256(msgspec.json.encode(content)).digest()
