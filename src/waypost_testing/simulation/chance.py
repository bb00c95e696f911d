"""All randomness of a run: one seed, split into independent named streams."""

from __future__ import annotations

import base64
import hashlib
import random


class RandomStreams:
    """One more draw in one part of the simulation changes no other part's draws."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """The stream of that name; a second call returns the same one, in its present state."""
        if name not in self._streams:
            digest = hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
            self._streams[name] = random.Random(int.from_bytes(digest, "big"))
        return self._streams[name]


class SeededRandomSource:
    """A random source that draws from a stream."""

    def __init__(self, stream: random.Random) -> None:
        self._stream = stream

    def unit(self) -> float:
        return self._stream.random()


class SeededIds:
    """Ids drawn from a stream: unguessable for the program, determined by the seed."""

    def __init__(self, stream: random.Random) -> None:
        self._stream = stream

    def token(self, size: int = 24) -> str:
        return base64.urlsafe_b64encode(self._stream.randbytes(size)).rstrip(b"=").decode()
