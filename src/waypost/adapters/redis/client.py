"""The library's clients behind two verbs, so that a server, a sentinel's service and a cluster look alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.client import PubSub
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import ReadOnlyError, RedisError, ResponseError
from redis.maint_notifications import MaintNotificationsConfig

from waypost.adapters.redis.address import Address, Kind

Command: TypeAlias = tuple[str | bytes | int, ...]

PATIENCE = 1.0
"""Seconds for any answer: nobody waits for it, but a server that takes longer is as good as down."""
TROUBLE = (RedisError, OSError, TimeoutError)


class Lost(RedisError):
    """The connection is there and of no use: nothing comes by it, or it leads to the wrong server."""


class Client:
    def __init__(self, address: Address, library: Redis | RedisCluster, options: dict[str, Any]) -> None:
        self._address = address
        self._library = library
        self._options = options

    async def run(self, commands: Sequence[Command]) -> list[Any]:
        """All in one go; what was refused is in its place as an error. Raises when the server is not the right one."""
        pipeline = self._library.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, ReadOnlyError):
                raise Lost("it takes no writes any more") from answer
            if isinstance(answer, Exception) and not isinstance(answer, ResponseError):
                raise answer
        return answers

    async def keys(self, pattern: str, most: int) -> list[str]:
        found: list[str] = []
        async for key in self._library.scan_iter(match=pattern, count=1000):
            found.append(key.decode(errors="replace"))  # somebody else's may be anything
            if len(found) >= most:
                break
        return found

    async def info(self, section: str) -> dict[str, Any]:
        """Of a cluster, of the node that has the hints."""
        async with self._node("") as node:
            known: dict[str, Any] = await node.info(section)
            return known

    @asynccontextmanager
    async def listening(self, channel: str) -> AsyncIterator[PubSub]:
        """Subscribed when entered. The channel is a sharded one: in a cluster only its own node carries it."""
        async with self._node(channel) as node, node.pubsub() as ears:
            try:
                await ears.ssubscribe(channel)
                if await ears.get_message(timeout=PATIENCE) is None:
                    raise Lost("it does not let us listen")
                yield ears
            finally:
                if ears.connection is not None:  # by itself it would not wait until that is closed
                    await ears.connection.disconnect()

    @asynccontextmanager
    async def _node(self, key: str) -> AsyncIterator[Redis]:
        async with AsyncExitStack() as stack:
            if isinstance(self._library, RedisCluster):
                node = self._library.get_node_from_key(key)
                if node is None:
                    raise Lost("no node of the cluster has the hints")
                yield await stack.enter_async_context(Redis(host=node.host, port=int(node.port), **self._options))
            else:
                yield self._library


@asynccontextmanager
async def opened(address: Address) -> AsyncIterator[Client]:
    """Connected, and closed in the end."""
    options: dict[str, Any] = {
        "username": address.user or None,
        "password": address.password or None,
        "socket_timeout": PATIENCE,
        "socket_connect_timeout": PATIENCE,
        "retry": Retry(NoBackoff(), 0),  # the line has its own pauses, and nobody waits
        "client_name": "waypost",
        "driver_info": None,  # it would look for its own version on disk, in the loop
        "protocol": 2,
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }
    if address.tls:
        options |= {"ssl": True, "ssl_ca_certs": address.ca_file or None}
    async with AsyncExitStack() as stack:
        library = await stack.enter_async_context(_library(address, options))
        await library.ping()
        yield Client(address, library, options)


@asynccontextmanager
async def _library(address: Address, options: dict[str, Any]) -> AsyncIterator[Redis | RedisCluster]:
    async with AsyncExitStack() as stack:
        match address.kind:
            case Kind.SERVER:
                ((host, port),) = address.nodes
                yield await stack.enter_async_context(Redis(host=host, port=port, db=address.database, **options))
            case Kind.SENTINEL:
                watch = Sentinel(  # type: ignore[no-untyped-call]  # the library has no types here
                    address.nodes, sentinel_kwargs=_watching(options), **options
                )
                for each in watch.sentinels:
                    await stack.enter_async_context(each)
                yield await stack.enter_async_context(watch.master_for(address.service, db=address.database))
            case Kind.CLUSTER:
                nodes = [ClusterNode(host, port) for host, port in address.nodes]
                cluster = RedisCluster(startup_nodes=nodes, **options)
                yield await stack.enter_async_context(cluster)


def _watching(options: dict[str, Any]) -> dict[str, Any]:
    """Sentinels have passwords of their own, seldom any."""
    return {name: value for name, value in options.items() if name not in ("username", "password")}
