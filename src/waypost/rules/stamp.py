"""Our id on a message as it travels to the provider and comes back in every status."""

from __future__ import annotations

import re

from waypost.model.ids import Fence, MessageId
from waypost.model.report import Echo

LONGEST = 512
"""Characters that the Cloud API takes in `biz_opaque_callback_data`."""

LARGEST_ID = 2**63 - 1
"""Beyond it no database can look: such a number was never ours."""

_STAMP = re.compile(r"wp1\.([1-9][0-9]{0,18})\.([1-9][0-9]{0,8})(?:;|$)", re.ASCII)


def stamp(message_id: MessageId, fence: Fence, callers: str = "") -> str:
    """Ours first, then what the caller put there, as far as it fits."""
    own = f"wp1.{message_id}.{fence}"
    return f"{own};{callers}"[:LONGEST] if callers else own


def read(text: str | None) -> Echo | None:
    found = _STAMP.match(text) if text else None
    if found is None or int(found.group(1)) > LARGEST_ID:
        return None
    return Echo(MessageId(int(found.group(1))), Fence(int(found.group(2))))
