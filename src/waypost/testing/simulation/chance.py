"""All randomness of a run: one seed, split into named streams that do not disturb each other."""

from __future__ import annotations

import base64
import hashlib
import random


class Chance:
    """One more draw in one part of the simulation leaves every other part's draws as they were."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """The stream of that name; asked again, the same one, where it was left."""
        if name not in self._streams:
            digest = hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
            self._streams[name] = random.Random(int.from_bytes(digest, "big"))
        return self._streams[name]


class SeededDice:
    """Dice, drawn from a stream."""

    def __init__(self, stream: random.Random) -> None:
        self._stream = stream

    def unit(self) -> float:
        return self._stream.random()


class SeededIds:
    """Ids, drawn from a stream: unguessable for the program, not for the seed."""

    def __init__(self, stream: random.Random) -> None:
        self._stream = stream

    def token(self, size: int = 24) -> str:
        return base64.urlsafe_b64encode(self._stream.randbytes(size)).rstrip(b"=").decode()
