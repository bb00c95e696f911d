"""A bot for `WAYPOST_BOT=thinking_bot:answer`: notes when it starts and ends, and thinks as long as it is told to.

It is copied into the folder where the server runs, and hangs there while that folder has a file `hang`.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from pathlib import Path
from typing import Any

HANG, NOTES = Path("hang"), Path("notes")


async def answer(turn: Any) -> str:
    """The lines of the burst, as they were written."""
    note("start", turn)
    while HANG.exists():  # noqa: ASYNC110, ASYNC240  # a test's way to tell another process
        await asyncio.sleep(0.01)
    await asyncio.sleep(random.uniform(0.5, 1) * float(os.environ.get("THINKING_SEC", "0")))
    note("end", turn)
    return "\n".join(line.text for line in turn.messages)


def note(what: str, turn: Any) -> None:
    """One line in one write, so that processes do not mix theirs."""
    said = {"what": what, "turn": turn.id, "phone": turn.contact.phone, "pid": os.getpid(), "at": time.time()}
    with NOTES.open("ab", buffering=0) as notes:
        notes.write(json.dumps(said).encode() + b"\n")
