"""The time zones that a phone number may be in, by its numbering plan. Imported only where somebody has quiet hours."""

from __future__ import annotations

import re
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from phonenumbers import NumberParseException, parse
from phonenumbers.timezone import UNKNOWN_TIMEZONE, time_zones_for_number

_MEXICAN_MOBILE = re.compile(r"\+521([0-9]{10})", re.ASCII)
"""With the 1 that Mexico gave up and that WhatsApp's own ids still have."""


_ZONES = {name: ZoneInfo(name) for name in available_timezones()}
"""All of them at once, since each is a file, and nothing may wait for a file later."""


def zone(name: str) -> ZoneInfo | None:
    return _ZONES.get(name)


@lru_cache(maxsize=65_536)
def zones_of(recipient: str) -> tuple[ZoneInfo, ...]:
    """None at all where the plan does not say."""
    try:
        number = parse(_MEXICAN_MOBILE.sub(r"+52\1", recipient), None)
    except NumberParseException:
        return ()
    names = (name for name in time_zones_for_number(number) if name != UNKNOWN_TIMEZONE)
    return tuple(found for name in names if (found := zone(name)))
