"""The contract of a vault: a sealed value opens only for its purpose, and reveals nothing while sealed."""

from __future__ import annotations

import pytest

from waypost.ports.platform.vault import UnsealError, Vault

SECRET = "EAAJB-tøken-🔑"  # noqa: S105  # nobody's
PURPOSE = "token of 100000000000001"


class VaultContract:
    """`other_vault` holds another key."""

    @pytest.mark.parametrize("secret", [SECRET, "", "x" * 10_000])
    def test_what_was_sealed_opens_again(self, secret: str, vault: Vault) -> None:
        assert vault.open(vault.seal(secret, PURPOSE), PURPOSE) == secret

    def test_a_seal_shows_nothing_of_the_secret(self, vault: Vault) -> None:
        sealed = vault.seal("plain-secret", PURPOSE)
        assert b"plain-secret" not in sealed
        assert b"plain" not in sealed

    def test_the_same_secret_is_sealed_differently_each_time(self, vault: Vault) -> None:
        assert len({vault.seal(SECRET, PURPOSE) for _ in range(100)}) == 100

    def test_it_does_not_open_for_another_purpose(self, vault: Vault) -> None:
        with pytest.raises(UnsealError):
            vault.open(vault.seal(SECRET, PURPOSE), "app secret of 100000000000001")

    def test_it_does_not_open_under_another_key(self, vault: Vault, other_vault: Vault) -> None:
        with pytest.raises(UnsealError):
            other_vault.open(vault.seal(SECRET, PURPOSE), PURPOSE)

    def test_it_does_not_open_with_any_bit_turned(self, vault: Vault) -> None:
        sealed = vault.seal(SECRET, PURPOSE)
        for position in range(len(sealed)):
            damaged = bytearray(sealed)
            damaged[position] ^= 1
            with pytest.raises(UnsealError):
                vault.open(bytes(damaged), PURPOSE)

    def test_it_does_not_open_cut_short(self, vault: Vault) -> None:
        sealed = vault.seal(SECRET, PURPOSE)
        for length in range(len(sealed)):
            with pytest.raises(UnsealError):
                vault.open(sealed[:length], PURPOSE)

    def test_a_failure_does_not_tell_the_secret(self, vault: Vault) -> None:
        with pytest.raises(UnsealError) as failure:
            vault.open(vault.seal(SECRET, PURPOSE), "another")
        assert SECRET not in str(failure.value)
