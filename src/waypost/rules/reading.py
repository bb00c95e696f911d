"""Reading behind the feeds: what comes next, and what is left after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from waypost.model.reading import Standing, Stretch


def stretches(behind: Iterable[Standing], limit: int) -> list[Stretch]:
    """As much as there is room for, feed by feed in the order of their names, whatever stands behind them."""
    found = []
    for one in sorted(behind, key=lambda one: one.feed):
        upto = min(one.head, one.read + limit)
        if one.read < upto:
            found.append(Stretch(one.feed, one.read, upto))
            limit -= upto - one.read
    return found


def left(behind: Iterable[Standing], done: Sequence[Stretch]) -> list[Standing]:
    moved = {stretch.feed: stretch.upto for stretch in done}
    after = [replace(one, read=moved.get(one.feed, one.read)) for one in behind]
    return [one for one in after if one.behind]
