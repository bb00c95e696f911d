"""A bot whose every thought the test decides."""

from __future__ import annotations

import asyncio

from waypost.model.turn import Answer, Turn


class PatientBot:
    """Thinks until it is told what to say; an error is raised."""

    history = 0
    thinks = False

    def __init__(self) -> None:
        self.asked: list[Turn] = []
        self._thoughts: asyncio.Queue[Answer | Exception] = asyncio.Queue()

    async def answer(self, turn: Turn) -> Answer:
        self.asked.append(turn)
        thought = await self._thoughts.get()
        if isinstance(thought, Exception):
            raise thought
        return thought

    def says(self, *thoughts: Answer | Exception) -> None:
        for thought in thoughts:
            self._thoughts.put_nowait(thought)

    async def close(self) -> None:
        """Nothing is open."""
