"""A bot for `WAYPOST_BOT=moody_bot:answer`: at the first message that asks it to stumble it does, later it answers."""

from __future__ import annotations

from waypost.model.turn import Turn

_stumbled = False


async def answer(turn: Turn) -> str:
    global _stumbled  # noqa: PLW0603  # a mood lasts as long as its process
    text = turn.messages[-1].text
    if "stumble" in text and not _stumbled:
        _stumbled = True
        raise RuntimeError("it stumbled")
    return f"Heard: {text}"
