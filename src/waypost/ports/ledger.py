"""The Ledger: everything that is decided in a transaction, by noun."""

from __future__ import annotations

from typing import Protocol

from waypost.ports.accounts import Accounts
from waypost.ports.audit import Audit
from waypost.ports.behind import Behind
from waypost.ports.chats import Chats, Follows
from waypost.ports.consents import Consents
from waypost.ports.conversations import Conversations, Feeds
from waypost.ports.detector import Detector
from waypost.ports.dossiers import Dossiers
from waypost.ports.failover import Failover
from waypost.ports.figures import Figures
from waypost.ports.gates import Gates, Quotas, Windows
from waypost.ports.hand_over import HandOver
from waypost.ports.journal import Journal
from waypost.ports.lanes import Lanes
from waypost.ports.log import Log
from waypost.ports.mailboxes import Mailboxes
from waypost.ports.media import Files
from waypost.ports.messages import Messages
from waypost.ports.money import Money
from waypost.ports.operating import Operating
from waypost.ports.outbox import Door, Lookup, Outbox
from waypost.ports.policies import Policies
from waypost.ports.push import Notices
from waypost.ports.quick_replies import QuickReplies
from waypost.ports.search import Search
from waypost.ports.templates import Templates


class Ledger(Protocol):
    @property
    def outbox(self) -> Outbox: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def accounts(self) -> Accounts: ...
    @property
    def mailboxes(self) -> Mailboxes: ...
    @property
    def failover(self) -> Failover: ...
    @property
    def templates(self) -> Templates: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def lanes(self) -> Lanes: ...
    @property
    def conversations(self) -> Conversations: ...
    @property
    def feeds(self) -> Feeds: ...
    @property
    def chats(self) -> Chats: ...
    @property
    def log(self) -> Log:
        """Its own tables as the Log, where no other one is connected."""

    @property
    def follows(self) -> Follows: ...
    @property
    def behind(self) -> Behind: ...
    @property
    def hand_over(self) -> HandOver: ...
    @property
    def search(self) -> Search: ...
    @property
    def notices(self) -> Notices: ...
    @property
    def door(self) -> Door: ...
    @property
    def lookup(self) -> Lookup: ...
    @property
    def detector(self) -> Detector: ...
    @property
    def gates(self) -> Gates: ...
    @property
    def quotas(self) -> Quotas: ...
    @property
    def windows(self) -> Windows: ...
    @property
    def dossiers(self) -> Dossiers: ...
    @property
    def consents(self) -> Consents: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def operating(self) -> Operating: ...
    @property
    def policies(self) -> Policies: ...
    @property
    def quick_replies(self) -> QuickReplies: ...
    @property
    def money(self) -> Money: ...
    @property
    def figures(self) -> Figures: ...
    @property
    def files(self) -> Files: ...

    async def ping(self) -> None:
        """Return when the Ledger answers and its schema is the one this code was made for; raise otherwise."""

    async def close(self) -> None:
        """Finish what is under way, then let go."""
