"""The front page's animated picture follows its file format, and stays small."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tools.pictures import HEIGHT, LARGEST, WIDTH, Frame, moving

FILM = Path(__file__).parents[2] / "docs" / "pictures" / "demo.webp"


def chunks(content: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at < len(content):
        size = struct.unpack_from("<I", content, at + 4)[0]
        found.append((content[at : at + 4], content[at + 8 : at + 8 + size]))
        at += 8 + size + size % 2
    return found


def a_still(content: bytes) -> bytes:
    body = b"WEBPVP8 " + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def test_frames_stand_where_they_belong_and_last_as_long_as_they_should() -> None:
    frames = [Frame(0, 0, 640, 400, a_still(b"whole"), 1500), Frame(12, 34, 56, 78, a_still(b"part"), 900)]
    film = moving(frames, 640, 400)
    assert (film[:4], film[8:12], struct.unpack_from("<I", film, 4)[0]) == (b"RIFF", b"WEBP", len(film) - 8)
    head, loop, first, second = chunks(film[12:])
    assert head == (b"VP8X", b"\x02\0\0\0" + (639).to_bytes(3, "little") + (399).to_bytes(3, "little"))
    assert loop == (b"ANIM", bytes(6))
    assert [first[0], second[0]] == [b"ANMF", b"ANMF"]
    numbers = [int.from_bytes(second[1][at : at + 3], "little") for at in range(0, 15, 3)]
    assert numbers == [6, 17, 55, 77, 900]
    assert chunks(second[1][16:]) == [(b"VP8 ", b"part")]


def test_a_still_without_a_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="no picture"):
        moving([Frame(0, 0, 2, 2, b"RIFF\x04\0\0\0WEBP", 1)], 2, 2)


def test_the_kept_one_is_small_and_moves() -> None:
    film = FILM.read_bytes()
    assert len(film) <= LARGEST
    head, _, *frames = chunks(film[12:])
    assert head[1][4:] == (WIDTH - 1).to_bytes(3, "little") + (HEIGHT - 1).to_bytes(3, "little")
    assert len(frames) >= 8
