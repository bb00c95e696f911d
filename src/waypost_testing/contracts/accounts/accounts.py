"""The contract of accounts: orgs, keys, users and numbers, each inside its org."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from waypost.model.account import ApiKey, Caller, Role, User
from waypost.model.ids import KeyId, NumberId, OrgId, UserId
from waypost.model.time import Instant, seconds
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import Rejected
from waypost_testing.contracts.examples import (
    NUMBER,
    ORG,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    Ledgers,
    a_number,
    an_org,
    fresh,
    later,
)


def a_key(**fields: Any) -> ApiKey:
    standard: dict[str, Any] = {"org_id": ORG, "role": Role.SENDER, "label": "backend", "created_at": T0}
    return ApiKey(id=KeyId(fresh("key")), **(standard | fields))


def a_user(**fields: Any) -> User:
    standard: dict[str, Any] = {"org_id": ORG, "name": "Anna", "role": Role.AGENT, "created_at": T0}
    return User(id=UserId(fresh("user")), **(standard | fields))


async def two_orgs(ledger: Ledger) -> None:
    await ledger.accounts.create_org(an_org(ORG), None)
    await ledger.accounts.create_org(an_org(OTHER_ORG, later(seconds(1))), None)


class OrgContract:
    async def test_an_org_is_created_once(self, ledgers: Ledgers) -> None:
        answers = await asyncio.gather(*(ledger.accounts.create_org(an_org(), None) for ledger in ledgers * 5))
        assert sorted(answers) == [*[False] * 9, True]
        assert await ledgers[0].accounts.orgs() == [an_org()]

    async def test_an_org_whose_id_is_taken_changes_nothing(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(ORG, T0), None)
        assert not await ledger.accounts.create_org(an_org(ORG, later(seconds(1))), None)
        assert await ledger.accounts.org(ORG) == an_org(ORG, T0)

    async def test_orgs_are_listed_oldest_first(self, ledger: Ledger) -> None:
        newer, older = an_org(OrgId("a"), later(seconds(5))), an_org(OrgId("b"), T0)
        for org in (newer, older):
            await ledger.accounts.create_org(org, None)
        assert await ledger.accounts.orgs() == [older, newer]

    async def test_an_org_nobody_knows_is_not_there(self, ledger: Ledger) -> None:
        assert await ledger.accounts.org(ORG) is None


class KeyContract:
    async def test_a_key_names_its_caller_until_it_is_revoked(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        key = a_key(role=Role.ADMIN)
        await ledger.accounts.add_key(key, b"digest")
        assert await ledger.accounts.caller(b"digest", T0) == Caller(org_id=ORG, role=Role.ADMIN, key_id=key.id)
        assert await ledger.accounts.revoke_key(ORG, key.id, later(seconds(1)))
        assert await ledger.accounts.caller(b"digest", later(seconds(1))) is None
        assert not await ledger.accounts.revoke_key(ORG, key.id, later(seconds(2)))

    async def test_a_key_that_is_to_end_later_lives_until_then_and_may_be_ended_now(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        key = a_key()
        await ledger.accounts.add_key(key, b"digest")
        assert await ledger.accounts.revoke_key(ORG, key.id, later(seconds(60)))
        assert await ledger.accounts.caller(b"digest", later(seconds(59))) is not None
        assert [each.id for each in await ledger.accounts.keys(ORG, later(seconds(59)))] == [key.id]
        assert await ledger.accounts.keys(ORG, later(seconds(60))) == []
        assert await ledger.accounts.revoke_key(ORG, key.id, later(seconds(1)))
        assert await ledger.accounts.caller(b"digest", later(seconds(1))) is None

    async def test_live_keys_are_listed_oldest_first_within_the_org(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        keys = [a_key(created_at=Instant(T0 - n)) for n in range(3)]
        for n, key in enumerate(keys):
            await ledger.accounts.add_key(key, bytes([n]))
        await ledger.accounts.add_key(a_key(org_id=OTHER_ORG), b"theirs")
        await ledger.accounts.revoke_key(ORG, keys[1].id, T0)
        assert await ledger.accounts.keys(ORG, T0) == [keys[2], keys[0]]

    async def test_another_org_cannot_revoke_a_key(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        key = a_key()
        await ledger.accounts.add_key(key, b"digest")
        assert not await ledger.accounts.revoke_key(OTHER_ORG, key.id, T0)
        assert await ledger.accounts.caller(b"digest", T0) is not None
        assert await ledger.accounts.keys(ORG, T0) == [key]

    async def test_nobody_holds_an_unknown_digest(self, ledger: Ledger) -> None:
        assert await ledger.accounts.caller(b"digest", T0) is None

    async def test_two_keys_cannot_share_a_digest(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        key = a_key()
        await ledger.accounts.add_key(key, b"digest")
        with pytest.raises(Rejected):
            await ledger.accounts.add_key(a_key(), b"digest")
        assert await ledger.accounts.keys(ORG, T0) == [key]

    async def test_a_key_of_an_org_that_does_not_exist_is_rejected(self, ledger: Ledger) -> None:
        with pytest.raises(Rejected):
            await ledger.accounts.add_key(a_key(), b"digest")
        assert await ledger.accounts.caller(b"digest", T0) is None


class UserContract:
    async def test_a_person_s_token_names_them_until_it_is_renewed(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        user = a_user()
        await ledger.accounts.add_user(user, b"old")
        expected = Caller(org_id=ORG, role=Role.AGENT, user_id=user.id)
        assert await ledger.accounts.caller(b"old", T0) == expected
        assert await ledger.accounts.renew_token(ORG, user.id, b"new")
        assert await ledger.accounts.caller(b"old", T0) is None
        assert await ledger.accounts.caller(b"new", T0) == expected

    async def test_a_removed_person_and_their_token_are_gone(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        user = a_user()
        await ledger.accounts.add_user(user, b"token")
        assert await ledger.accounts.remove_user(ORG, user.id)
        assert await ledger.accounts.caller(b"token", T0) is None
        assert await ledger.accounts.users(ORG) == []
        assert not await ledger.accounts.remove_user(ORG, user.id)
        assert not await ledger.accounts.renew_token(ORG, user.id, b"new")

    async def test_people_are_listed_oldest_first_within_the_org(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        newer, older = a_user(created_at=later(seconds(2))), a_user(created_at=T0)
        for user in (newer, older):
            await ledger.accounts.add_user(user, user.id.encode())
        await ledger.accounts.add_user(a_user(org_id=OTHER_ORG), b"theirs")
        assert await ledger.accounts.users(ORG) == [older, newer]

    async def test_the_tokens_of_those_who_are_there_are_told(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        anna, ben = a_user(), a_user()
        for n, user in enumerate((anna, ben)):
            await ledger.accounts.add_user(user, b"%d" % n)
        await ledger.accounts.renew_token(ORG, anna.id, b"new")
        await ledger.accounts.remove_user(ORG, ben.id)
        assert await ledger.accounts.tokens([anna.id, ben.id, anna.id]) == {anna.id: b"new"}
        assert await ledger.accounts.tokens([]) == {}

    async def test_another_org_cannot_touch_a_person(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        user = a_user()
        await ledger.accounts.add_user(user, b"token")
        assert not await ledger.accounts.renew_token(OTHER_ORG, user.id, b"new")
        assert not await ledger.accounts.remove_user(OTHER_ORG, user.id)
        assert await ledger.accounts.caller(b"token", T0) is not None
        assert await ledger.accounts.users(ORG) == [user]


class NumberContract:
    async def test_a_connected_number_is_read_as_it_was_stored(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        number = a_number(graph_url="http://127.0.0.1:9/v23.0", error_catalogue="seed", enabled=False)
        assert await ledger.accounts.connect(number)
        assert await ledger.accounts.numbers(ORG) == [number]

    async def test_a_number_is_connected_to_one_org_only(self, ledgers: Ledgers) -> None:
        await two_orgs(ledgers[0])
        orgs = [ORG, OTHER_ORG] * 4
        answers = await asyncio.gather(
            *(ledgers[n % 2].accounts.connect(a_number(NUMBER, org)) for n, org in enumerate(orgs))
        )
        (winner,) = [org for org, connected in zip(orgs, answers, strict=True) if connected]
        assert await ledgers[0].accounts.numbers() == [a_number(NUMBER, winner)]

    async def test_numbers_are_listed_oldest_first_of_one_org_or_of_all(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        third = a_number(NumberId("3"), created_at=later(seconds(3)))
        first = a_number(NUMBER, created_at=T0)
        theirs = a_number(OTHER_NUMBER, OTHER_ORG, created_at=later(seconds(1)))
        for number in (third, first, theirs):
            await ledger.accounts.connect(number)
        assert await ledger.accounts.numbers(ORG) == [first, third]
        assert await ledger.accounts.numbers(OTHER_ORG) == [theirs]
        assert await ledger.accounts.numbers() == [first, theirs, third]

    async def test_a_change_touches_what_it_names_and_nothing_else(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        await ledger.accounts.connect(a_number())
        expected: dict[str, Any] = {}
        changes: dict[str, Any] = {
            "waba_id": "4",
            "sealed_token": b"t",
            "sealed_app_secret": b"s",
            "sealed_verify_token": b"v",
            "graph_url": "http://127.0.0.1:9",
            "error_catalogue": "seed",
            "enabled": False,
        }
        for field, value in changes.items():
            expected[field] = value
            changed = await ledger.accounts.change_number(
                ORG, NUMBER, NumberChange(**{field: value}), later(seconds(len(expected)))
            )
            assert changed == a_number(updated_at=later(seconds(len(expected))), **expected)
            assert await ledger.accounts.numbers(ORG) == [changed]

    async def test_a_disconnected_number_is_gone_and_may_be_connected_again(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        await ledger.accounts.connect(a_number())
        assert await ledger.accounts.disconnect(ORG, NUMBER)
        assert await ledger.accounts.numbers() == []
        assert not await ledger.accounts.disconnect(ORG, NUMBER)
        assert await ledger.accounts.connect(a_number(NUMBER, OTHER_ORG))

    async def test_an_answer_of_the_provider_counts_until_it_is_asked_otherwise(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        number = a_number()
        for change in (NumberChange(sealed_token=b"t"), NumberChange(graph_url="http://127.0.0.1:9"), None):
            await ledger.accounts.connect(number)
            (number,) = await ledger.accounts.numbers(ORG)
            await ledger.accounts.answered(number, later(seconds(5)))
            await ledger.accounts.answered(number, later(seconds(4)))
            assert await ledger.accounts.tried(ORG) == {NUMBER: later(seconds(5))}
            if change is None:
                await ledger.accounts.disconnect(ORG, NUMBER)
                await ledger.accounts.connect(number)
            else:
                await ledger.accounts.change_number(ORG, NUMBER, change, later(seconds(6)))
                await ledger.accounts.answered(number, later(seconds(7)))
            assert await ledger.accounts.tried(ORG) == {}
            await ledger.accounts.disconnect(ORG, NUMBER)

    async def test_what_was_tried_by_one_org_is_not_anothers(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        await ledger.accounts.connect(a_number())
        await ledger.accounts.answered(a_number(), later(seconds(5)))
        assert await ledger.accounts.tried(OTHER_ORG) == {}
        await ledger.accounts.disconnect(ORG, NUMBER)
        await ledger.accounts.connect(a_number(NUMBER, OTHER_ORG))
        assert await ledger.accounts.tried(OTHER_ORG) == {}, "it is tried anew by whom it is now"

    async def test_another_org_cannot_touch_a_number(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        await ledger.accounts.connect(a_number())
        change = NumberChange(enabled=False)
        assert await ledger.accounts.change_number(OTHER_ORG, NUMBER, change, T0) is None
        assert not await ledger.accounts.disconnect(OTHER_ORG, NUMBER)
        assert await ledger.accounts.numbers() == [a_number()]


class ResealContract:
    async def test_secrets_are_sealed_anew_all_or_none_and_only_as_they_were_read(self, ledger: Ledger) -> None:
        await two_orgs(ledger)
        before = a_number()
        await ledger.accounts.connect(before)
        after = replace(before, sealed_token=b"1", sealed_app_secret=b"2", sealed_verify_token=b"3")
        assert await ledger.accounts.reseal(before, after)
        assert await ledger.accounts.numbers(ORG) == [after]
        assert not await ledger.accounts.reseal(before, replace(after, sealed_token=b"4"))
        assert await ledger.accounts.numbers(ORG) == [after]


class AccountsContract(OrgContract, KeyContract, UserContract, NumberContract, ResealContract):
    pass
