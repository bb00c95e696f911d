"""The same HTTP calls with no queue at all: what a durable sender can at most reach here."""

from __future__ import annotations

import argparse
import asyncio

import uvloop

from bench.peers import provider
from bench.peers.provider import Provider
from bench.peers.sending import SendResult, Stopwatch, calling, message


async def run(to: Provider, count: int, in_flight: int = 64) -> SendResult:
    bodies = iter([message(number) for number in range(count)])
    async with calling(to, in_flight) as caller:
        watch = Stopwatch(to)

        async def sender() -> None:
            for body in bodies:
                await caller.post(body)

        await asyncio.gather(*(sender() for _ in range(in_flight)))
        return await watch.result("no queue", f"{in_flight} in flight, nothing stored", count)


async def _main(arguments: argparse.Namespace) -> None:
    with provider.running() as to:
        print(await run(to, arguments.count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="not used: nothing is stored")
    parser.add_argument("--count", type=int, default=20_000)
    uvloop.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
