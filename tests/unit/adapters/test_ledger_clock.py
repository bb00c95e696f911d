"""The Ledger's time in a process whose own clock is wrong, stops or jumps."""

import asyncio

import pytest

from waypost.adapters.local.clock import SystemClock
from waypost.adapters.local.ledger_clock import LedgerClock
from waypost.model.time import Instant, Span, hours, minutes, seconds
from waypost.ports.platform.failure import Unavailable

NOON = Instant(1_760_000_000_000_000)


class Machine:
    """A machine beside the Ledger: `passes` lets true time pass, and each of its clocks can miss it."""

    def __init__(self, off_by: Span) -> None:
        self.ledger = NOON
        self.wall = Instant(NOON + off_by)
        self.uptime = 5_000_000
        self.round_trip = Span(0)
        self.reads = 0
        self.away = False

    def now(self) -> Instant:
        return self.wall

    def boot(self) -> int:
        return self.uptime

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, span: Span) -> None:
        self.passes(span)

    def passes(self, span: Span, *, uptime: bool = True) -> None:
        self.ledger = Instant(self.ledger + span)
        self.wall = Instant(self.wall + span)
        self.uptime += span if uptime else 0

    async def read(self) -> Instant:
        self.reads += 1
        if self.away:
            raise Unavailable("away")
        self.passes(self.round_trip)
        at = self.ledger
        self.passes(self.round_trip)
        await asyncio.sleep(0)
        return at


@pytest.mark.parametrize("off_by", [hours(-25), seconds(0), hours(25)], ids=["behind", "right", "ahead"])
async def test_a_wrong_wall_clock_changes_nothing(off_by: Span) -> None:
    machine = Machine(off_by)
    clock = await LedgerClock.measured(machine, machine.read)
    assert clock.now() == machine.ledger
    machine.passes(minutes(10))
    assert await clock.trusted() == machine.ledger
    assert machine.reads == 1, "nothing had to be asked"


async def test_it_says_how_far_the_machines_clock_is_off() -> None:
    machine = Machine(hours(1))
    clock = LedgerClock(machine, machine.read)
    assert await clock.measure() == hours(1)
    machine.wall = Instant(machine.wall - hours(3))
    assert await clock.measure() == hours(-2)


async def test_before_the_first_measurement_it_is_the_machines_own_time() -> None:
    machine = Machine(hours(1))
    clock = LedgerClock(machine, machine.read)
    assert clock.now() == machine.wall
    assert await clock.trusted() == machine.ledger


@pytest.mark.parametrize("jump", [hours(1), hours(-1)], ids=["forward", "back"])
async def test_a_wall_clock_that_is_set_is_not_followed(jump: Span) -> None:
    machine = Machine(seconds(0))
    clock = await LedgerClock.measured(machine, machine.read)
    machine.wall = Instant(machine.wall + jump)
    assert clock.now() == machine.ledger
    assert await clock.trusted() == machine.ledger
    assert machine.reads == 2, "it was asked whether time had passed"
    await clock.trusted()
    assert machine.reads == 2, "and once is enough"


async def test_a_machine_that_stood_still_unnoticed_is_found_out() -> None:
    machine = Machine(seconds(0))
    clock = await LedgerClock.measured(machine, machine.read)
    machine.passes(minutes(12), uptime=False)
    assert machine.ledger - clock.now() == minutes(12)
    assert await clock.trusted() == machine.ledger


async def test_many_who_ask_at_once_measure_once() -> None:
    machine = Machine(seconds(0))
    clock = await LedgerClock.measured(machine, machine.read)
    machine.passes(minutes(12), uptime=False)
    assert set(await asyncio.gather(*(clock.trusted() for _ in range(50)))) == {machine.ledger}
    assert machine.reads == 2


async def test_a_ledger_that_does_not_answer_is_not_guessed() -> None:
    machine = Machine(seconds(0))
    clock = await LedgerClock.measured(machine, machine.read)
    machine.passes(minutes(12), uptime=False)
    machine.away = True
    with pytest.raises(Unavailable):
        await clock.trusted()


async def test_a_slow_answer_moves_no_clock() -> None:
    machine = Machine(seconds(0))
    clock = await LedgerClock.measured(machine, machine.read)
    machine.round_trip = seconds(20)
    for _ in range(3):
        await clock.measure()
        assert clock.now() == machine.ledger


async def test_a_ledger_that_drifts_is_followed_within_the_round_trip() -> None:
    machine = Machine(seconds(0))
    machine.round_trip = seconds(0.002)
    clock = await LedgerClock.measured(machine, machine.read)
    machine.ledger = Instant(machine.ledger + seconds(5))
    await clock.measure()
    assert abs(clock.now() - machine.ledger) <= seconds(0.002)


def test_the_uptime_of_this_machine_passes() -> None:
    clock = SystemClock()
    first = clock.boot()
    while clock.boot() == first:
        pass
    assert clock.boot() > first
