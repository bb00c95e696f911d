"""A real cluster and a real sentinel: the same hints and keys, and the same recovery after a loss."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.conformance.redis.machines import Machine, Makes, machines_on
from tests.conformance.redis.redis_kinds import Sentinel, cluster, watched, write_certificate
from tests.started import or_skip
from waypost.adapters.local.clock import SystemClock
from waypost.adapters.local.presence import LocalPresence
from waypost.adapters.redis.address import parse
from waypost.adapters.redis.client import opened
from waypost.adapters.redis.counters import RedisCounters
from waypost.adapters.redis.presence import RedisPresence
from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Instant
from waypost.ports.live.presence import PresenceState
from waypost.ports.platform.hints import OUTBOX
from waypost.rules.limits.send_pace import Permit
from waypost.runtime.doctor.redis import findings
from waypost_testing.contracts.platform.hints import SOON
from waypost_testing.services.processes import Redis, free_port

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "add-redis.md").read_text()
RIGHTS = PAGE.partition("ACL SETUSER waypost on >PASSWORD\n")[2].partition("```")[0].split()
PEOPLE = [UserId(f"user-{n}") for n in range(20)]


@pytest.fixture(scope="module")
def of_three() -> Iterator[tuple[str, list[Redis]]]:
    with or_skip(cluster()) as made:
        yield made


@pytest.fixture
async def machines() -> AsyncIterator[Makes]:
    async with machines_on("") as makes:
        yield makes


async def hears(here: Machine, there: Machine) -> None:
    with there.hints.listen(OUTBOX) as ear:
        here.hints.give([OUTBOX])
        assert await ear.wait(SOON)


async def test_in_a_cluster_hints_cross_and_keys_are_spread(of_three: tuple[str, list[Redis]], machines: Makes) -> None:
    url, _ = of_three
    here, there = await machines(url), await machines(url)
    await hears(here, there)
    presence = RedisPresence(LocalPresence(here.hints, SystemClock()), here.line, "gateway")
    for user in PEOPLE:
        presence.set(OrgId("acme"), user, DeviceId("phone"), PresenceState.ONLINE)
    RedisCounters(here.line).drawn(OrgId("acme"), a_quota())
    await here.all_sent()
    assert here.line.dropped == 0
    async with opened(parse(url)) as client:
        assert await client.run([("GET", "whatsapp:ratelimit:counter:acme")]) == [b"7"]
        assert len(await client.keys("presence:*", 100)) == len(PEOPLE)
    late = await machines(url, up=False)
    starting = RedisPresence(LocalPresence(late.hints, SystemClock()), late.line, "late")
    await asyncio.wait_for(starting.read.wait(), 10)
    assert set((await starting.of(PEOPLE)).values()) == {PresenceState.ONLINE}


async def test_a_cluster_is_found_again_when_its_node_of_the_hints_comes_back(
    of_three: tuple[str, list[Redis]], machines: Makes
) -> None:
    url, nodes = of_three
    here, there = await machines(url), await machines(url)
    for node in nodes:  # one of them carries the hints
        await asyncio.to_thread(node.restart, "immediate")
    await here.reaches(up=False)
    await there.reaches(up=False)
    await here.reaches()
    await there.reaches()
    await hears(here, there)


@pytest.fixture
def three() -> Iterator[tuple[Sentinel, Redis, Redis]]:
    with or_skip(watched()) as started:
        yield started


async def test_a_sentinel_says_who_the_master_is_also_after_a_failover(
    three: tuple[Sentinel, Redis, Redis], machines: Makes
) -> None:
    sentinel, first, _ = three
    here, there = await machines(sentinel.url), await machines(sentinel.url)
    await hears(here, there)
    await asyncio.to_thread(first.kill)
    await here.reaches(up=False)
    await there.reaches(up=False)
    await here.reaches()
    await there.reaches()
    await hears(here, there)


async def test_a_user_with_few_rights_is_enough(redis_url: str, machines: Makes) -> None:
    """The rights that docs/how-to/add-redis.md names; the doctor passes with them, and nothing can be flushed."""
    url = redis_url.replace("redis://", "redis://app:hush@")
    async with opened(parse(redis_url)) as client:
        await client.run([("ACL", "SETUSER", "app", "reset", "on", ">hush", *RIGHTS), ("ACL", "LOG", "RESET")])
        here, there = await machines(url), await machines(url)
        presence = RedisPresence(LocalPresence(here.hints, SystemClock()), here.line, "gateway")
        presence.set(OrgId("acme"), UserId("ann"), DeviceId("phone"), PresenceState.ONLINE)
        RedisCounters(here.line).stands(OrgId("acme"), a_quota(), SystemClock().now())
        await hears(here, there)
        await here.all_sent()
        presence.set(OrgId("acme"), UserId("ann"), DeviceId("phone"), PresenceState.OFFLINE)
        await here.all_sent()
        assert not [found for found in await findings(url) if "answer" in found[1] and not found[0]]
        (refusals,) = await client.run([("ACL", "LOG")])
        async with opened(parse(url)) as app:
            tried = await app.run(
                [("FLUSHALL",), ("FLUSHDB",), ("KEYS", "*"), ("GET", "other"), ("CONFIG", "GET", "*")]
            )
        await client.run([("ACL", "DELUSER", "app")])
    assert (here.line.dropped, refusals) == (0, [])
    assert all("permission" in str(answer).lower() for answer in tried), tried


def a_quota() -> Permit:
    return Permit(name="quota:acme", free_at=Instant(0), used=7, since=SystemClock().now(), most=10)


@pytest.fixture
def by_tls(tmp_path: Path) -> Iterator[str]:
    own, key = tmp_path / "own.pem", tmp_path / "key.pem"
    write_certificate(own, key)
    port = str(free_port())
    files = ("--tls-cert-file", str(own), "--tls-key-file", str(key), "--tls-ca-cert-file", str(own))
    with or_skip(Redis("--tls-port", port, *files, "--tls-auth-clients", "no")):
        yield f"rediss://127.0.0.1:{port}?ssl_ca_certs={own}"


@pytest.mark.may_block("certificates are read when a connection is made")
async def test_by_tls_with_a_certificate_that_is_trusted(by_tls: str, machines: Makes) -> None:
    await hears(await machines(by_tls), await machines(by_tls))
    (refused,) = await findings(by_tls.partition("?")[0])
    assert "CERTIFICATE_VERIFY_FAILED" in refused[1]


async def test_the_doctor_finds_nothing_wrong_with_them(of_three: tuple[str, list[Redis]], redis_url: str) -> None:
    for url in (of_three[0], redis_url):
        found = [each for each in await findings(url) if "answers in" not in each[1]]  # speed varies with the machine
        assert [text for good, text, _ in found if not good] == []
        assert "version 7" in found[0][1] or "version 8" in found[0][1]


async def test_the_doctor_says_what_is_wrong(redis_url: str) -> None:
    async with opened(parse(redis_url)) as client:
        await client.run([("CONFIG", "SET", "maxmemory", 1_000_000)])
        wrong = [text for good, text, remedy in await findings(redis_url) if not good and remedy]
        await client.run([("CONFIG", "SET", "maxmemory", 0)])
    assert "redis: noeviction with a memory limit" in wrong
    assert any("MB used of 1" in text for text in wrong)


@pytest.mark.parametrize(
    ("url", "says"), [("redis://127.0.0.1:1", "does not answer"), ("http://:hush@x", "cannot be read")]
)
async def test_the_doctor_names_what_cannot_be_reached_without_its_password(url: str, says: str) -> None:
    ((good, text, remedy),) = await findings(url)
    assert not good
    assert says in text
    assert remedy
    assert "hush" not in text


async def test_where_there_is_no_redis_the_doctor_says_nothing() -> None:
    assert await findings("") == []
