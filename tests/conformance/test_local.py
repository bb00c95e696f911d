"""The contracts of hints, whereabouts, the Log, shelf and vault on what this machine gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from waypost.adapters.local.hints import NeighbourPost, ProcessHints
from waypost.adapters.local.log import MemoryLog
from waypost.adapters.local.shelf import FolderShelf, MemoryShelf
from waypost.adapters.local.vault import AesVault
from waypost.adapters.local.whereabouts import SWEEP_EVERY, LocalWhereabouts
from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Span, minutes, seconds
from waypost.ports.hints import OUTBOX
from waypost.ports.log import Log
from waypost.ports.media import ShelfError
from waypost.ports.vault import CannotOpen
from waypost.ports.whereabouts import Presence
from waypost.testing.clock import ManualClock
from waypost.testing.contracts.hints import HintsContract, NeighbourContract, TwoHints
from waypost.testing.contracts.log import LogContract
from waypost.testing.contracts.media import ShelfContract
from waypost.testing.contracts.vault import VaultContract
from waypost.testing.contracts.whereabouts import WhereaboutsContract


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


@pytest.mark.may_block("it looks into a folder of sockets, which takes microseconds")
class TestLocalWhereabouts(WhereaboutsContract):
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def pass_by(self, clock: ManualClock) -> Callable[[Span], None]:
        return clock.jump

    @pytest.fixture
    def whereabouts(self, clock: ManualClock) -> LocalWhereabouts:
        return LocalWhereabouts(ProcessHints(), clock)

    async def test_a_neighbour_knows_who_is_here(self, clock: ManualClock, tmp_path: Path) -> None:
        both = [neighbour(tmp_path / "hints", name) for name in ("here", "there")]
        here, there = (LocalWhereabouts(hints, clock) for hints in both)
        with there.listen() as watch:
            here.say(OrgId("acme"), UserId("ann"), DeviceId("phone"), Presence.ONLINE)
            assert await watch.wait(seconds(10))
            assert watch.named() == [("acme", "ann")]
        assert await there.of([UserId("ann")]) == {"ann": Presence.ONLINE}
        for hints in both:
            hints.close()

    async def test_what_a_killed_process_said_is_let_go_in_the_end(self, clock: ManualClock) -> None:
        whereabouts = LocalWhereabouts(ProcessHints(), clock)
        whereabouts.say(OrgId("acme"), UserId("gone"), DeviceId("phone"), Presence.ONLINE)
        clock.jump(minutes(1))
        for n in range(SWEEP_EVERY):
            whereabouts.say(OrgId("acme"), UserId("ann"), DeviceId(f"{n % 3}"), Presence.ONLINE)
        assert list(whereabouts._known) == ["ann"]


class TestMemoryLog(LogContract):
    @pytest.fixture
    def log(self) -> Log:
        return MemoryLog()
