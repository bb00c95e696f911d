"""Web Push against a push service on a socket and in simulated time, and the examples of the standards."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.adapters.webpush.encryption import CURVE, encrypt
from waypost.adapters.webpush.pusher import TIMEOUT, WebPusher
from waypost.adapters.webpush.vapid import VALID, public_key, vapid_key
from waypost.model.push import PushDelivered, PushRefused, PushRetry
from waypost.model.time import Instant, Span, days, from_unix, seconds
from waypost.ports.live.push import Pusher
from waypost.ports.platform.http_transport import HttpTransport
from waypost.rules.live.push_subscription import AllowedPushServices
from waypost_testing.clock import ManualClock
from waypost_testing.contracts.live.push import A_DAY, PusherContract, a_notification, deliver
from waypost_testing.services.push import (
    Browser,
    PushRejected,
    PushService,
    ScriptedPushReply,
    decoded,
    encoded,
    verified,
)
from waypost_testing.simulation import Simulation, run_simulation

SECRET = "the secret of this deployment, long enough"
CONTACT = "mailto:ops@acme.example"
LOCAL = AllowedPushServices(local=True)


class SocketStage:
    def __init__(
        self, transport: HttpTransport, service: PushService, clock: ManualClock, socket: AsyncExitStack
    ) -> None:
        self.wire, self.service, self.clock, self._socket = transport, service, clock, socket
        self.pusher: Pusher = self.built(SECRET)
        self.other_process: Pusher = self.built(SECRET)
        self.stranger: Pusher = self.built("somebody else's secret")

    def built(self, secret: str, former: str = "", reach: AllowedPushServices = LOCAL) -> WebPusher:
        return WebPusher(
            self.wire,
            self.clock,
            secret_key=secret,
            former_key=former,
            contact=CONTACT,
            reach=reach,
            timeout=2.0,  # so that a silent service is given up soon
        )

    async def wait(self, span: Span) -> None:
        self.clock.advance(span)

    async def gone(self) -> None:
        await self._socket.aclose()


@pytest.fixture
async def stage() -> AsyncIterator[SocketStage]:
    clock, transport = ManualClock(), ReqwestTransport("waypost-test/1")
    service = PushService(clock.now)
    async with AsyncExitStack() as socket:
        await socket.enter_async_context(service.listening())
        yield SocketStage(transport, service, clock, socket)
    await transport.close()


class TestWebPush(PusherContract):
    async def test_who_subscribed_under_the_former_key_is_reached_still(self, stage: SocketStage) -> None:
        device = stage.service.subscribe(public_key(SECRET))
        rotated = stage.built("a new secret of this deployment", former=SECRET)
        assert rotated.public_key != public_key(SECRET)
        assert await rotated.deliver(device, a_notification(), keep=A_DAY) == PushDelivered()
        assert stage.service.calls == [403, 201]

    async def test_who_subscribed_under_neither_key_is_refused(self, stage: SocketStage) -> None:
        device = stage.service.subscribe(public_key("a third"))
        rotated = stage.built("a new secret of this deployment", former=SECRET)
        assert isinstance(await rotated.deliver(device, a_notification(), keep=A_DAY), PushRefused)
        assert stage.service.calls == [403, 403]

    async def test_a_busy_service_is_asked_with_one_key_only(self, stage: SocketStage) -> None:
        device = stage.service.subscribe(public_key(SECRET))
        stage.service.then(device, ScriptedPushReply(429))
        assert isinstance(
            await stage.built("new", former=SECRET).deliver(device, a_notification(), keep=A_DAY), PushRetry
        )
        assert stage.service.calls == [429]

    async def test_only_a_laptop_sends_to_its_own_network(self, stage: SocketStage) -> None:
        strict = stage.built(SECRET, reach=AllowedPushServices())
        device = stage.service.subscribe(SECRET)
        for endpoint in (device.endpoint, device.endpoint.replace("http:", "https:")):
            result = await strict.deliver(replace(device, endpoint=endpoint), a_notification(), keep=A_DAY)
            assert isinstance(result, PushRefused)
        assert stage.service.calls == []

    async def test_a_huge_answer_is_not_read(self, stage: SocketStage) -> None:
        device = stage.service.subscribe()
        stage.service.then(device, ScriptedPushReply(400, body=b"x" * 10_000_000))
        assert isinstance(await deliver(stage, device), PushRetry)

    async def test_edge_says_why_in_a_header(self, stage: SocketStage) -> None:
        device = stage.service.subscribe()
        stage.service.then(device, ScriptedPushReply(400, {"x-wns-error-description": "Ttl value conflicts"}))
        assert await deliver(stage, device) == PushRefused("the push service answered HTTP 400: Ttl value conflicts")


def test_the_example_of_rfc_8291_comes_out_byte_for_byte() -> None:
    body = (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru"
        "3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    receiver = a_key("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")
    auth = decoded("BTBZMqHH6r4Tts7J_aSIgg")
    sealed = encrypt(
        b"When I grow up, I want to be a watermelon",
        receiver=receiver.public_key(),
        auth=auth,
        ours=a_key("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
        salt=decoded("DGv6ra1nlYgDCS1FRnbzlw"),
    )
    assert encoded(sealed) == body
    assert Browser(receiver, auth).opened(decoded(body)) == b"When I grow up, I want to be a watermelon"


def a_key(number: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(decoded(number), "big"), CURVE)


RFC_8292 = (
    "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3Njgs"
    "InN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjj"
    "vW2L9OkSSHzvoD1oA, "
    "k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
)


def test_our_service_takes_the_example_of_rfc_8292_and_nothing_that_was_changed_in_it() -> None:
    claims, key = verified(RFC_8292)
    assert (claims.aud, claims.exp, claims.sub) == ("https://push.example.net", 1453523768, "mailto:push@example.com")
    assert key.startswith("BA1Hxzyi")
    for old, new in (("eyJhdWQi", "eyJhdXQi"), (".i3CY", ".i3CZ"), ("k=BA1H", "k=BA1I"), ("vapid", "Bearer")):
        with pytest.raises(PushRejected):
            verified(RFC_8292.replace(old, new))


def test_we_sign_the_very_bytes_of_the_example_of_rfc_8292() -> None:
    now = Instant(from_unix(1453523768) - VALID)
    ours = vapid_key(SECRET).authorization("https://push.example.net", "mailto:push@example.com", now)
    assert ours.rpartition(".")[0] == RFC_8292.rpartition(".")[0]
    assert verified(ours)[1] == public_key(SECRET)


def test_the_key_is_the_same_in_every_process_and_another_for_every_secret() -> None:
    """Fixed values: a change of the derivation would cut off every subscribed device."""
    assert public_key(SECRET) == KEY_OF_SECRET
    assert len({public_key(f"secret {number}") for number in range(50)}) == 50
    assert len(base64.urlsafe_b64decode(public_key(SECRET) + "=")) == 65


KEY_OF_SECRET = "BBYJfSV5qAEvSf9PUjKq38t6jSk0Wq8PNLsbUtvx866_Sjl51fHnzM-H1aBwgU5nZ9ni3N5KGIuD7uvPeDzuGlQ"


def test_a_push_service_that_is_far_away_costs_simulated_time_only() -> None:
    async def main(sim: Simulation) -> tuple[object, int]:
        node, far = sim.node("server"), sim.node("far")
        service = PushService(node.clock.now, "http://push.example.net")
        sim.network.listen("push.example.net", far, service)
        transport = sim.network.transport(node)
        ours = WebPusher(transport, node.clock, secret_key=SECRET, contact=CONTACT, reach=LOCAL)
        device = service.subscribe(ours.public_key)
        service.then(device, ScriptedPushReply(0, hang=True))
        started = node.clock.now()
        first = await ours.deliver(device, a_notification(), keep=A_DAY)
        assert isinstance(first, PushRetry)
        assert node.clock.now() - started >= seconds(TIMEOUT)
        await node.clock.sleep(days(2))
        return await ours.deliver(device, a_notification(), keep=A_DAY), len(service.arrived)

    assert run_simulation(1, main) == (PushDelivered(), 1)
