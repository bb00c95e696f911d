"""One interface for the library's clients of a server, a sentinel service and a cluster."""

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

from waypost.adapters.redis.address import RedisAddress, RedisTopology

Command: TypeAlias = tuple[str | bytes | int, ...]

PATIENCE = 1.0
"""Seconds for any answer; a server that takes longer counts as down."""
TROUBLE = (RedisError, OSError, TimeoutError)


class RedisConnectionLost(RedisError):
    """The connection is open but useless: nothing arrives, or it leads to the wrong server."""


class RedisClient:
    def __init__(self, address: RedisAddress, library: Redis | RedisCluster, options: dict[str, Any]) -> None:
        self._address = address
        self._library = library
        self._options = options

    async def run(self, commands: Sequence[Command]) -> list[Any]:
        """Run all in one round trip; a refused command's answer is its error. Raises if the server takes no writes."""
        pipeline = self._library.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, ReadOnlyError):
                raise RedisConnectionLost("it no longer takes writes") from answer
            if isinstance(answer, Exception) and not isinstance(answer, ResponseError):
                raise answer
        return answers

    async def keys(self, pattern: str, most: int) -> list[str]:
        found: list[str] = []
        async for key in self._library.scan_iter(match=pattern, count=1000):
            found.append(key.decode(errors="replace"))  # keys of other programs may be any bytes
            if len(found) >= most:
                break
        return found

    async def info(self, section: str) -> dict[str, Any]:
        """In a cluster, from the node that has the hints."""
        async with self._node("") as node:
            known: dict[str, Any] = await node.info(section)
            return known

    @asynccontextmanager
    async def listening(self, channel: str) -> AsyncIterator[PubSub]:
        """Subscribed on entry. The channel is sharded: in a cluster only its own node carries it."""
        async with self._node(channel) as node, node.pubsub() as pubsub:
            try:
                await pubsub.ssubscribe(channel)
                if await pubsub.get_message(timeout=PATIENCE) is None:
                    raise RedisConnectionLost("the subscription was not confirmed")
                yield pubsub
            finally:
                if pubsub.connection is not None:  # the library would not wait until it is closed
                    await pubsub.connection.disconnect()

    @asynccontextmanager
    async def _node(self, key: str) -> AsyncIterator[Redis]:
        async with AsyncExitStack() as stack:
            if isinstance(self._library, RedisCluster):
                node = self._library.get_node_from_key(key)
                if node is None:
                    raise RedisConnectionLost("no node of the cluster has the hints")
                yield await stack.enter_async_context(Redis(host=node.host, port=int(node.port), **self._options))
            else:
                yield self._library


@asynccontextmanager
async def opened(address: RedisAddress) -> AsyncIterator[RedisClient]:
    """A connected client, closed on exit."""
    options: dict[str, Any] = {
        "username": address.user or None,
        "password": address.password or None,
        "socket_timeout": PATIENCE,
        "socket_connect_timeout": PATIENCE,
        "retry": Retry(NoBackoff(), 0),  # RedisConnection retries with its own pauses
        "client_name": "waypost",
        "driver_info": None,  # it would read its version from disk, in the event loop
        "protocol": 2,
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }
    if address.tls:
        options |= {"ssl": True, "ssl_ca_certs": address.ca_file or None}
    async with AsyncExitStack() as stack:
        library = await stack.enter_async_context(_library(address, options))
        await library.ping()
        yield RedisClient(address, library, options)


@asynccontextmanager
async def _library(address: RedisAddress, options: dict[str, Any]) -> AsyncIterator[Redis | RedisCluster]:
    async with AsyncExitStack() as stack:
        match address.kind:
            case RedisTopology.SERVER:
                ((host, port),) = address.nodes
                yield await stack.enter_async_context(Redis(host=host, port=port, db=address.database, **options))
            case RedisTopology.SENTINEL:
                watch = Sentinel(  # type: ignore[no-untyped-call]  # the library has no types here
                    address.nodes, sentinel_kwargs=_watching(options), **options
                )
                for each in watch.sentinels:
                    await stack.enter_async_context(each)
                yield await stack.enter_async_context(watch.master_for(address.service, db=address.database))
            case RedisTopology.CLUSTER:
                nodes = [ClusterNode(host, port) for host, port in address.nodes]
                cluster = RedisCluster(startup_nodes=nodes, **options)
                yield await stack.enter_async_context(cluster)


def _watching(options: dict[str, Any]) -> dict[str, Any]:
    """Sentinels do not use the service's user and password."""
    return {name: value for name, value in options.items() if name not in ("username", "password")}
