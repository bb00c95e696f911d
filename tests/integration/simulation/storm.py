"""Three servers, callers and every fault at once; run as a program it prints the digest of its trace."""

import asyncio
import sys
from typing import Any

from waypost.model.time import Span, seconds
from waypost.ports.platform.http_transport import TransportError
from waypost_testing.simulation import NetworkConditions, Node, Outage, Simulation, Trace, run_simulation

STORMY = NetworkConditions(
    delayed=0.1,
    delay=(Span(10_000), Span(2_000_000)),
    refused=0.05,
    request_lost=0.05,
    response_lost=0.05,
    doubled=0.1,
)


def server(sim: Simulation, node: Node, counts: dict[str, int]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(node.clock.sleep(seconds(node.random.unit() * 0.01)))
        counts[node.name] = counts.get(node.name, 0) + 1
        sim.trace.note("handled", size=len(body), now=node.clock.now(), token=node.ids.token(6))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def boot() -> None:
        await node.clock.sleep(seconds(0.05))
        await sim.network.boot(node.name, node, app)

    return boot


async def call(sim: Simulation, node: Node, names: list[str]) -> None:
    wire = sim.network.transport(node)
    for number in range(30):
        target = names[int(node.random.unit() * len(names))]
        url, body = f"http://{target}/{number}", b"x" * number
        asking = {asyncio.ensure_future(wire.request("POST", url, headers={}, body=body, timeout=1)) for _ in range(2)}
        done, _ = await asyncio.wait(asking)
        for each in done:  # a set: its order must not depend on addresses
            try:
                sim.trace.note("got", status=each.result().status)
            except TransportError as error:
                sim.trace.note("failed", error=type(error).__name__)
        await node.clock.sleep(seconds(node.random.unit() * 0.2))


async def trouble(sim: Simulation, names: list[str], counts: dict[str, int]) -> None:
    dice = sim.chance.stream("trouble")
    while True:
        await asyncio.sleep(dice.random())
        node = sim.node(dice.choice(names))
        match dice.randrange(4):
            case 0:
                node.crash_after(dice.randrange(50))
            case 1:
                node.restart(server(sim, node, counts))
            case 2:
                node.clock.jump(seconds(dice.randrange(-100, 100)))
            case _:
                sim.network.fail(node.name, dice.choice(list(Outage)))
                await asyncio.sleep(0.3)
                sim.network.heal(node.name)


async def storm(sim: Simulation) -> Trace:
    names, counts = ["alpha", "beta", "gamma"], dict[str, int]()
    sim.network.set_conditions(STORMY)
    for name in names:
        sim.node(name).restart(server(sim, sim.node(name), counts))
    sim.node("chaos").spawn(trouble(sim, names, counts))
    callers = [sim.node(f"caller-{number}") for number in range(5)]
    await asyncio.gather(*(caller.run(call(sim, caller, names)) for caller in callers))
    for name in names:
        sim.trace.note("count", node=name, handled=counts.get(name, 0))
    return sim.trace


if __name__ == "__main__":
    sys.stdout.write(run_simulation(int(sys.argv[1]), storm, shuffle=sys.argv[2] == "1").digest())
