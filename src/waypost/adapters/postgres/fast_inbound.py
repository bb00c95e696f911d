"""The fast path of inbound messages: read without locks, decide, and write in one statement if nothing changed.

Only for known contacts with an existing conversation and an unchanged name. Every other POST, and every concurrent
change, takes the full path through the kernel.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from operator import itemgetter

from waypost.adapters.sql.engine.plan import AtOnce, Plan, Row, each, some
from waypost.adapters.sql.kernel import find_or_create_contacts
from waypost.adapters.sql.kernel.apply_webhook import ApplyWebhook
from waypost.adapters.sql.kernel.commit_queues import InboundAddressKey
from waypost.adapters.sql.kernel.kernel import Decided
from waypost.adapters.sql.kernel.transaction_state import TransactionState
from waypost.adapters.sql.rows import conversation_rows, gate_rows
from waypost.model.conversation import ConversationId, InboundMessage
from waypost.model.time import Instant
from waypost.model.webhook import WebhookBatch
from waypost.ports.receiving.journal import AppliedWebhook
from waypost.rules.conversations.phone_forms import spellings

_MOST_ADDRESSES = 2
"""A phone number and the id that Meta gives a customer for this business."""
_HEAD = 9
_TURN_STATE = _HEAD + conversation_rows.CONVERSATION
_PAIR = _TURN_STATE + conversation_rows.TURN_STATE


def store_inbound_fast(intents: Sequence[ApplyWebhook], elsewhere: Container[InboundAddressKey]) -> Plan[Decided]:
    """Return one answer per intent; None if it needs the full path. `elsewhere`: addresses already on that path."""
    wanted = [inbound for intent in intents if _may_be_short(intent.post) for inbound in intent.post.inbound]
    found = yield from each("arrivals_read", [_row(n, inbound) for n, inbound in enumerate(wanted)])
    candidates = _Candidates(
        {id(wanted[row[0]]): row for row in found}, elsewhere, max(intent.now for intent in intents)
    )
    taken = [candidates.apply(intent) for intent in intents]
    drawn = (yield candidates.writing()) if candidates.has_news else []
    return Decided(taken if drawn else [None] * len(intents), dict(drawn))  # type: ignore[arg-type]  # a name and a number each


def _may_be_short(post: WebhookBatch) -> bool:
    inbound = post.inbound
    is_plain = not (post.statuses or post.items or post.closings)
    return is_plain and all(t.consent is None and len(t.addresses) <= _MOST_ADDRESSES for t in inbound)


def _row(n: int, inbound: InboundMessage) -> Row:
    other = inbound.addresses[1] if len(inbound.addresses) > 1 else None
    return n, inbound.org_id, inbound.addresses[0], other, inbound.number, inbound.wamid, inbound.reply_to


def _is_one_recipient(inbound: InboundMessage, row: Row) -> bool:
    """Whether one recipient state was read that can be compared: it exists, and the phone has one spelling."""
    return row[8] is not None and spellings(inbound.reply_to) == (inbound.reply_to,)


class _Candidates:
    """The messages of a batch that may take the fast path."""

    def __init__(self, found: Mapping[int, Row], elsewhere: Container[InboundAddressKey], now: Instant) -> None:
        self._found = found
        self._elsewhere = elsewhere
        self._on_full_path: set[InboundAddressKey] = set()
        self._work = TransactionState(now)
        self._conversations: dict[ConversationId, Row] = {}
        self._recipients: dict[tuple[str, str], str] = {}

    @property
    def has_news(self) -> bool:
        """Whether there is something to write, and nothing that needs a statement of its own."""
        return bool(self._work.conversations.items) and not self._work.conversations.worked

    def apply(self, intent: ApplyWebhook) -> AppliedWebhook | None:
        """Also None if an earlier message from the same address takes the full path, to keep order."""
        if not all(self._is_expected(inbound) for inbound in intent.post.inbound):
            self._on_full_path.update((inbound.org_id, a) for inbound in intent.post.inbound for a in inbound.addresses)
            return None
        for inbound in intent.post.inbound:
            self._let_in(inbound, self._found[id(inbound)])
        return intent.decide(self._work)

    def _is_expected(self, inbound: InboundMessage) -> bool:
        row = self._found.get(id(inbound))
        if row is None or inbound.name not in (None, "", row[1]) or inbound.username not in (None, "", row[2]):
            return False
        if len(inbound.addresses) > 1 and row[4] != row[3]:
            return False
        if inbound.opens_window and not _is_one_recipient(inbound, row):
            return False
        names = [(inbound.org_id, address) for address in inbound.addresses]
        return not any(name in self._on_full_path or name in self._elsewhere for name in names)

    def _let_in(self, inbound: InboundMessage, row: Row) -> None:
        conversations, where = self._work.conversations, ConversationId(row[_HEAD])
        if where not in self._conversations:
            self._conversations[where] = (where, row[6], row[7])
            conversations.by_id[where] = conversation_rows.conversation(row[_HEAD:_TURN_STATE])
            conversations.turn_states[where] = conversation_rows.turn_state(row[_TURN_STATE:_PAIR])
        conversations.where[inbound.number, inbound.wamid] = where
        if row[5] is not None:
            conversations.known.add((inbound.number, inbound.wamid))
        if inbound.opens_window:
            recipient = (inbound.number, inbound.reply_to)
            if recipient not in self._recipients:
                self._recipients[recipient] = row[8]
                self._work.recipients[recipient] = gate_rows.pair(row[_PAIR:])

    def writing(self) -> AtOnce:
        """In the lock order: the feeds come last."""
        work, conversations = self._work, self._work.conversations
        certain = some(
            each("talk_unchanged", [self._conversations[where] for where in sorted(self._conversations)]),
            each(
                "pair_unchanged", [(*recipient, self._recipients[recipient]) for recipient in sorted(self._recipients)]
            ),
            each("arrival_insert", sorted(conversations.inbound_rows, key=itemgetter(0, 1))),
        )
        writes = some(
            *find_or_create_contacts.writes(conversations),
            each("pair_put", [gate_rows.pair_row(work.recipients[recipient]) for recipient in sorted(work.touched)]),
            *find_or_create_contacts.feed_writes(conversations),
        )
        return AtOnce(certain, writes, asked="feed_draw")
