"""The contracts of hints and vault on what this machine gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from waypost.adapters.local.hints import NeighbourPost, ProcessHints
from waypost.adapters.local.shelf import FolderShelf, MemoryShelf
from waypost.adapters.local.vault import AesVault
from waypost.ports.hints import OUTBOX
from waypost.ports.media import ShelfError
from waypost.ports.vault import CannotOpen
from waypost.testing.contracts.hints import HintsContract, NeighbourContract, TwoHints
from waypost.testing.contracts.media import ShelfContract
from waypost.testing.contracts.vault import VaultContract


class TestProcessHints(HintsContract):
    @pytest.fixture
    def hints(self) -> ProcessHints:
        return ProcessHints()


def neighbour(folder: Path, name: str) -> ProcessHints:
    letters = NeighbourPost(folder, name)
    hints = ProcessHints(letters.post, letters.close)
    letters.open(hints.hear)
    return hints


@pytest.mark.may_block("it looks into a folder of sockets, which takes microseconds")
class TestNeighbourHints(HintsContract, NeighbourContract):
    @pytest.fixture
    async def two_hints(self, tmp_path: Path) -> AsyncIterator[TwoHints]:
        here, there = (neighbour(tmp_path / "hints", name) for name in ("here", "there"))
        yield here, there
        here.close()
        there.close()

    @pytest.fixture
    def hints(self, two_hints: TwoHints) -> ProcessHints:
        return two_hints[0]  # type: ignore[return-value]  # made above

    async def test_nothing_is_left_in_the_folder(self, two_hints: TwoHints, tmp_path: Path) -> None:
        for hints in two_hints:
            hints.close()
        assert list((tmp_path / "hints").iterdir()) == []

    async def test_the_socket_of_a_process_that_died_is_cleared_away(self, two_hints: TwoHints, tmp_path: Path) -> None:
        dead = NeighbourPost(tmp_path / "hints", "dead")
        dead.open(lambda topics: None)
        dead._socket.close()
        here, there = two_hints
        with there.listen(OUTBOX) as ear:
            here.give([OUTBOX])
            assert await ear.wait(10_000_000)  # type: ignore[arg-type]  # ten seconds
        assert sorted(path.stem for path in (tmp_path / "hints").iterdir()) == ["here", "there"]


class TestAesVault(VaultContract):
    @pytest.fixture
    def vault(self) -> AesVault:
        return AesVault("correct horse battery staple")

    @pytest.fixture
    def other_vault(self) -> AesVault:
        return AesVault("correct horse battery stapler")

    def test_while_keys_change_the_former_one_opens_and_never_seals(self, vault: AesVault) -> None:
        changing = AesVault("a new key", "correct horse battery staple")
        assert changing.open(vault.seal("secret", "purpose"), "purpose") == "secret"
        fresh = changing.seal("secret", "purpose")
        assert AesVault("a new key").open(fresh, "purpose") == "secret"
        with pytest.raises(CannotOpen):
            vault.open(fresh, "purpose")

    def test_the_same_key_opens_after_a_restart(self, vault: AesVault) -> None:
        sealed = vault.seal("secret", "purpose")
        assert AesVault("correct horse battery staple").open(sealed, "purpose") == "secret"


class TestMemoryShelf(ShelfContract):
    @pytest.fixture
    def shelf(self) -> MemoryShelf:
        return MemoryShelf()


class TestFolderShelf(ShelfContract):
    @pytest.fixture
    def shelf(self, tmp_path: Path) -> FolderShelf:
        return FolderShelf(tmp_path / "data" / "media")

    async def test_only_its_owner_can_look(self, shelf: FolderShelf, tmp_path: Path) -> None:
        await shelf.put("acme/ab/1", b"x")
        modes = await asyncio.to_thread(
            lambda: {str(p): p.stat().st_mode & 0o777 for p in tmp_path.rglob("media/**/*")}
        )
        assert {mode for path, mode in modes.items() if path.endswith("/1")} == {0o600}
        assert {mode for path, mode in modes.items() if not path.endswith("/1")} == {0o700}

    async def test_a_write_that_fails_leaves_nothing_behind(self, shelf: FolderShelf, tmp_path: Path) -> None:
        folder = tmp_path / "data" / "media" / "acme" / "1"
        await asyncio.to_thread(folder.mkdir, parents=True)
        with pytest.raises(ShelfError):
            await shelf.put("acme/1", b"a folder is in its way")
        assert await asyncio.to_thread(lambda: list(folder.parent.iterdir())) == [folder]
