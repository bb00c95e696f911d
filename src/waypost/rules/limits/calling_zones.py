"""The time zones of a phone number, by its numbering plan; imported only if an org has quiet hours."""

from __future__ import annotations

import re
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from phonenumbers import NumberParseException, parse
from phonenumbers.timezone import UNKNOWN_TIMEZONE, time_zones_for_number

_MEXICAN_MOBILE = re.compile(r"\+521([0-9]{10})", re.ASCII)
"""With the 1 that Mexico abolished and WhatsApp's ids still have."""


_ZONES = {name: ZoneInfo(name) for name in available_timezones()}
"""All loaded at import, since each is a file and later reads would block."""


def zone(name: str) -> ZoneInfo | None:
    return _ZONES.get(name)


@lru_cache(maxsize=65_536)
def zones_of(recipient: str) -> tuple[ZoneInfo, ...]:
    """Empty if the plan has none."""
    try:
        number = parse(_MEXICAN_MOBILE.sub(r"+52\1", recipient), None)
    except NumberParseException:
        return ()
    names = (name for name in time_zones_for_number(number) if name != UNKNOWN_TIMEZONE)
    return tuple(found for name in names if (found := zone(name)))
