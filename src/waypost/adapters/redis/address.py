"""The Redis address: one server, a service behind sentinels, or a cluster; never shown with its password."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import parse_qs, unquote, urlsplit

PORT = 6379
SENTINEL_PORT = 26379
DATABASES = 16
_CA = "ssl_ca_certs"

HostPort = tuple[str, int]


class RedisTopology(StrEnum):
    SERVER = "server"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


_KINDS = {"": RedisTopology.SERVER, "sentinel": RedisTopology.SENTINEL, "cluster": RedisTopology.CLUSTER}
_NAMES = {"redis": False, "rediss": True, "valkey": False, "valkeys": True}
"""Scheme -> whether it uses TLS."""


class InvalidRedisAddress(ValueError):
    """The message says what is wrong, without the password."""


@dataclass(frozen=True, kw_only=True)
class RedisAddress:
    kind: RedisTopology
    nodes: tuple[HostPort, ...]
    """For sentinels or a cluster, some of the nodes."""
    tls: bool = False
    database: int = 0
    service: str = ""
    """The sentinels' name of the service."""
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: str = ""
    """Certificate authorities to trust instead of the system's."""

    @property
    def shown(self) -> str:
        return f"{self.kind.value} {', '.join(f'{host}:{port}' for host, port in self.nodes)}"


def parse(url: str) -> RedisAddress:
    """`redis://host`, `rediss://`, `valkey://`, `redis+sentinel://h1,h2/service/0`, `redis+cluster://h1,h2`."""
    scheme, found, rest = url.strip().partition("://")
    name, _, variant = scheme.lower().partition("+")
    if not found or name not in _NAMES or variant not in _KINDS:
        known = "redis://, rediss://, valkey://, redis+sentinel:// or redis+cluster://"
        raise InvalidRedisAddress(f"it must start with {known}")
    kind = _KINDS[variant]
    place, _, query = rest.partition("?")
    login, _, where = place.rpartition("@")
    hosts, _, path = where.partition("/")
    user, _, password = login.partition(":")
    service, database = _path(kind, path)
    return RedisAddress(
        kind=kind,
        nodes=_nodes(hosts, kind),
        tls=_NAMES[name],
        database=database,
        service=service,
        user=unquote(user),
        password=unquote(password),
        ca_file=_ca_file(query, tls=_NAMES[name]),
    )


def _nodes(hosts: str, kind: RedisTopology) -> tuple[HostPort, ...]:
    named = [host.strip() for host in hosts.split(",") if host.strip()]
    if not named:
        raise InvalidRedisAddress("it names no host")
    if kind is RedisTopology.SERVER and len(named) > 1:
        raise InvalidRedisAddress("several hosts need redis+sentinel:// or redis+cluster://")
    return tuple(_node(host, SENTINEL_PORT if kind is RedisTopology.SENTINEL else PORT) for host in named)


def _node(text: str, usual: int) -> HostPort:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port == 0:
        raise InvalidRedisAddress("a host must be written host:port, and the port be a number up to 65535")
    return host, port or usual


def _path(kind: RedisTopology, path: str) -> tuple[str, int]:
    parts = [unquote(part) for part in path.split("/") if part]
    service = ""
    if kind is RedisTopology.SENTINEL:
        if not parts:
            raise InvalidRedisAddress("a sentinel's address names the service: redis+sentinel://host/service/0")
        service = parts.pop(0)
    database = parts.pop(0) if parts else "0"
    if parts or not database.isdecimal() or int(database) >= DATABASES:
        raise InvalidRedisAddress(f"the database must be a number below {DATABASES}")
    if kind is RedisTopology.CLUSTER and database != "0":
        raise InvalidRedisAddress("a cluster has only database 0")
    return service, int(database)


def _ca_file(query: str, *, tls: bool) -> str:
    options = parse_qs(query)
    if set(options) - {_CA} or (options and not tls):
        raise InvalidRedisAddress(f"the only option is {_CA}, with rediss://")
    return options.get(_CA, [""])[-1]
