"""An intent names the keys that it needs and decides on the rows found for them; many share one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from waypost.adapters.sql.kernel.chat_locks import ChatKeys
from waypost.adapters.sql.kernel.transaction_state import TransactionState
from waypost.model.conversation import ConversationId, InboundMessage, TurnClaim
from waypost.model.gate import GateClosing, GateName
from waypost.model.ids import Fence, MessageId, NumberId, OrgId, QueueId, Wamid
from waypost.model.message import Draft
from waypost.model.time import Instant
from waypost.model.webhook import StatusKey, StatusUpdate


@dataclass(slots=True)
class Keys:
    """The keys that a batch must find, lock or insert before it can decide."""

    drafts: list[tuple[Draft, Instant]] = field(default_factory=list)
    messages: set[MessageId] = field(default_factory=set)
    queues: set[QueueId] = field(default_factory=set)
    updates: list[StatusUpdate] = field(default_factory=list)
    failures: set[StatusKey] = field(default_factory=set)
    """Status updates that close a gate if they are new."""
    acceptances: list[tuple[NumberId, Wamid, MessageId, Fence]] = field(default_factory=list)
    doubtful: set[MessageId] = field(default_factory=set)
    """Unsettled attempts for which a status without an echo may have come."""
    permits: set[str] = field(default_factory=set)
    """Permits to give back, locked before gates and recipient states, as in a claim."""
    untried: set[MessageId] = field(default_factory=set)
    """Messages whose permits are given back."""
    inbound: list[InboundMessage] = field(default_factory=list)
    conversations: set[ConversationId] = field(default_factory=set)
    """Conversations that intents name by id."""
    promised: list[tuple[TurnClaim, tuple[Draft, ...], Instant]] = field(default_factory=list)
    """Drafts that are stored only if their turn is still held."""
    silenced: set[ConversationId] = field(default_factory=set)
    """Conversations whose unsent bot replies are cancelled."""
    own_drafts: list[Draft] = field(default_factory=list)
    """API messages: shown in the recipient's conversation, if there is one."""
    late: set[MessageId] = field(default_factory=set)
    """Scheduled API messages: shown once the provider has accepted them."""
    chat_keys: ChatKeys = field(default_factory=ChatKeys)
    """Keys of chats, posts and read markers."""
    gates: set[tuple[OrgId, GateName]] = field(default_factory=set)
    recipients: set[tuple[NumberId, str]] = field(default_factory=set)

    def close(self, closing: GateClosing) -> None:
        if closing.pair is not None:
            self.recipients.add(closing.pair)
        else:
            self.gates.add((closing.org_id, closing.name))


class Intent(Protocol):
    @property
    def now(self) -> Instant: ...

    def needs(self, keys: Keys) -> None:
        """Add the keys that are known before anything is read."""

    def decide(self, work: TransactionState) -> Any:
        """Change `work` and return the answer; neither reads nor writes the database."""


def all_keys(intents: Iterable[Intent]) -> Keys:
    keys = Keys()
    for intent in intents:
        intent.needs(keys)
    return keys
