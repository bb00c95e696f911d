"""A child's sign of life: a byte down a pipe; when nobody reads any more, the child stops."""

from __future__ import annotations

import asyncio
import os
import signal

EVERY = 0.5
"""Seconds."""

MISSED_AFTER = 5.0
"""Seconds of silence after which a child hangs, and is killed so that the others get what it holds."""


def beat_forever(descriptor: int) -> asyncio.Task[None]:
    """The first beat is given at once: from then on silence counts."""
    os.set_blocking(descriptor, False)
    _beat(descriptor)
    return asyncio.ensure_future(_go_on(descriptor))


async def _go_on(descriptor: int) -> None:
    while True:
        await asyncio.sleep(EVERY)
        _beat(descriptor)


def _beat(descriptor: int) -> None:
    try:
        os.write(descriptor, b".")
    except BlockingIOError:
        pass  # the supervisor is slow to read: it has enough to know that we live
    except OSError:
        os.kill(os.getpid(), signal.SIGTERM)
