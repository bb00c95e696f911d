"""Customers' files with what became of each fetch counted; everything else passes through."""

from __future__ import annotations

from typing import assert_never

from waypost.model.media import MediaFile
from waypost.model.time import Instant
from waypost.ports.media import Files
from waypost.rules.fetching import Later, Never, Stored, Verdict
from waypost.runtime.telemetry import Telemetry


class MeteredFiles:
    def __init__(self, files: Files, telemetry: Telemetry) -> None:
        self._files = files
        self._telemetry = telemetry
        self.claim = files.claim
        self.next_due = files.next_due
        self.get = files.get
        self.between = files.between
        self.in_state = files.in_state
        self.retry = files.retry
        self.ended_before = files.ended_before
        self.forget = files.forget

    async def settle(self, file: MediaFile, verdict: Verdict, now: Instant) -> bool:
        settled = await self._files.settle(file, verdict, now)
        if settled:  # else another worker has it, and counts
            self._telemetry.fetches.labels(_outcome(verdict)).inc()
        return settled


def _outcome(verdict: Verdict) -> str:
    match verdict:
        case Stored():
            return "stored"
        case Later():
            return "again"
        case Never():
            return "failed"
        case _:
            assert_never(verdict)
