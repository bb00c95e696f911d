"""Counts the outcome of each download of a customer's file; passes everything else through."""

from __future__ import annotations

from typing import assert_never

from waypost.model.media import MediaFile
from waypost.model.time import Instant
from waypost.ports.receiving.media import Files
from waypost.rules.receiving.media_fetch import FetchAbandoned, FetchLater, FetchVerdict, FileStored
from waypost.runtime.telemetry.telemetry import Telemetry


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

    async def settle(self, file: MediaFile, verdict: FetchVerdict, now: Instant) -> bool:
        settled = await self._files.settle(file, verdict, now)
        if settled:  # otherwise another worker has it and counts it
            self._telemetry.fetches.labels(_outcome(verdict)).inc()
        return settled


def _outcome(verdict: FetchVerdict) -> str:
    match verdict:
        case FileStored():
            return "stored"
        case FetchLater():
            return "again"
        case FetchAbandoned():
            return "failed"
        case _:
            assert_never(verdict)
