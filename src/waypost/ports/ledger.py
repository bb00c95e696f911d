"""The Ledger: everything that is decided in a transaction, by noun."""

from __future__ import annotations

from typing import Protocol

from waypost.ports.accounts import Accounts
from waypost.ports.figures import Figures
from waypost.ports.gates import Gates, Quotas, Windows
from waypost.ports.journal import Journal
from waypost.ports.messages import Messages
from waypost.ports.money import Money
from waypost.ports.outbox import Door, Lookup, Outbox
from waypost.ports.policies import Policies
from waypost.ports.templates import Templates


class Ledger(Protocol):
    @property
    def outbox(self) -> Outbox: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def accounts(self) -> Accounts: ...
    @property
    def templates(self) -> Templates: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def door(self) -> Door: ...
    @property
    def lookup(self) -> Lookup: ...
    @property
    def gates(self) -> Gates: ...
    @property
    def quotas(self) -> Quotas: ...
    @property
    def windows(self) -> Windows: ...
    @property
    def policies(self) -> Policies: ...
    @property
    def money(self) -> Money: ...
    @property
    def figures(self) -> Figures: ...

    async def ping(self) -> None:
        """Return when the Ledger answers and its schema is the one this code was made for; raise otherwise."""

    async def close(self) -> None:
        """Finish what is under way, then let go."""
