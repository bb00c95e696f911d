"""Checks of policies, partial changes, and decoding of stored policies."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from waypost.model.conversation import TurnTiming
from waypost.model.policy import Policy
from waypost.model.time import as_seconds

LARGEST = Decimal(1_000_000_000)
FINEST = Decimal("0.000001")


class InvalidPolicy(msgspec.Struct, frozen=True):
    """An invalid setting, by its API name."""

    field: str
    reason: str


def check(policy: Policy, defaults: TurnTiming) -> InvalidPolicy | None:
    """Checks beyond the types; `defaults` apply to turn settings that the org has not set."""
    return _check_quiet_hours(policy) or _check_money(policy) or _check_region(policy) or _check_turns(policy, defaults)


def _check_turns(policy: Policy, defaults: TurnTiming) -> InvalidPolicy | None:
    chosen = policy.turns
    if chosen is None or (chosen.quiet_sec is None and chosen.max_wait_sec is None):
        return None
    quiet = as_seconds(defaults.quiet) if chosen.quiet_sec is None else chosen.quiet_sec
    longest = as_seconds(defaults.max_wait) if chosen.max_wait_sec is None else chosen.max_wait_sec
    if quiet <= longest:
        return None
    if chosen.quiet_sec is None:
        return InvalidPolicy("turns.maxWaitSec", f"must be at least quietSec, which is {quiet:g}")
    return InvalidPolicy("turns.quietSec", f"must be at most maxWaitSec, which is {longest:g}")


def _check_quiet_hours(policy: Policy) -> InvalidPolicy | None:
    quiet = policy.quiet_hours
    if quiet is None:
        return None
    if quiet.start == quiet.end:
        return InvalidPolicy("quietHours.to", "must differ from quietHours.from: leave quietHours out to have none")
    from waypost.rules.limits import calling_zones  # noqa: PLC0415  # takes 200 ms, only needed with quiet hours

    if calling_zones.zone(quiet.timezone) is None:
        return InvalidPolicy("quietHours.timezone", "is not a time zone: use a name like Europe/Berlin")
    return None


def _check_money(policy: Policy) -> InvalidPolicy | None:
    prices = policy.price_list.prices if policy.price_list else ()
    seen: set[tuple[str, str]] = set()
    for index, price in enumerate(prices):
        where = f"priceList.prices[{index}]"
        if reason := _check_amount(price.amount):
            return InvalidPolicy(f"{where}.amount", reason)
        if (price.country, price.category) in seen:
            return InvalidPolicy(where, f"{price.category} for {price.country} has a price already")
        seen.add((price.country, price.category))
    if policy.budget is None:
        return None
    if reason := _check_amount(policy.budget.amount):
        return InvalidPolicy("budget.amount", reason)
    if not prices:
        return InvalidPolicy("budget", "needs a priceList with prices: without them nothing can be counted")
    return None


def _check_amount(amount: Decimal) -> str | None:
    if not amount.is_finite() or not 0 <= amount <= LARGEST:
        return f"must be between 0 and {LARGEST}"
    return None if amount == amount.quantize(FINEST) else "has more than six decimals"


def _check_region(policy: Policy) -> InvalidPolicy | None:
    if policy.default_region is None:
        return None
    from waypost.rules.content import national  # noqa: PLC0415  # takes 110 ms and 7 MB, only needed with a region

    if national.known(policy.default_region):
        return None
    return InvalidPolicy("defaultRegion", "must be a country's two letters like DE or US")


def settings(policy: Policy) -> str:
    """The stored form: only settings that are set."""
    return msgspec.json.encode(policy, order="deterministic").decode()


@lru_cache(maxsize=4096)
def read(stored: str) -> Policy:
    """Decode a stored policy; settings that cannot be decoded, e.g. of a newer version, count as not set."""
    try:
        return msgspec.json.decode(stored, type=Policy)
    except msgspec.ValidationError:
        return _readable(msgspec.json.decode(stored))
    except msgspec.DecodeError:  # edited by hand: one org's mistake must not stop the others
        return Policy()


def _readable(given: Any) -> Policy:
    policy = Policy()
    for name, value in given.items() if isinstance(given, dict) else ():
        try:
            one = msgspec.convert({name: value}, Policy)
        except msgspec.ValidationError:
            continue
        policy = msgspec.convert({**msgspec.to_builtins(policy), **msgspec.to_builtins(one)}, Policy)
    return policy


def differing(before: Policy, after: Policy) -> list[str]:
    """The API names of the settings that differ."""
    was, now = msgspec.to_builtins(before), msgspec.to_builtins(after)
    return sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))


def merged(policy: Policy, patch: dict[str, Any]) -> dict[str, Any]:
    """JSON merge patch: objects are merged field by field, null removes, anything else replaces."""
    given: dict[str, Any] = _merge(msgspec.to_builtins(policy), patch)
    return given


def _merge(before: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    after = dict(before) if isinstance(before, dict) else {}
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = _merge(after.get(name), value)
    return after
