import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from waypost.model.time import Span, seconds
from waypost.ports.platform.http_transport import ConnectFailed, ConnectionCut, HttpReply, HttpTransport, ReplyTimedOut
from waypost_testing.simulation import NetworkConditions, Outage, Simulation, run_simulation

SEED = 3
LAZY = (Span(10_000), Span(10_000))


class Echo:
    """Counts the requests it begins and ends, each of which takes a second."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.scopes: list[dict[str, Any]] = []
        self.said: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        body = (await receive())["body"]
        self.begun.append(body.decode())
        await asyncio.sleep(1)
        self.ended.append(body.decode())
        await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Echo", b"yes")]})
        await send({"type": "http.response.body", "body": body[:1], "more_body": True})
        await send({"type": "http.response.body", "body": body[1:]})
        self.said.append((await receive())["type"])


def post(wire: HttpTransport, body: bytes = b"hello", timeout: float = 30) -> Awaitable[HttpReply]:
    return wire.request("POST", "http://b/a%20path?q=1", headers={"X-Name": "v"}, body=body, timeout=timeout)


def simulate(scenario: Callable[[Simulation, Echo, HttpTransport], Awaitable[None]], seed: int = SEED) -> Echo:
    """Node a with a transport, node b with the echo."""
    app = Echo()

    async def main(sim: Simulation) -> None:
        sim.network.listen("b", sim.node("b"), app)
        await scenario(sim, app, sim.network.transport(sim.node("a")))

    run_simulation(seed, main)
    return app


def test_a_request_is_served_inside_the_other_node_and_takes_its_time() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.set_conditions(NetworkConditions(latency=LAZY))
        reply = await post(wire)
        assert reply == HttpReply(status=200, headers={"x-echo": "yes"}, body=b"hello")
        assert sim.loop.time() == 1.02

    (scope,) = simulate(scenario).scopes
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == ("/a path", b"/a%20path", b"q=1")
    assert scope["headers"] == [(b"x-name", b"v"), (b"host", b"b"), (b"content-length", b"5")]
    assert (scope["client"], scope["server"], scope["scheme"]) == (("a", 0), ("b", 80), "http")


def test_a_crash_during_the_handling_cuts_the_caller_off_and_stops_the_handler() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.loop.call_later(0.5, sim.node("b").crash)
        with pytest.raises(ConnectionCut):
            await post(wire)
        assert sim.loop.time() < 0.6
        await asyncio.sleep(10)

    app = simulate(scenario)
    assert (app.begun, app.ended) == (["hello"], [])


def test_the_callers_crash_does_not_call_the_request_back() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.set_conditions(NetworkConditions(latency=LAZY))
        sim.node("a").spawn(post(wire))  # type: ignore[arg-type]
        await asyncio.sleep(0.005)
        sim.node("a").crash()
        await asyncio.sleep(10)

    assert simulate(scenario).ended == ["hello"]


def test_a_dead_host_refuses_until_it_listens_again() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.node("b").crash()
        with pytest.raises(ConnectFailed):
            await post(wire)

        async def boot() -> None:
            await asyncio.sleep(5)
            sim.network.listen("b", sim.node("b"), app)

        booting = sim.node("b").restart(boot)
        with pytest.raises(ConnectFailed):
            await post(wire)
        await booting
        assert (await post(wire)).status == 200

    assert simulate(scenario).begun == ["hello"]


def test_an_unknown_host_refuses() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        with pytest.raises(ConnectFailed):
            await wire.request("GET", "http://nobody/", headers={}, timeout=1)

    simulate(scenario)


@pytest.mark.parametrize(("cut", "error"), [(0.0, ReplyTimedOut), (1.0, ConnectionCut)])
def test_a_lost_request_never_arrives(cut: float, error: type[Exception]) -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.set_conditions(NetworkConditions(request_lost=1.0, cut=cut))
        with pytest.raises(error):
            await post(wire, timeout=7)
        assert (sim.loop.time() == 7) is (error is ReplyTimedOut)

    assert simulate(scenario).begun == []


@pytest.mark.parametrize(("cut", "error"), [(0.0, ReplyTimedOut), (1.0, ConnectionCut)])
def test_a_lost_response_leaves_what_the_host_did(cut: float, error: type[Exception]) -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.set_conditions(NetworkConditions(response_lost=1.0, cut=cut))
        with pytest.raises(error):
            await post(wire, timeout=7)

    assert simulate(scenario).ended == ["hello"]


def test_a_doubled_request_runs_twice_and_the_caller_gets_one_answer() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.set_conditions(NetworkConditions(doubled=1.0))
        assert (await post(wire)).body == b"hello"
        await asyncio.sleep(10)

    assert simulate(scenario).ended == ["hello", "hello"]


def test_the_second_copy_of_a_request_never_spoils_the_answer_to_the_first() -> None:
    seen: list[bool] = []

    async def cut_one_short(scope: Any, receive: Any, send: Any) -> None:
        seen.append(True)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if len(seen) == 2:
            return
        await asyncio.sleep(10)
        await send({"type": "http.response.body", "body": b"whole"})

    async def main(sim: Simulation) -> None:
        sim.network.set_conditions(NetworkConditions(doubled=1.0))
        sim.network.listen("b", sim.node("b"), cut_one_short)
        try:
            body = (await post(sim.network.transport(sim.node("a")))).body
        except ConnectionCut:
            body = b""
        arrivals = [line for line in sim.trace.lines() if " arrive " in line]
        the_echo_was_cut = "echo=True" in arrivals[1]
        assert body == (b"whole" if the_echo_was_cut else b"")
        which.append(the_echo_was_cut)

    which: list[bool] = []
    for seed in range(10):
        seen.clear()
        run_simulation(seed, main)
    assert True in which
    assert False in which


async def listen(sim: Simulation, app: Echo) -> None:
    sim.network.listen("b", sim.node("b"), app)


def test_refused_is_never_said_of_a_request_that_arrived() -> None:
    stormy = NetworkConditions(
        doubled=0.5, delayed=0.5, delay=(seconds(0.1), seconds(3)), response_lost=0.2, refused=0.1
    )

    async def one(wire: HttpTransport, number: int) -> str:
        try:
            await post(wire, f"{number}".encode(), timeout=5)
        except (ConnectFailed, ReplyTimedOut, ConnectionCut) as error:
            return f"{number} {type(error).__name__}"
        return f"{number} ok"

    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.set_conditions(stormy)
        asking = [asyncio.create_task(one(wire, number)) for number in range(60)]
        for _ in range(4):
            await asyncio.sleep(0.7)
            sim.node("b").crash()
            await asyncio.sleep(0.2)
            sim.node("b").restart(lambda: listen(sim, app))
        said = [await each for each in asking]
        await asyncio.sleep(60)
        refused = {each.split()[0] for each in said if each.endswith("ConnectFailed")}
        assert refused
        assert refused.isdisjoint(app.begun)
        assert {each.split()[0] for each in said if each.endswith("ok")} <= set(app.ended)

    for seed in range(20):
        simulate(scenario, seed)


def test_a_partition_swallows_everything_until_it_is_joined() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.part("a", "b")
        with pytest.raises(ReplyTimedOut):
            await post(wire, b"one", timeout=3)
        sim.network.join("a", "b")
        sim.loop.call_later(0.5, sim.network.part, "b", "a")
        with pytest.raises(ReplyTimedOut):
            await post(wire, b"two", timeout=3)
        sim.network.join("a", "b")
        assert (await post(wire, b"three")).body == b"three"

    assert simulate(scenario).ended == ["two", "three"]


@pytest.mark.parametrize("outage", list(Outage))
def test_an_outage_keeps_requests_from_the_app(outage: Outage) -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.fail("b", outage)
        try:
            seen: object = (await post(wire, timeout=3)).status
        except (ConnectFailed, ReplyTimedOut) as error:
            seen = type(error)
        assert seen == {Outage.REFUSING: ConnectFailed, Outage.SILENT: ReplyTimedOut, Outage.ERRORS: 503}[outage]
        assert app.begun == []
        sim.network.heal("b")
        assert (await post(wire)).status == 200

    simulate(scenario)


def test_delays_reorder_requests() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.set_conditions(NetworkConditions(delayed=0.5), target="b")
        await asyncio.gather(*(post(wire, f"{number}".encode(), timeout=100) for number in range(10)))

    begun = simulate(scenario).begun
    assert sorted(begun) != begun
    assert sorted(begun) == [str(number) for number in range(10)]


def test_a_caller_that_waits_no_longer_is_heard_hanging_up() -> None:
    async def patient(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        heard.append((await receive())["type"])

    heard: list[str] = []

    async def main(sim: Simulation) -> None:
        sim.network.listen("b", sim.node("b"), patient)
        with pytest.raises(ReplyTimedOut):
            await post(sim.network.transport(sim.node("a")), timeout=2)
        assert heard == []
        await asyncio.sleep(1)

    run_simulation(SEED, main)
    assert heard == ["http.disconnect"]


def test_a_broken_app_answers_500_before_its_response_and_cuts_after() -> None:
    async def raises(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError

    async def silent(scope: Any, receive: Any, send: Any) -> None: ...

    async def half(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ha", "more_body": True})

    async def main(sim: Simulation) -> None:
        wire = sim.network.transport(sim.node("a"))
        for name, app in (("raises", raises), ("silent", silent), ("half", half)):
            sim.network.listen(name, sim.node("b"), app)
        assert (await wire.request("GET", "http://raises", headers={}, timeout=1)).status == 500
        assert (await wire.request("GET", "http://silent", headers={}, timeout=1)).status == 500
        with pytest.raises(ConnectionCut):
            await wire.request("GET", "http://half", headers={}, timeout=1)

    run_simulation(SEED, main)


def test_weather_of_the_most_exact_route_counts() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        sim.network.set_conditions(NetworkConditions(request_lost=1.0, cut=0))
        sim.network.set_conditions(NetworkConditions(), source="a", target="b")
        assert (await post(wire)).status == 200
        with pytest.raises(ReplyTimedOut):
            await post(sim.network.transport(sim.node("c")), timeout=1)

    simulate(scenario)


def test_what_the_network_does_to_requests_is_counted_by_kind() -> None:
    async def scenario(sim: Simulation, app: Echo, wire: HttpTransport) -> None:
        for conditions in (
            NetworkConditions(request_lost=1.0, cut=1.0),
            NetworkConditions(response_lost=1.0, cut=1.0),
            NetworkConditions(refused=1.0),
        ):
            sim.network.set_conditions(conditions)
            with pytest.raises((ConnectionCut, ConnectFailed)):
                await post(wire)
        sim.network.set_conditions(NetworkConditions(doubled=1.0))
        await post(wire)
        kinds = ("request lost", "response lost", "connection refused", "request doubled")
        assert sim.network.faults == dict.fromkeys(kinds, 1)

    simulate(scenario)
