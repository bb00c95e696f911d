"""Runs a client over pipes: reads commands and writes events as lines of JSON (clients/README.md)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, assert_never

import msgspec

from waypost.client.client import Client
from waypost.client.store import FileStore, StoredState
from waypost.client.timing import Timing
from waypost.client.types import (
    ClientError,
    ClientEvent,
    EphemeralEvent,
    Fetching,
    Item,
    Json,
    Reset,
    SendAttempted,
    SendQueued,
    SendRefused,
    SendRejected,
    SendStored,
    StateChanged,
    Stopped,
)


class FixedEpochStore(FileStore):
    """For test cases in which a device returns with another epoch."""

    def __init__(self, path: Path, epoch: str | None) -> None:
        super().__init__(path)
        self._fixed_epoch = epoch

    async def open(self) -> StoredState:
        kept = await super().open()
        return kept if self._fixed_epoch is None else msgspec.structs.replace(kept, epoch=self._fixed_epoch)


def emit_event(**event: Any) -> None:
    sys.stdout.write(msgspec.json.encode(event).decode() + "\n")
    sys.stdout.flush()


def emit_client_event(event: ClientEvent) -> None:
    match event:
        case StateChanged(state, code):
            emit_event(event="state", **{"is": state}, code=code)
        case SendQueued(name):
            emit_event(event="queued", client_message_id=name)
        case SendAttempted(name, path):
            emit_event(event="try", client_message_id=name, path=path)
        case SendStored(name, message_id, position):
            emit_event(event="sent", client_message_id=name, message_id=message_id, position=position)
        case SendRejected(name, code):
            emit_event(event="refused", client_message_id=name, code=code)
        case Fetching(feeds):
            emit_event(event="fetch", feeds=feeds)
        case EphemeralEvent(frame):
            emit_event(event="frame", frame=frame)
        case _:
            assert_never(event)


async def commands() -> AsyncIterator[Json]:
    reader = asyncio.StreamReader(limit=1024 * 1024)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield msgspec.json.decode(line)


async def show(client: Client) -> None:
    with suppress(Stopped):
        async for applied in client.items():
            match applied:
                case Item(body=body):
                    emit_event(event="item", item=body)
                case Reset(reason=reason):
                    emit_event(event="reset", reason=reason, messages=await all_histories(client))


async def all_histories(client: Client) -> list[Any]:
    """The messages of all conversations, oldest first in each."""
    found: list[Any] = []
    for conversation in await client.conversations():
        messages = [message async for message in client.history(conversation.conversation_id, limit=200)]
        found += messages[::-1]
    return found


async def run_command(client: Client, command: Json) -> None:
    where = command.get("conversation_id", "")
    match command["do"]:
        case "send":
            try:
                await client.send(where, command["content"], client_message_id=command["client_message_id"])
            except SendRefused as refused:
                if refused.code in {"queue_full", "client_message_id_in_use"}:  # other refusals were already emitted
                    emit_event(event="refused", client_message_id=command["client_message_id"], code=refused.code)
        case "read":
            await client.read(where, command["message_id"])
        case "typing":
            await client.typing(where)
        case "history":
            messages = [message async for message in client.history(where, limit=command.get("limit", 50))]
            emit_event(event="history", conversation_id=where, messages=messages)
        case "unread":
            emit_event(event="unread", conversation_id=where, count=await client.unread(where))
        case unknown:
            raise ValueError(f"unknown command: {unknown}")


async def run_command_quietly(client: Client, command: Json) -> None:
    """Ignores the error of a command that the client's end interrupts."""
    with suppress(ClientError):
        await run_command(client, command)


async def drive() -> None:
    lines = commands()
    first = await anext(lines)
    client = Client(
        first["url"],
        first["token"],
        first["device_id"],
        store=FixedEpochStore(Path(first["store"]) / "client.db", first.get("epoch")),
        timing=Timing(**first.get("timing", {})),
        watch=emit_client_event,
    )
    async with asyncio.TaskGroup() as tasks, client:
        showing = tasks.create_task(show(client))
        async for command in lines:
            if command["do"] == "stop":
                break
            tasks.create_task(run_command_quietly(client, command))
            await asyncio.sleep(0)  # keep their order
        showing.cancel()


def main() -> None:
    asyncio.run(drive())


if __name__ == "__main__":
    main()
