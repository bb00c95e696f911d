"""Customers who write, and a bot whose answers the test decides."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.integration.stage.harness import Stage
from tests.integration.stage.webhooks import Account, a_text, change, envelope
from waypost.model.time import as_seconds
from waypost.model.turn import Answer, Turn


class PatientBot:
    """Waits for the test's answer; an error is raised."""

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
        """There is nothing to close."""


async def wrote(stage: Stage, *texts: str, account: Account | None = None, **more: Any) -> None:
    """The customer writes; ids are of the words."""
    account = account or stage.acme
    at = str(int(as_seconds(stage.clock.now())))
    said = [a_text(f"wamid.{text}", text, timestamp=at, **more) for text in texts]
    assert (await stage.post(envelope((account, [change(account, messages=said)])), account)).status == 200
