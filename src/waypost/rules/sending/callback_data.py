"""Our message id and fence in `biz_opaque_callback_data`, which every status echoes."""

from __future__ import annotations

import re

from waypost.model.ids import Fence, MessageId
from waypost.model.webhook import Echo

LONGEST = 512
"""Maximum characters of `biz_opaque_callback_data`."""

LARGEST_ID = 2**63 - 1
"""The largest integer of the databases; a larger id is not ours."""

_STAMP = re.compile(r"wp1\.([1-9][0-9]{0,18})\.([1-9][0-9]{0,8})(?:;|$)", re.ASCII)


def stamp(message_id: MessageId, fence: Fence, callers: str = "") -> str:
    """Our data first, then the caller's, as far as it fits."""
    own = f"wp1.{message_id}.{fence}"
    return f"{own};{callers}"[:LONGEST] if callers else own


def read(text: str | None) -> Echo | None:
    found = _STAMP.match(text) if text else None
    if found is None or int(found.group(1)) > LARGEST_ID:
        return None
    return Echo(MessageId(int(found.group(1))), Fence(int(found.group(2))))
