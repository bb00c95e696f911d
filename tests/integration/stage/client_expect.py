"""The expectations of a played case: each waits for its signal, and reports what it saw instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.integration.stage.client_play import PATIENCE, Device, Stage, Step, text_of


async def expect(stage: Stage, step: Step) -> None:
    await EXPECTATIONS[step["expect"]](stage, stage.device(step), step)


async def state(_: Stage, device: Device, step: Step) -> None:
    def reached(event: dict[str, Any]) -> bool:
        return bool(event["event"] == "state" and event["is"] == step["is"])

    await device.until(lambda: device.since("state", reached), step)
    if device.reads_first and step["is"] in {"live", "polling"}:  # else it reads too early
        await device.until(lambda: device.was_reset, "the first reset")
        device.reads_first = False


async def resumed(_: Stage, device: Device, __: Step) -> None:
    assert not device.was_reset


async def stopped(_: Stage, device: Device, step: Step) -> None:
    def has(event: dict[str, Any]) -> bool:
        return bool(event["event"] == "state" and event["is"] == "stopped" and event.get("code", 0) == step["code"])

    await device.until(lambda: device.since("stopped", has), step)


async def reset(_: Stage, device: Device, step: Step) -> None:
    def came(event: dict[str, Any]) -> bool:
        return event["event"] == "reset" and step.get("reason") in {None, event["reason"]}

    await device.until(lambda: device.since("reset", came), step)


async def fetched(_: Stage, device: Device, step: Step) -> None:
    await device.until(lambda: device.since("fetch", lambda event: event["event"] == "fetch"), step)


async def kind(_: Stage, device: Device, step: Step) -> None:
    def applied(event: dict[str, Any]) -> bool:
        return bool(event["event"] == "item" and event["item"]["kind"] == step["is"])

    await device.until(lambda: device.since(f"kind {step['is']}", applied), step)


async def typing(_: Stage, device: Device, step: Step) -> None:
    await device.until(lambda: device.since("typing", is_typing), step)


def is_typing(event: dict[str, Any]) -> bool:
    return bool(event["event"] == "frame" and event["frame"]["type"] == "typing")


async def sent(_: Stage, device: Device, step: Step) -> None:
    wanted = [send for send in device.sends if step.get("text") in {None, send.text}]

    def missing() -> list[str]:
        return [send.text for send in wanted if not device.latest_event("sent", send.name)]

    try:
        await device.until(lambda: not missing(), step)
    except AssertionError as late:
        raise AssertionError(f"not sent: {missing()}; {late}") from None


async def refused(_: Stage, device: Device, step: Step) -> None:
    newest = device.sends[-1].name
    await device.until(lambda: device.latest_event("refused", newest), step)
    told = device.latest_event("refused", newest)
    assert told is not None
    assert step.get("code") in {None, told["code"]}


async def went_by(_: Stage, device: Device, step: Step) -> None:
    name = next(send.name for send in reversed(device.sends) if step.get("text") in {None, send.text})

    def tried() -> bool:
        return any(
            event["event"] == "try" and event["client_message_id"] == name and event["path"] == step["path"]
            for event in device.events
        )

    await device.until(tried, step)


async def shown(stage: Stage, device: Device, step: Step) -> None:
    room = stage.rooms["room"]
    await device.until(lambda: step["text"] in device.screen.get(room, {}).values(), step)


async def screen_equals_log(stage: Stage, device: Device, step: Step) -> None:
    for room in step.get("of", ["room", "side"]):
        log = [(message["message_id"], text_of(message)) for message in await stage.log(room)]
        conversation = stage.rooms[room]

        def showing(conversation: str = conversation) -> list[tuple[str, str | None]]:
            return list(device.screen.get(conversation, {}).items())

        try:
            await device.until(lambda log=log: showing() == log, step)  # type: ignore[misc]  # bound here, on purpose
        except AssertionError as late:
            raise AssertionError(f"log {log}\nscreen {showing()}\n{late}") from None


async def each_once(stage: Stage, device: Device, _: Step) -> None:
    assert not device.twice
    texts = [text_of(message) for room in stage.rooms for message in await stage.log(room)]
    counts = {send.text: texts.count(send.text) for send in device.sends}
    assert set(counts.values()) <= {1}, counts


async def in_order(stage: Stage, device: Device, _: Step) -> None:
    for room, conversation in stage.rooms.items():
        asked = [send.text for send in device.sends if send.conversation == conversation]
        stored = [text for message in await stage.log(room) if (text := text_of(message)) in asked]
        assert stored == asked


async def unread(stage: Stage, device: Device, step: Step) -> None:
    """Asked again after each event, and each answer is one."""
    async with asyncio.timeout(PATIENCE):
        while True:
            before = len(device.events)
            await device.say({"do": "unread", "conversation_id": stage.rooms["room"]})
            await device.until(lambda: _answer(device, "unread", before), step)  # noqa: B023  # awaited here
            if (_answer(device, "unread", before) or {}).get("count") == step["is"]:
                return


async def history(stage: Stage, device: Device, step: Step) -> None:
    before = len(device.events)
    await device.say({"do": "history", "conversation_id": stage.rooms["room"], "limit": step["limit"]})
    await device.until(lambda: _answer(device, "history", before), step)
    told = _answer(device, "history", before)
    assert told is not None
    newest_first = [message["message_id"] for message in await stage.log("room")][::-1]
    assert [message["message_id"] for message in told["messages"]] == newest_first


def _answer(device: Device, name: str, since: int) -> dict[str, Any] | None:
    return next((event for event in device.events[since:] if event["event"] == name), None)


EXPECTATIONS: dict[str, Callable[[Stage, Device, Step], Any]] = {
    "state": state,
    "stopped": stopped,
    "reset": reset,
    "resumed": resumed,
    "fetched": fetched,
    "kind": kind,
    "typing": typing,
    "sent": sent,
    "refused": refused,
    "went_by": went_by,
    "shown": shown,
    "screen_equals_log": screen_equals_log,
    "each_once": each_once,
    "in_order": in_order,
    "unread": unread,
    "history": history,
}
