"""Checks a caller's message and stores it, QUEUED."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from waypost.flow.number_cache import LOOK_AGAIN
from waypost.flow.operations import audit
from waypost.flow.sending import marketing, templates
from waypost.flow.world import World
from waypost.model.audit import SYSTEM, AuditAction, Entity
from waypost.model.dossier import DossierId
from waypost.model.ids import NumberId, OrgId
from waypost.model.message import Channel, Draft, Message
from waypost.model.time import Instant, Span, from_unix
from waypost.ports.platform.failure import LedgerError
from waypost.ports.platform.hints import OUTBOX
from waypost.ports.sending.outbox import BlockedByConsent, Created, DifferentContent
from waypost.rules.content import email as emails
from waypost.rules.content import payload as payloads
from waypost.rules.content import recipient as recipients
from waypost.rules.limits import window
from waypost.rules.sending.send_checks import refused_by_consent
from waypost.rules.text.json_validation import InvalidField

KEY_LENGTH = 255
OUR_KEYS = ("turn:", "consent:", "post:")
"""The prefixes of our own idempotency keys: bot replies, STOP confirmations and users' posts."""
TOGETHER = 100
"""How many requests of a batch are checked before other tasks run."""
EARLIEST, LATEST = from_unix(946_684_800), from_unix(4_102_444_800)
"""The years 2000 and 2100: times outside are mistakes, and some cannot be formatted."""


class SubmitRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A caller's request, unchecked."""

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
    """Whether the key is one of our own, with a prefix of OUR_KEYS."""


class SubmitRefusal(msgspec.Struct, frozen=True):
    """Why a message is refused: a stable code, the field, and what to do."""

    code: str
    field: str
    reason: str


class StoredMessage(msgspec.Struct, frozen=True):
    message: Message
    created: bool


SubmitResult: TypeAlias = StoredMessage | SubmitRefusal


async def submit(request: SubmitRequest, org: OrgId, world: World, actor: str = SYSTEM) -> SubmitResult:
    draft = await check(request, org, world, actor)
    return draft if isinstance(draft, SubmitRefusal) else await _store(draft, org, world)


async def _store(draft: Draft, org: OrgId, world: World) -> SubmitResult:
    submitted = await world.ledger.outbox.submit(draft, world.clock.now())
    if isinstance(submitted, Created):
        world.hints.give([OUTBOX])
        return StoredMessage(submitted.message, created=True)
    if isinstance(submitted, BlockedByConsent):
        return SubmitRefusal("consent_required", "to", submitted.reason)
    if isinstance(submitted, DifferentContent):
        used = f"was used for message {submitted.message_id} with other content: use a new key for a new message"
        return SubmitRefusal("idempotency_conflict", "idempotencyKey", used)
    message = await world.ledger.messages.get(org, submitted.message_id)
    if message is None:
        raise LookupError(f"message {submitted.message_id} was stored but cannot be read")
    return StoredMessage(message, created=False)


async def submit_all(
    requests: Sequence[SubmitRequest], org: OrgId, world: World, actor: str = SYSTEM
) -> list[SubmitResult | LedgerError]:
    """One result per request, in order. Valid requests are submitted together, so that they share a commit."""
    checked: list[Draft | SubmitRefusal] = []
    for number, request in enumerate(requests):
        checked.append(await check(request, org, world, actor))
        if number % TOGETHER == TOGETHER - 1:
            await world.clock.sleep(Span(0))  # let other tasks run
    drafts = [each for each in checked if not isinstance(each, SubmitRefusal)]
    stored = await asyncio.gather(*(_store(draft, org, world) for draft in drafts), return_exceptions=True)
    results = iter(stored)
    return [each if isinstance(each, SubmitRefusal) else _result(next(results)) for each in checked]


def _result(result: SubmitResult | BaseException) -> SubmitResult | LedgerError:
    """A LedgerError is the result of its own request; any other exception fails the batch."""
    if isinstance(result, BaseException) and not isinstance(result, LedgerError):
        raise result
    return result


async def check(request: SubmitRequest, org: OrgId, world: World, actor: str = SYSTEM) -> Draft | SubmitRefusal:
    """The draft to store, or the first error; a refusal for missing consent is audited with the actor."""
    channel = _channel(request.channel)
    if isinstance(channel, SubmitRefusal):
        return channel
    recipient = _recipient(request.to, channel, (await world.policies.of(org)).default_region)
    if isinstance(recipient, SubmitRefusal):
        return recipient
    if refusal := _check_content(request, channel) or _check_key(request) or _check_moments(request, world):
        return refusal
    sender, refusal = await _check_world(request, channel, recipient, org, world, actor)
    if refusal is not None and not await _was_stored(request, org, world):
        return refusal
    return msgspec.structs.replace(_draft(request, org, channel, recipient, sender, world), created_by=actor)


async def _check_world(
    request: SubmitRequest, channel: Channel, recipient: str, org: OrgId, world: World, actor: str
) -> tuple[NumberId, SubmitRefusal | None]:
    """Checks what may change between a request and its retry: numbers, templates and consents."""
    sender = await _SENDERS[channel](request.sender, recipient, org, world)
    if isinstance(sender, SubmitRefusal):
        return NumberId(request.sender or ""), sender
    return sender, (
        await _check_template(request, sender, org, world)
        or await _check_dossier(request, recipient, org, world, actor)
        or await _check_marketing(request, sender, recipient, org, world, actor)
    )


def _draft(
    request: SubmitRequest, org: OrgId, channel: Channel, recipient: str, sender: NumberId, world: World
) -> Draft:
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


def _channel(name: str) -> Channel | SubmitRefusal:
    if name in Channel.__members__ and (channel := Channel(name)) in _SENDERS:
        return channel
    return SubmitRefusal("unsupported_channel", "channel", f"{name[:40]!r} cannot be sent: use {' or '.join(_SENDERS)}")


def _recipient(to: str, channel: Channel, region: str | None) -> str | SubmitRefusal:
    if channel is Channel.EMAIL:
        return emails.address(to) or SubmitRefusal(
            "invalid_recipient", "to", "must be an email address, e.g. ann@example.com"
        )
    found = recipients.address(to, region)
    return (
        SubmitRefusal("invalid_recipient", "to", found.reason) if isinstance(found, recipients.InvalidPhone) else found
    )


def _check_content(request: SubmitRequest, channel: Channel) -> SubmitRefusal | None:
    invalid = _check_email(request) if channel is Channel.EMAIL else payloads.check(request.payload, request.template)
    if invalid:
        return SubmitRefusal("invalid_payload", invalid.field, invalid.reason)
    return None


def _check_key(request: SubmitRequest) -> SubmitRefusal | None:
    if request.ours:
        return None
    if request.idempotency_key is not None and not 0 < len(request.idempotency_key) <= KEY_LENGTH:
        return SubmitRefusal("invalid_payload", "idempotencyKey", f"must have 1 to {KEY_LENGTH} characters")
    if request.idempotency_key is not None and request.idempotency_key.startswith(OUR_KEYS):
        ours = "must not begin with turn:, consent: or post:, which are reserved for replies, confirmations and posts"
        return SubmitRefusal("invalid_payload", "idempotencyKey", ours)
    return None


def _check_email(request: SubmitRequest) -> InvalidField | None:
    if request.template is not None:
        return InvalidField("templateCode", "is for WHATSAPP: an email has a subject and payloadJson")
    return emails.check(request.payload, request.subject)


def _check_moments(request: SubmitRequest, world: World) -> SubmitRefusal | None:
    for field, moment in (("scheduledAt", request.scheduled_at), ("expiresAt", request.expires_at)):
        if moment is not None and not EARLIEST <= moment < LATEST:
            return SubmitRefusal("invalid_payload", field, "must lie between the years 2000 and 2100")
    if request.expires_at and request.scheduled_at and request.expires_at <= request.scheduled_at:
        return SubmitRefusal(
            "invalid_payload", "expiresAt", "must be after scheduledAt: the message would never be sent"
        )
    # With a key it may be a retry of a message that was accepted in time: the Ledger decides.
    if request.expires_at and request.idempotency_key is None and request.expires_at <= world.clock.now():
        return SubmitRefusal("invalid_payload", "expiresAt", "is in the past: the message would never be sent")
    return None


async def _number(wanted: str | None, recipient: str, org: OrgId, world: World) -> NumberId | SubmitRefusal:
    numbers = await world.numbers.of_org(org)
    if not numbers or (wanted is not None and all(connected.number.id != wanted for connected in numbers)):
        numbers = await world.numbers.of_org(org, LOOK_AGAIN)
    if wanted is not None:
        if any(connected.number.id == wanted for connected in numbers):
            return NumberId(wanted)
        return SubmitRefusal("unknown_number", "from", "is not a number that this org has connected")
    if not numbers:
        return SubmitRefusal("unknown_number", "from", "this org has no connected number: POST /api/v1/numbers first")
    return await _open_to(recipient, [connected.number.id for connected in numbers], world) or numbers[0].number.id


async def _open_to(recipient: str, numbers: list[NumberId], world: World) -> NumberId | None:
    """Of several numbers, the one with an open window that the customer wrote to last."""
    if len(numbers) == 1:
        return None
    now = world.clock.now()
    states = await world.ledger.windows.of(numbers, recipient)
    open_states = [state for state in states if window.is_open(state.expires_at, now)]
    return max(open_states, key=lambda state: state.last_inbound_at or 0).sender if open_states else None


async def _mailbox(wanted: str | None, _recipient: str, org: OrgId, world: World) -> NumberId | SubmitRefusal:
    """The wanted mailbox, or the org's first; also finds one that another process has just connected."""
    if wanted is not None:
        await world.mailboxes.find(wanted)
    mailboxes = await world.mailboxes.of_org(org)
    if not mailboxes:
        world.mailboxes.invalidate()
        mailboxes = await world.mailboxes.of_org(org)
    found = next((each.account for each in mailboxes if wanted in (None, each.account.id)), None)
    if found is not None:
        return NumberId(found.id)
    if not mailboxes:
        return SubmitRefusal(
            "unknown_mailbox", "from", "this org has no connected mailbox: POST /api/v1/mailboxes first"
        )
    return SubmitRefusal("unknown_mailbox", "from", "is not the id of a mailbox that this org has connected")


_SENDERS: Mapping[Channel, Callable[[str | None, str, OrgId, World], Awaitable[NumberId | SubmitRefusal]]] = {
    Channel.WHATSAPP: _number,
    Channel.EMAIL: _mailbox,
}
"""The supported channels, each with the function that picks its sender."""


async def _check_template(request: SubmitRequest, sender: NumberId, org: OrgId, world: World) -> SubmitRefusal | None:
    """Checks the template against the list of the sender's account."""
    connected = await world.numbers.find(sender) if request.template else None
    if request.template is None or connected is None:
        return None
    account = templates.account_of(connected)
    refused = await templates.check_template(request.template, request.payload, account, org, world)
    if refused is None:
        return None
    field = "templateCode" if refused.field == "name" else f"payloadJson.{refused.field}"
    return SubmitRefusal(refused.code, field, refused.reason)


async def _check_dossier(
    request: SubmitRequest, recipient: str, org: OrgId, world: World, actor: str
) -> SubmitRefusal | None:
    """The dossier must exist and have given consent. Without one, storing checks the address alone."""
    if request.dossier_id is None:
        return None
    dossier = DossierId(request.dossier_id)
    consent = await world.ledger.consents.word(org, dossier, recipient, Channel(request.channel))
    if not consent.dossier_known:
        return SubmitRefusal(
            "unknown_dossier", "dossierId", f"there is no dossier {dossier}: POST /api/v1/dossiers first"
        )
    reason = refused_by_consent(True, consent.dossier, consent.address)
    return None if reason is None else await _blocked(request, recipient, reason, org, world, actor)


async def _check_marketing(
    request: SubmitRequest, sender: NumberId, recipient: str, org: OrgId, world: World, actor: str
) -> SubmitRefusal | None:
    connected = await world.numbers.find(sender) if request.template else None
    if request.template is None or connected is None:
        return None
    waba_id, dossier = connected.number.waba_id, request.dossier_id
    reason = await marketing.refused(org, waba_id, request.template, recipient, dossier, world)
    return None if reason is None else await _blocked(request, recipient, reason, org, world, actor)


async def _blocked(
    request: SubmitRequest, recipient: str, reason: str, org: OrgId, world: World, actor: str
) -> SubmitRefusal | None:
    """Refuses for missing consent and audits it, unless the request is a retry of a stored message."""
    if await _was_stored(request, org, world):
        return None
    dossier, details = request.dossier_id, f"{request.channel} message refused: {reason}"
    about = (
        audit.AuditSubject(Entity.ADDRESS, recipient)
        if dossier is None
        else audit.AuditSubject(Entity.DOSSIER, str(dossier))
    )
    await audit.record(org, about, AuditAction.BLOCKED_BY_POLICY, actor, details, world)
    return SubmitRefusal("consent_required", "to" if dossier is None else "dossierId", reason)


async def _was_stored(request: SubmitRequest, org: OrgId, world: World) -> bool:
    """A retried request gets the first one's answer, even if consent was revoked in between."""
    key = request.idempotency_key
    return key is not None and await world.ledger.messages.used_key(org, key)


def content_digest(draft: Draft, wanted_sender: str | None) -> bytes:
    """Equal for two requests with the same content; values that we filled in do not count."""
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
