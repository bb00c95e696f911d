"""Shared steps of the conversation and turn contracts: customers write, workers claim, a bot answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waypost.model.conversation import (
    BOT,
    Contact,
    Conversation,
    ConversationId,
    Entry,
    InboundMessage,
    Position,
    TurnClaim,
    TurnState,
    TurnTiming,
)
from waypost.model.dossier import ConsentStatus, DossierFields
from waypost.model.ids import OrgId, WorkerId
from waypost.model.message import Channel, Draft
from waypost.model.time import Instant, seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.accounts.dossiers import DossierSplit
from waypost.ports.conversations.turn_queue import TurnAnswer, TurnCommitted, TurnDemand
from waypost.ports.ledger import Ledger
from waypost.ports.receiving.journal import AppliedWebhook
from waypost_testing.contracts.examples import CUSTOMER, ORG, T0, W1, a_draft, an_inbound, later

TIMES = TurnTiming()
SUPERSEDING = TurnTiming(supersede=True)
DUE = later(TIMES.quiet)
"""When a message written at T0 is due."""
LOST = Instant(DUE + TIMES.lease)
"""When the lease of a turn claimed then has expired."""
END = Position(1_000_000)


async def arrive(ledger: Ledger, *messages: InboundMessage, now: Instant = T0) -> AppliedWebhook:
    return await ledger.journal.apply_webhook(WebhookBatch([], [], list(messages)), now)


async def write(ledger: Ledger, *texts: str, now: Instant = T0, **fields: Any) -> list[InboundMessage]:
    """A customer writes these, one after the other."""
    wrote = [an_inbound(text=text, at=now, **fields) for text in texts]
    for message in wrote:
        await arrive(ledger, message, now=now)
    return wrote


async def claim_turns(
    ledger: Ledger, now: Instant = DUE, owner: WorkerId = W1, slots: int = 100, times: TurnTiming = TIMES
) -> list[TurnClaim]:
    return list(await ledger.turn_queue.claim(TurnDemand(owner, slots), lambda _: times, now))


async def claim_turn(ledger: Ledger, now: Instant = DUE, owner: WorkerId = W1, times: TurnTiming = TIMES) -> TurnClaim:
    """The only due turn."""
    (claim,) = await claim_turns(ledger, now, owner, times=times)
    return claim


async def a_turn(ledger: Ledger, *texts: str, **fields: Any) -> TurnClaim:
    """A turn claimed by a worker, after a customer wrote these."""
    await write(ledger, *(texts or ("hello",)), **fields)
    return await claim_turn(ledger)


def replies(claim: TurnClaim, *words: str, **fields: Any) -> tuple[Draft, ...]:
    """Replies as a bot's answer queues them."""
    conversation = claim.conversation
    standard: dict[str, Any] = {
        "org_id": conversation.org_id,
        "sender": conversation.number,
        "recipient": conversation.address,
        "ordered": True,
        "created_by": BOT,
        "conversation_id": conversation.id,
    }
    return tuple(
        a_draft(key=f"turn:{claim.turn_id}:{n}", content=each, **(standard | fields)) for n, each in enumerate(words, 1)
    )


async def commit(ledger: Ledger, claim: TurnClaim, *words: str, now: Instant = DUE, **fields: Any) -> TurnCommitted:
    done = await ledger.turn_queue.commit(claim, TurnAnswer(drafts=replies(claim, *words, **fields)), now)
    assert isinstance(done, TurnCommitted), done
    return done


async def conversations_with(ledger: Ledger, customer: str = CUSTOMER, org: OrgId = ORG) -> Sequence[Conversation]:
    kind = "phone" if customer.startswith("+") else "user"
    return await ledger.conversations.at(org, f"{kind}:{customer}")


async def conversation_with(ledger: Ledger, customer: str = CUSTOMER, org: OrgId = ORG) -> Conversation:
    """The only conversation of a customer."""
    (conversation,) = await conversations_with(ledger, customer, org)
    return conversation


async def contact_of(ledger: Ledger, customer: str = CUSTOMER, org: OrgId = ORG) -> Contact:
    conversation, *_ = await conversations_with(ledger, customer, org)
    found = await ledger.conversations.contact(org, conversation.contact_id)
    assert found is not None
    return found


async def turn_state_of(ledger: Ledger, conversation: ConversationId) -> TurnState:
    found = await ledger.conversations.turn_state(conversation)
    assert found is not None
    return found


async def entries(ledger: Ledger, conversation: ConversationId) -> list[Entry]:
    """All entries, in order."""
    found = list(reversed(await ledger.conversations.entries(conversation, END, 10_000)))
    assert [entry.position for entry in found] == list(range(1, len(found) + 1)), "positions have a gap"
    ids = [entry.id_at for entry in found]
    assert ids == sorted(set(ids)), "an id is not later than the one before"
    return found


def words(shown: Sequence[Entry]) -> list[str]:
    """The texts that the test put into them."""
    return [entry.body.split('"')[-2] for entry in shown]


async def revoke(ledger: Ledger, customer: str = CUSTOMER) -> None:
    """The customer has revoked consent."""
    ensured = await ledger.dossiers.ensure(ORG, DossierFields(phone=customer), "test", T0)
    assert not isinstance(ensured, DossierSplit)
    await ledger.consents.put(ORG, ensured.dossier.id, Channel.WHATSAPP, ConsentStatus.REVOKED, "test", T0)


def soon(at: Instant, count: float) -> Instant:
    return Instant(at + seconds(count))
