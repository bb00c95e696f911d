"""A child's sign of life: a byte down a pipe; when nobody reads any more, the child stops."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

EVERY = 0.5
"""Seconds."""

MISSED_AFTER = 5.0
"""Seconds of silence after which a child hangs, and is killed so that the others get what it holds."""


def beat_forever(descriptor: int) -> asyncio.Task[None]:
    return asyncio.ensure_future(_beat(descriptor))


async def _beat(descriptor: int) -> None:
    os.set_blocking(descriptor, False)
    while True:
        try:
            with contextlib.suppress(BlockingIOError):
                os.write(descriptor, b".")
        except OSError:
            os.kill(os.getpid(), signal.SIGTERM)
            return
        await asyncio.sleep(EVERY)
