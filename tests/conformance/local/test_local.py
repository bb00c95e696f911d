"""The contracts of hints, presence, the history store, the blob store and the vault, on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from waypost.adapters.local.blob_store import FolderBlobStore, MemoryBlobStore
from waypost.adapters.local.hints import LocalBroadcast, ProcessHints
from waypost.adapters.local.history import MemoryHistory
from waypost.adapters.local.presence import SWEEP_EVERY, LocalPresence
from waypost.adapters.local.vault import AesVault
from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Span, minutes, seconds
from waypost.ports.history.history import History
from waypost.ports.live.presence import PresenceState
from waypost.ports.platform.hints import OUTBOX
from waypost.ports.platform.vault import UnsealError
from waypost.ports.receiving.media import BlobStoreError
from waypost_testing.clock import ManualClock
from waypost_testing.contracts.accounts.vault import VaultContract
from waypost_testing.contracts.history.history import HistoryContract
from waypost_testing.contracts.live.presence import PresenceContract
from waypost_testing.contracts.platform.hints import HintsContract, LocalBroadcastContract, TwoHints
from waypost_testing.contracts.receiving.media import BlobStoreContract


class TestProcessHints(HintsContract):
    @pytest.fixture
    def hints(self) -> ProcessHints:
        return ProcessHints()


def neighbour(folder: Path, name: str) -> ProcessHints:
    letters = LocalBroadcast(folder, name)
    hints = ProcessHints(letters.post, letters.close)
    letters.open(hints.deliver)
    return hints


@pytest.mark.may_block("it looks into a folder of sockets, which takes microseconds")
class TestNeighbourHints(HintsContract, LocalBroadcastContract):
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
        dead = LocalBroadcast(tmp_path / "hints", "dead")
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
        with pytest.raises(UnsealError):
            vault.open(fresh, "purpose")

    def test_the_same_key_opens_after_a_restart(self, vault: AesVault) -> None:
        sealed = vault.seal("secret", "purpose")
        assert AesVault("correct horse battery staple").open(sealed, "purpose") == "secret"


class TestMemoryShelf(BlobStoreContract):
    @pytest.fixture
    def blob_store(self) -> MemoryBlobStore:
        return MemoryBlobStore()


class TestFolderShelf(BlobStoreContract):
    @pytest.fixture
    def blob_store(self, tmp_path: Path) -> FolderBlobStore:
        return FolderBlobStore(tmp_path / "data" / "media")

    async def test_only_its_owner_can_look(self, blob_store: FolderBlobStore, tmp_path: Path) -> None:
        await blob_store.put("acme/ab/1", b"x")
        modes = await asyncio.to_thread(
            lambda: {str(p): p.stat().st_mode & 0o777 for p in tmp_path.rglob("media/**/*")}
        )
        assert {mode for path, mode in modes.items() if path.endswith("/1")} == {0o600}
        assert {mode for path, mode in modes.items() if not path.endswith("/1")} == {0o700}

    async def test_a_write_that_fails_leaves_nothing_behind(self, blob_store: FolderBlobStore, tmp_path: Path) -> None:
        folder = tmp_path / "data" / "media" / "acme" / "1"
        await asyncio.to_thread(folder.mkdir, parents=True)
        with pytest.raises(BlobStoreError):
            await blob_store.put("acme/1", b"a folder is in its way")
        assert await asyncio.to_thread(lambda: list(folder.parent.iterdir())) == [folder]


@pytest.mark.may_block("it looks into a folder of sockets, which takes microseconds")
class TestLocalWhereabouts(PresenceContract):
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def pass_by(self, clock: ManualClock) -> Callable[[Span], None]:
        return clock.jump

    @pytest.fixture
    def presence(self, clock: ManualClock) -> LocalPresence:
        return LocalPresence(ProcessHints(), clock)

    async def test_a_neighbour_knows_who_is_here(self, clock: ManualClock, tmp_path: Path) -> None:
        both = [neighbour(tmp_path / "hints", name) for name in ("here", "there")]
        here, there = (LocalPresence(hints, clock) for hints in both)
        with there.listen() as watch:
            here.set(OrgId("acme"), UserId("ann"), DeviceId("phone"), PresenceState.ONLINE)
            assert await watch.wait(seconds(10))
            assert watch.named() == [("acme", "ann")]
        assert await there.of([UserId("ann")]) == {"ann": PresenceState.ONLINE}
        for hints in both:
            hints.close()

    async def test_what_a_killed_process_said_is_let_go_in_the_end(self, clock: ManualClock) -> None:
        presence = LocalPresence(ProcessHints(), clock)
        presence.set(OrgId("acme"), UserId("gone"), DeviceId("phone"), PresenceState.ONLINE)
        clock.jump(minutes(1))
        for n in range(SWEEP_EVERY):
            presence.set(OrgId("acme"), UserId("ann"), DeviceId(f"{n % 3}"), PresenceState.ONLINE)
        assert list(presence._known) == ["ann"]


class TestMemoryLog(HistoryContract):
    @pytest.fixture
    def log(self) -> History:
        return MemoryHistory()
