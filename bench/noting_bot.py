"""A bot that answers at once and notes when it was asked; Linux has one monotonic clock for all processes."""

from __future__ import annotations

import time

from waypost.model.turn import Turn

asked: dict[str, float] = {}
"""The wamid of a burst's last line -> when its turn began."""


async def answer(turn: Turn) -> str:
    asked[turn.messages[-1].content["id"]] = time.monotonic()
    return "ok"
