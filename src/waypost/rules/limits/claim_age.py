"""How long a worker may hold a claim before it acts on it: a process that stood still must not act on an old one."""

from __future__ import annotations

from waypost.model.time import Instant, Span, seconds

LONGEST: Span = seconds(3)
"""From a claim to its call; usually a tenth of a second at most, which is how far a claim draws the pace ahead."""

NO_TIME = Span(0)


def is_old(claimed_at: Instant, now: Instant, taken_over_after: Span, usual: Span = NO_TIME) -> bool:
    """Whether the world may have changed since the claim: STOP, a takeover, or another worker's claim.

    `usual` is how long a claim and a read take at this time, so that a slow Ledger makes no claim old. A claim from the
    future was made before the clock was set back, so its age is unknown.
    """
    longest = min(LONGEST + usual, taken_over_after // 2)
    return not -LONGEST <= now - claimed_at <= longest
