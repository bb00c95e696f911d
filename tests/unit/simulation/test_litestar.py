import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from litestar import Litestar, get, post
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.response import Stream

from waypost_testing.simulation import Simulation, run_simulation
from waypost_testing.simulation.asgi import StartupFailed


class Order(msgspec.Struct):
    item: str
    count: int


class Receipt(msgspec.Struct):
    item: str
    price: int


@post("/orders/{shop:str}", status_code=202)
async def place(shop: FromPath[str], data: JSONBody[Order], loud: FromQuery[bool] = False) -> Receipt:
    await asyncio.sleep(0.25)
    item = f"{shop}:{data.item}"
    return Receipt(item=item.upper() if loud else item, price=data.count * 3)


@get("/stream")
async def stream() -> Stream:
    async def chunks() -> AsyncIterator[bytes]:
        for number in range(3):
            await asyncio.sleep(1)
            yield f"{number}\n".encode()

    return Stream(chunks())


def test_a_litestar_app_answers_through_the_network() -> None:
    async def main(sim: Simulation) -> list[str]:
        told: list[str] = []

        @asynccontextmanager
        async def lifespan(app: Litestar) -> AsyncIterator[None]:
            told.append("up")
            yield
            told.append("down")

        app = Litestar([place, stream], lifespan=[lifespan], openapi_config=None)
        host = await sim.network.boot("shop", sim.node("shop"), app)
        wire = sim.network.transport(sim.node("buyer"))
        body = msgspec.json.encode(Order(item="tea", count=4))
        headers = {"content-type": "application/json"}
        url = "http://shop/orders/north?loud=true"
        reply = await wire.request("POST", url, headers=headers, body=body, timeout=5)
        assert (reply.status, reply.headers["content-type"]) == (202, "application/json")
        assert msgspec.json.decode(reply.body, type=Receipt) == Receipt(item="NORTH:TEA", price=12)
        bad = await wire.request("POST", "http://shop/orders/n", headers=headers, body=b"{}", timeout=5)
        assert bad.status == 400
        streamed = await wire.request("GET", "http://shop/stream", headers={}, timeout=5)
        assert streamed.body == b"0\n1\n2\n"
        await host.shutdown()
        return told

    assert run_simulation(1, main) == ["up", "down"]


def test_an_app_that_cannot_start_does_not_listen() -> None:
    @asynccontextmanager
    async def broken(app: Litestar) -> AsyncIterator[None]:
        if app.debug is False:
            raise LookupError("no database")
        yield

    async def main(sim: Simulation) -> None:
        with pytest.raises(StartupFailed, match="no database"):
            await sim.network.boot("shop", sim.node("shop"), Litestar([], lifespan=[broken], openapi_config=None))

    run_simulation(1, main)
