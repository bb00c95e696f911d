"""Blob stores: a folder with one file per key, readable only by its owner; and one in memory for simulations."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

from waypost.ports.receiving.media import BlobStoreError

T = TypeVar("T")

PIECE = 256 * 1024
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}(/[A-Za-z0-9][A-Za-z0-9._-]{0,80}){0,5}", re.ASCII)


def _checked(key: str) -> str:
    """No part of a key starts with a dot, so no key leads out of the folder."""
    if not _KEY.fullmatch(key):
        raise ValueError("not a valid blob key")
    return key


class FolderBlobStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, key: str, content: bytes) -> None:
        await self._do(lambda path: _write(self._folder, path, content), key)

    async def size(self, key: str) -> int | None:
        return await self._do(_size, key)

    async def read(self, key: str, first: int, count: int) -> AsyncIterator[bytes]:
        left = count
        while left > 0:
            begin, wanted = first + count - left, min(PIECE, left)
            piece = await self._do(lambda path, b=begin, w=wanted: _read(path, b, w), key)  # type: ignore[misc]
            left -= len(piece)
            yield piece

    async def delete(self, key: str) -> bool:
        return await self._do(_delete, key)

    async def _do(self, action: Callable[[Path], T], key: str) -> T:
        path = self._folder / _checked(key)
        try:
            return await asyncio.to_thread(action, path)
        except OSError as error:
            raise BlobStoreError(error.strerror or type(error).__name__) from error


def _write(folder: Path, path: Path, content: bytes) -> None:
    """Write under another name first: a crash leaves the old file or the new one, never a partial one."""
    for parent in (folder, *reversed([p for p in path.parents if p.is_relative_to(folder) and p != folder])):
        _make(parent)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _make(folder: Path) -> None:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    """A file name is durable only after its folder is synced."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def _read(path: Path, begin: int, count: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        piece = file.read(count)
    if not piece:
        raise BlobStoreError("the file ends too early")
    return piece


def _delete(path: Path) -> bool:
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


class MemoryBlobStore:
    """Lost when the process ends."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    async def put(self, key: str, content: bytes) -> None:
        self._kept[_checked(key)] = content

    async def size(self, key: str) -> int | None:
        kept = self._kept.get(_checked(key))
        return None if kept is None else len(kept)

    async def read(self, key: str, first: int, count: int) -> AsyncIterator[bytes]:
        kept = self._kept.get(_checked(key), b"")
        if len(kept) < first + count:
            raise BlobStoreError("the file ends too early")
        yield kept[first : first + count]

    async def delete(self, key: str) -> bool:
        return self._kept.pop(_checked(key), None) is not None
