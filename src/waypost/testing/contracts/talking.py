"""What the contracts of conversations and turns share: customers write, workers claim, a bot answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waypost.model.conversation import (
    BOT,
    Arrival,
    Claim,
    Contact,
    Conversation,
    ConversationId,
    Entry,
    Lane,
    Position,
    Times,
)
from waypost.model.dossier import ConsentStatus, Person
from waypost.model.ids import OrgId, WorkerId
from waypost.model.message import Channel, Draft
from waypost.model.report import Post
from waypost.model.time import Instant, seconds
from waypost.ports.dossiers import Split
from waypost.ports.journal import Taken
from waypost.ports.lanes import Answered, Committed, TurnDemand
from waypost.ports.ledger import Ledger
from waypost.testing.contracts.examples import CUSTOMER, ORG, T0, W1, a_draft, an_arrival, later

TIMES = Times()
SUPERSEDING = Times(supersede=True)
DUE = later(TIMES.quiet)
"""When what was written at T0 is due."""
LOST = Instant(DUE + TIMES.lease)
"""When a turn claimed then has lost its lease."""
END = Position(1_000_000)


async def arrive(ledger: Ledger, *arrivals: Arrival, now: Instant = T0) -> Taken:
    return await ledger.journal.take(Post([], [], list(arrivals)), now)


async def write(ledger: Ledger, *texts: str, now: Instant = T0, **fields: Any) -> list[Arrival]:
    """A customer writes these, one after the other."""
    wrote = [an_arrival(text=text, at=now, **fields) for text in texts]
    for told in wrote:
        await arrive(ledger, told, now=now)
    return wrote


async def claim_turns(
    ledger: Ledger, now: Instant = DUE, owner: WorkerId = W1, slots: int = 100, times: Times = TIMES
) -> list[Claim]:
    return list(await ledger.lanes.claim(TurnDemand(owner, slots), lambda _: times, now))


async def claim_turn(ledger: Ledger, now: Instant = DUE, owner: WorkerId = W1, times: Times = TIMES) -> Claim:
    """The only turn that is due."""
    (claim,) = await claim_turns(ledger, now, owner, times=times)
    return claim


async def a_turn(ledger: Ledger, *texts: str, **fields: Any) -> Claim:
    """In a worker's hands, after a customer wrote these."""
    await write(ledger, *(texts or ("hello",)), **fields)
    return await claim_turn(ledger)


def replies(claim: Claim, *words: str, **fields: Any) -> tuple[Draft, ...]:
    """As a bot's answer is queued."""
    talk = claim.conversation
    standard: dict[str, Any] = {
        "org_id": talk.org_id,
        "sender": talk.number,
        "recipient": talk.address,
        "ordered": True,
        "created_by": BOT,
        "conversation_id": talk.id,
    }
    return tuple(
        a_draft(key=f"turn:{claim.turn_id}:{n}", content=each, **(standard | fields)) for n, each in enumerate(words, 1)
    )


async def commit(ledger: Ledger, claim: Claim, *words: str, now: Instant = DUE, **fields: Any) -> Committed:
    done = await ledger.lanes.commit(claim, Answered(drafts=replies(claim, *words, **fields)), now)
    assert isinstance(done, Committed), done
    return done


async def talks_with(ledger: Ledger, customer: str = CUSTOMER, org: OrgId = ORG) -> Sequence[Conversation]:
    kind = "phone" if customer.startswith("+") else "user"
    return await ledger.conversations.at(org, f"{kind}:{customer}")


async def talk_with(ledger: Ledger, customer: str = CUSTOMER, org: OrgId = ORG) -> Conversation:
    """The only conversation of a customer."""
    (talk,) = await talks_with(ledger, customer, org)
    return talk


async def contact_of(ledger: Ledger, customer: str = CUSTOMER, org: OrgId = ORG) -> Contact:
    talk, *_ = await talks_with(ledger, customer, org)
    found = await ledger.conversations.contact(org, talk.contact_id)
    assert found is not None
    return found


async def lane_of(ledger: Ledger, conversation: ConversationId) -> Lane:
    found = await ledger.conversations.lane(conversation)
    assert found is not None
    return found


async def entries(ledger: Ledger, conversation: ConversationId) -> list[Entry]:
    """All of them, in order."""
    found = list(reversed(await ledger.conversations.entries(conversation, END, 10_000)))
    assert [entry.position for entry in found] == list(range(1, len(found) + 1)), "positions have a gap"
    ids = [entry.id_at for entry in found]
    assert ids == sorted(set(ids)), "an id is not later than the one before"
    return found


def words(said: Sequence[Entry]) -> list[str]:
    """What the test put into them."""
    return [entry.body.split('"')[-2] for entry in said]


async def revoke(ledger: Ledger, customer: str = CUSTOMER) -> None:
    """The customer has said no."""
    ensured = await ledger.dossiers.ensure(ORG, Person(phone=customer), "test", T0)
    assert not isinstance(ensured, Split)
    await ledger.consents.put(ORG, ensured.dossier.id, Channel.WHATSAPP, ConsentStatus.REVOKED, "test", T0)


def soon(at: Instant, count: float) -> Instant:
    return Instant(at + seconds(count))
