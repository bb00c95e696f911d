"""The contract of a pusher: a small notification to one device, readable by no one else, and its outcome.

The other side is a push service that checks who asks and opens what it gets, as the browser behind it would.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import pytest
from msgspec.structs import replace

from waypost.model.push import (
    Notification,
    PushDelivered,
    PushGone,
    PushRefused,
    PushResult,
    PushRetry,
    Subscription,
    Urgency,
)
from waypost.model.time import Span, days, hours, seconds
from waypost.ports.live.push import Pusher
from waypost_testing.services.push import PushService, ScriptedPushReply

ENOUGH = 30.0
"""Seconds; nothing here takes as long."""
A_DAY = days(1)


class PushFixture(Protocol):
    """What the test of a pusher provides."""

    pusher: Pusher
    other_process: Pusher
    """Another instance of the same deployment."""
    stranger: Pusher
    """An instance of another deployment."""
    service: PushService

    async def wait(self, span: Span) -> None:
        """Let time pass for the pusher and the service."""

    async def gone(self) -> None:
        """Stop the service's listener."""


def a_notification(**change: Any) -> Notification:
    fields: dict[str, Any] = {"title": "Ada", "conversation_id": "7", "count": 1, "text": "Hello"}
    return Notification(**fields | change)


async def deliver(stage: PushFixture, to: Subscription, **change: Any) -> PushResult:
    async with asyncio.timeout(ENOUGH):
        return await stage.pusher.deliver(to, a_notification(**change), keep=A_DAY)


class PusherContract:
    """Inherit it, and provide a fixture `stage`."""

    async def test_the_device_reads_what_was_sent(self, stage: PushFixture) -> None:
        device = stage.service.subscribe(stage.pusher.public_key)
        assert await deliver(stage, device, text="你好 مرحبا 👩‍👩‍👧") == PushDelivered()
        (arrived,) = stage.service.arrived
        assert (arrived.subscription, arrived.notification) == (device, a_notification(text="你好 مرحبا 👩‍👩‍👧"))

    async def test_a_notice_without_a_preview_has_no_text_in_it(self, stage: PushFixture) -> None:
        assert await deliver(stage, stage.service.subscribe(), text=None) == PushDelivered()
        assert b"text" not in stage.service.arrived[0].plain

    async def test_how_long_it_is_kept_and_how_urgent_it_is_goes_with_it(self, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        await stage.pusher.deliver(device, a_notification(), keep=hours(2), urgency=Urgency.HIGH)
        await stage.pusher.deliver(device, a_notification(), keep=seconds(0))
        first, second = stage.service.arrived
        assert (first.ttl, first.urgency) == (7200, Urgency.HIGH)
        assert (second.ttl, second.urgency) == (1, Urgency.NORMAL)

    async def test_a_device_that_was_off_finds_the_last_notice_of_each_conversation(self, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        for conversation, count in (("7", 1), ("8", 1), ("7", 2), ("7", 3)):
            await deliver(stage, device, conversation_id=conversation, count=count)
        found = stage.service.waiting(device)
        assert [(each.conversation_id, each.count) for each in found] == [("8", 1), ("7", 3)]

    async def test_what_one_process_sent_another_one_replaces(self, stage: PushFixture) -> None:
        device = stage.service.subscribe(stage.other_process.public_key)
        await deliver(stage, device, count=1)
        await stage.other_process.deliver(device, a_notification(count=2), keep=A_DAY)
        assert [each.count for each in stage.service.waiting(device)] == [2]

    async def test_nothing_on_the_way_tells_the_conversation_or_links_two_devices(self, stage: PushFixture) -> None:
        for device in (stage.service.subscribe(), stage.service.subscribe()):
            await deliver(stage, device, conversation_id="conversation-4711", title="Ada Lovelace")
        first, second = stage.service.arrived
        assert first.topic != second.topic
        for secret in (b"4711", b"Lovelace", b"Hello"):
            assert secret not in first.sealed
            assert secret not in (first.topic or "").encode()

    async def test_a_short_text_looks_like_a_shorter_one_and_no_two_bodies_are_alike(self, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        for text in ("no", "Yes, gladly, at eight", "no"):
            await deliver(stage, device, text=text)
        sealed = [each.sealed for each in stage.service.arrived]
        assert len({len(each) for each in sealed}) == 1
        assert len({each[:86] for each in sealed}) == len(sealed), "salt and key are fresh each time"

    async def test_only_who_the_device_subscribed_to_reaches_it(self, stage: PushFixture) -> None:
        device = stage.service.subscribe(stage.pusher.public_key)
        assert isinstance(await stage.stranger.deliver(device, a_notification(), keep=A_DAY), PushRefused)
        assert stage.service.arrived == []
        assert await deliver(stage, device) == PushDelivered()

    async def test_it_is_recognised_days_later_too(self, stage: PushFixture) -> None:
        device = stage.service.subscribe(stage.pusher.public_key)
        for span in (hours(0), hours(13), days(3)):
            await stage.wait(span)
            assert await deliver(stage, device) == PushDelivered()

    async def test_who_unsubscribed_is_gone(self, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        stage.service.unsubscribe(device)
        assert await deliver(stage, device) == PushGone()

    async def test_an_unknown_device_is_gone(self, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        assert await deliver(stage, replace(device, endpoint=device.endpoint + "0")) == PushGone()

    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
    async def test_a_busy_service_is_for_later(self, status: int, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        stage.service.then(device, ScriptedPushReply(status, {"retry-after": "120"}), ScriptedPushReply(status))
        first, second = await deliver(stage, device), await deliver(stage, device)
        assert isinstance(first, PushRetry)
        assert isinstance(second, PushRetry)
        assert (first.wait, second.wait) == (seconds(120), None)
        assert await deliver(stage, device) == PushDelivered()

    @pytest.mark.parametrize("wait", ["soon", "-5", "1e400", "", "Wed, 21 Oct 2026 07:28:00 GMT", "9" * 400])
    async def test_an_odd_wait_does_no_harm(self, wait: str, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        stage.service.then(device, ScriptedPushReply(429, {"retry-after": wait}))
        result = await deliver(stage, device)
        assert isinstance(result, PushRetry)
        assert result.wait is None or 0 <= result.wait <= days(1)

    @pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 413, 415])
    async def test_a_refusal_says_why_and_is_not_followed_elsewhere(self, status: int, stage: PushFixture) -> None:
        device, other = stage.service.subscribe(), stage.service.subscribe()
        stage.service.then(
            device, ScriptedPushReply(status, {"location": other.endpoint}, b"the\r\n  reason" + b"." * 9000)
        )
        result = await deliver(stage, device)
        assert isinstance(result, PushRefused)
        assert f"HTTP {status}: the reason" in result.reason
        assert len(result.reason) < 300
        assert len(stage.service.calls) == 1

    async def test_a_notice_that_no_service_takes_is_refused_before_it_is_sent(self, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        assert isinstance(await deliver(stage, device, text="x" * 5000), PushRefused)
        assert stage.service.calls == []

    async def test_the_longest_that_fits_arrives(self, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        assert await deliver(stage, device, text="x" * 3900) == PushDelivered()
        assert len(stage.service.arrived[0].sealed) <= 4096

    @pytest.mark.parametrize(
        "change", [{"p256dh": "BA"}, {"p256dh": "B" * 87}, {"p256dh": ""}, {"p256dh": "ü"}, {"auth": "?"}]
    )
    async def test_keys_that_are_none_are_gone_and_nobody_is_asked(
        self, change: dict[str, str], stage: PushFixture
    ) -> None:
        assert await deliver(stage, replace(stage.service.subscribe(), **change)) == PushGone()
        assert stage.service.calls == []

    @pytest.mark.parametrize("endpoint", ["", "push", "ftp://a.example/x", "https://u:p@a.example/x", "http://a b/"])
    async def test_an_address_that_is_none_is_refused(self, endpoint: str, stage: PushFixture) -> None:
        assert isinstance(await deliver(stage, replace(stage.service.subscribe(), endpoint=endpoint)), PushRefused)

    async def test_a_service_that_says_nothing_is_for_later(self, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        stage.service.then(device, ScriptedPushReply(0, hang=True))
        assert isinstance(await deliver(stage, device), PushRetry)

    async def test_a_service_that_is_away_is_for_later(self, stage: PushFixture) -> None:
        device = stage.service.subscribe()
        await stage.gone()
        assert isinstance(await deliver(stage, device), PushRetry)

    async def test_many_at_once_are_not_mixed_up(self, stage: PushFixture) -> None:
        devices = [stage.service.subscribe(stage.pusher.public_key) for _ in range(20)]
        sending = (deliver(stage, device, title=device.endpoint) for device in devices)
        assert set(await asyncio.gather(*sending)) == {PushDelivered()}
        assert {each.subscription.endpoint: each.notification.title for each in stage.service.arrived} == {
            device.endpoint: device.endpoint for device in devices
        }
