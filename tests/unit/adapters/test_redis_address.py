"""Redis addresses: which are accepted, which are refused, and that no password is ever shown."""

from __future__ import annotations

import pytest

from waypost.adapters.redis.address import InvalidRedisAddress, RedisAddress, RedisTopology, parse
from waypost.runtime.settings.definitions import SECRET, Settings, SettingsError
from waypost.runtime.wiring.hint_transports import redis_address


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://cache", RedisAddress(kind=RedisTopology.SERVER, nodes=(("cache", 6379),))),
        ("redis://cache:7000/3", RedisAddress(kind=RedisTopology.SERVER, nodes=(("cache", 7000),), database=3)),
        ("valkey://cache", RedisAddress(kind=RedisTopology.SERVER, nodes=(("cache", 6379),))),
        ("rediss://[::1]:7000", RedisAddress(kind=RedisTopology.SERVER, nodes=(("::1", 7000),), tls=True)),
        (
            "rediss://cache?ssl_ca_certs=/etc/ca.pem",
            RedisAddress(kind=RedisTopology.SERVER, nodes=(("cache", 6379),), tls=True, ca_file="/etc/ca.pem"),
        ),
        (
            "redis://app:p%40ss:w@cache",
            RedisAddress(kind=RedisTopology.SERVER, nodes=(("cache", 6379),), user="app", password="p@ss:w"),
        ),
        ("redis://:secret@cache", RedisAddress(kind=RedisTopology.SERVER, nodes=(("cache", 6379),), password="secret")),
        (
            "redis+sentinel://a,b:7001/main/2",
            RedisAddress(kind=RedisTopology.SENTINEL, nodes=(("a", 26379), ("b", 7001)), service="main", database=2),
        ),
        (
            "redis+cluster://:secret@a:7000,b",
            RedisAddress(kind=RedisTopology.CLUSTER, nodes=(("a", 7000), ("b", 6379)), password="secret"),
        ),
        ("valkeys+cluster://a", RedisAddress(kind=RedisTopology.CLUSTER, nodes=(("a", 6379),), tls=True)),
    ],
)
def test_what_is_understood(url: str, address: RedisAddress) -> None:
    assert parse(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "cache:6379",
        "http://cache",
        "redis+proxy://cache",
        "redis://",
        "redis://a,b",
        "redis://cache:port",
        "redis://cache:70000",
        "redis://cache:0",
        "redis://cache/main",
        "redis://cache/99",
        "redis://cache/1/2",
        "redis+sentinel://a,b",
        "redis+cluster://a/1",
        "redis://cache?timeout=5",
        "redis://cache?ssl_ca_certs=/etc/ca.pem",
    ],
)
def test_what_is_refused(url: str) -> None:
    with pytest.raises(InvalidRedisAddress):
        parse(url)


def test_a_wrong_address_is_said_in_one_clear_line_without_the_password() -> None:
    with pytest.raises(SettingsError, match="WAYPOST_REDIS_URL cannot be read: the database must be") as said:
        redis_address(Settings(redis_url="redis://:hush@cache/main"))
    assert "hush" not in str(said.value)


def test_no_address_is_no_redis() -> None:
    assert redis_address(Settings()) is None
    assert redis_address(Settings(redis_url=" ")) is None


def test_a_password_is_never_shown() -> None:
    address = parse("redis+cluster://app:hush@a,b")
    assert "hush" not in f"{address!r} {address.shown}"
    assert address.shown == "cluster a:6379, b:6379"
    assert "redis_url" in SECRET
