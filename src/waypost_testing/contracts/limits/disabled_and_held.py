"""The contract of a number that is both disabled and held by the provider: ending one does not end the other."""

from __future__ import annotations

from waypost.model.gate import GateClosing, GateKind
from waypost.model.ids import NumberId
from waypost.model.time import Instant, seconds
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.ledger import Ledger
from waypost.rules.limits.gates import of_number
from waypost_testing.contracts.examples import NUMBER, ORG, T0, a_number, an_org, claim, submit


class DisabledAndHeldContract:
    """Found by simulation (seed 24)."""

    async def number(self, ledger: Ledger) -> NumberId:
        await ledger.accounts.create_org(an_org(), None)
        await ledger.accounts.connect(a_number())
        return NUMBER

    async def hold(self, ledger: Ledger) -> None:
        closing = GateClosing(org_id=ORG, name=of_number(NUMBER), kind=GateKind.HOLD, code="190", reason="token")
        await ledger.gates.close(closing, T0)

    async def test_enabling_a_number_does_not_release_it(self, ledger: Ledger) -> None:
        number = await self.number(ledger)
        await self.hold(ledger)
        for enabled in (False, True):
            await ledger.accounts.change_number(ORG, number, NumberChange(enabled=enabled), T0)
        assert [closed.gate.code for closed in await ledger.gates.of_org(ORG, T0)] == ["190"]

    async def test_releasing_a_number_does_not_enable_it(self, ledger: Ledger) -> None:
        number = await self.number(ledger)
        await ledger.accounts.change_number(ORG, number, NumberChange(enabled=False), T0)
        await self.hold(ledger)
        await ledger.accounts.change_number(ORG, number, NumberChange(sealed_token=b"\x01new"), T0)
        assert [closed.gate.code for closed in await ledger.gates.of_org(ORG, T0)] == ["NUMBER_DISABLED"]
        await submit(ledger)
        assert await claim(ledger, now=Instant(T0 + seconds(1))) == []
