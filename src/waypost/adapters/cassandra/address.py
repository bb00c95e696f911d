"""The history URL: `cassandra://user:password@host1,host2:9042/keyspace?consistency=LOCAL_QUORUM&replication=3`."""

from __future__ import annotations

import re
from typing import Literal, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

Tls = Literal["off", "cert", "identity"]
Consistency = Literal["ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE"]

SCHEMES = ("cassandra://", "scylla://")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")
_CENTRE = re.compile(r"[\w-]+")


class InvalidCassandraAddress(Exception):
    """The address is invalid; the message says why, without the password."""


class CassandraAddress(msgspec.Struct, frozen=True, kw_only=True):
    hosts: tuple[str, ...]
    port: int
    keyspace: str
    user: str = ""
    password: str = ""
    consistency: Consistency = "LOCAL_QUORUM"
    replication: str = ""
    """Copies of a new keyspace: per data centre, or `dc1:3,dc2:3`; the default is 3."""
    dc: str = ""
    """The local data centre; by default that of the host that answers first."""
    tls: Tls = "off"
    """cert: a trusted authority must have signed the server's certificate; identity: it must also match the address."""
    ca: str = ""
    cert: str = ""
    key: str = ""
    timeout: float = 5.0
    """Seconds to wait for an answer."""

    def __repr__(self) -> str:
        return f"Address({','.join(self.hosts)}:{self.port}/{self.keyspace})"

    @property
    def copies(self) -> dict[str, int]:
        """By data centre; `replication_factor` applies to each of them."""
        parts = [part.rpartition(":") for part in (self.replication or "3").split(",")]
        return {centre or "replication_factor": int(count) for centre, _, count in parts}


OPTIONS = ("consistency", "replication", "dc", "tls", "ca", "cert", "key", "timeout")


def parse(url: str) -> CassandraAddress:
    if not url.startswith(SCHEMES):
        raise InvalidCassandraAddress("it must begin with cassandra://")
    try:
        parts = urlsplit(url)
        given = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise InvalidCassandraAddress(
            "it must be like cassandra://host1,host2:9042/keyspace?consistency=LOCAL_QUORUM"
        ) from None
    unknown = sorted(set(given) - set(OPTIONS))
    if unknown:
        raise InvalidCassandraAddress(f"it has no option {unknown[0]!r}: there are {', '.join(OPTIONS)}")
    user, _, hosts = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    address = CassandraAddress(
        hosts=_hosts(hosts),
        port=_port(hosts),
        keyspace=_keyspace(parts.path),
        user=unquote(name),
        password=unquote(password),
        **_options(given),  # type: ignore[arg-type]  # each is checked there
    )
    if bool(address.cert) != bool(address.key):
        raise InvalidCassandraAddress("a client certificate needs both cert and key")
    return address


def _hosts(text: str) -> tuple[str, ...]:
    hosts = tuple(part.partition(":")[0].strip() for part in text.split(","))
    if not all(hosts):
        raise InvalidCassandraAddress("it names no host")
    return hosts


def _port(text: str) -> int:
    ports = {part.partition(":")[2] for part in text.split(",")} - {""}
    if not ports:
        return 9042
    (port, *others) = ports
    if others or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise InvalidCassandraAddress("all hosts must have the same port, between 1 and 65535")
    return int(port)


def _keyspace(path: str) -> str:
    name = path.removeprefix("/") or "waypost"
    if not _NAME.fullmatch(name):
        raise InvalidCassandraAddress("its keyspace must be lowercase letters, digits and _, at most 48")
    return name


def _options(given: dict[str, str]) -> dict[str, object]:
    for name, known in (("consistency", get_args(Consistency)), ("tls", get_args(Tls))):
        if name in given and given[name] not in known:
            raise InvalidCassandraAddress(f"its {name} must be one of {', '.join(known)}")
    if not _is_replication(given.get("replication", "3")):
        raise InvalidCassandraAddress("its replication must be a number of copies like 3, or like dc1:3,dc2:3")
    if "dc" in given and not _CENTRE.fullmatch(given["dc"]):
        raise InvalidCassandraAddress("its dc must be the name of a data centre")
    return given | ({"timeout": _seconds(given["timeout"])} if "timeout" in given else {})


def _is_replication(text: str) -> bool:
    if text.isdecimal():
        return 1 <= int(text) <= 100
    parts = [part.partition(":") for part in text.split(",")]
    return all(_CENTRE.fullmatch(name) and count.isdecimal() and 1 <= int(count) <= 100 for name, _, count in parts)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 600:
        raise InvalidCassandraAddress("its timeout must be seconds between 0.1 and 600")
    return value
