"""The book of policies: at hand, never long behind, and cheap when nothing changed."""

from __future__ import annotations

from collections.abc import Mapping

from waypost.flow.policy_cache import STALE_AFTER, EffectivePolicy, PolicyCache
from waypost.model.audit import SYSTEM
from waypost.model.ids import OrgId
from waypost.model.policy import Policy, QuietHours
from waypost.model.time import seconds
from waypost.rules.sending.delivery import Unsettled
from waypost_testing.clock import ManualClock

ACME = OrgId("acme")


class StoredPolicies:
    """Policies as another process left them."""

    def __init__(self) -> None:
        self.found: dict[OrgId, Policy] = {}
        self.reads = 0
        self.book: PolicyCache | None = None

    async def all(self) -> Mapping[OrgId, Policy]:
        self.reads += 1
        if self.book is not None:
            self.book.invalidate()
            self.book = None
        return dict(self.found)

    async def get(self, org: OrgId) -> Policy:
        return self.found.get(org, Policy())

    async def put(self, org: OrgId, policy: Policy, instead_of: Policy | None = None, actor: str = SYSTEM) -> bool:
        self.found[org] = policy
        return True


def a_book() -> tuple[PolicyCache, StoredPolicies, ManualClock]:
    shelf, clock = StoredPolicies(), ManualClock()
    return PolicyCache(shelf, clock, EffectivePolicy()), shelf, clock


async def test_an_unknown_org_has_the_defaults() -> None:
    book, _, _ = a_book()
    assert book.known(ACME) == await book.of(ACME) == EffectivePolicy()


async def test_a_change_elsewhere_is_seen_after_two_seconds() -> None:
    book, shelf, clock = a_book()
    await book.of(ACME)
    await shelf.put(ACME, Policy(unsure="park"))
    assert (await book.of(ACME)).unsure is Unsettled.REQUEUE
    assert shelf.reads == 1
    clock.jump(STALE_AFTER)
    assert (await book.of(ACME)).unsure is Unsettled.REQUEUE
    clock.jump(seconds(0.001))
    assert (await book.of(ACME)).unsure is Unsettled.PARK
    assert shelf.reads == 2


async def test_a_change_that_was_hinted_at_is_seen_at_once() -> None:
    book, shelf, _ = a_book()
    await book.of(ACME)
    await shelf.put(ACME, Policy(default_region="DE"))
    book.invalidate()
    assert (await book.of(ACME)).default_region == "DE"


async def test_what_is_forgotten_during_a_read_is_read_again() -> None:
    book, shelf, _ = a_book()
    shelf.book = book
    await book.refresh()
    assert shelf.reads == 2


async def test_a_policy_that_did_not_change_is_not_made_anew() -> None:
    book, shelf, clock = a_book()
    await shelf.put(ACME, Policy(quiet_hours=QuietHours(start="21:00", end="08:00", timezone="Europe/Berlin")))
    before = await book.of(ACME)
    clock.jump(seconds(3))
    assert await book.of(ACME) is before
    await shelf.put(ACME, Policy())
    clock.jump(seconds(3))
    assert (await book.of(ACME)).quiet is None


async def test_only_orgs_that_set_something_are_listed() -> None:
    book, shelf, _ = a_book()
    await shelf.put(ACME, Policy(unsure="park"))
    assert {org: policy.unsure for org, policy in (await book.all()).items()} == {ACME: Unsettled.PARK}
