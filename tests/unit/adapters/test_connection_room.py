"""How processes share PostgreSQL's connections when not all of them fit."""

from waypost.adapters.postgres.connection_room import ConnectionRoom

SERVER = 20
WANTED = 12


class Process:
    """Uses every connection that it may have."""

    def __init__(self) -> None:
        self.room = ConnectionRoom()
        self.opened = 0

    def look(self, left: int) -> bool:
        gives_back = self.room.look(left, WANTED - self.opened)
        if gives_back:
            self.opened = min(self.opened, 1)
        return gives_back

    def work(self, left: int) -> None:
        while self.opened < WANTED and self.room.may_open:
            if left == 0:
                self.room.was_refused("too many clients")
                return
            self.opened += 1
            left -= 1
            self.room.was_opened()


def test_processes_that_do_not_fit_seldom_give_back_what_they_opened() -> None:
    """At worst all look at the same moment, see the same room and use it."""
    processes = [Process(), Process()]

    def left() -> int:
        return SERVER - sum(process.opened for process in processes)

    given_back = 0
    for _ in range(60):
        seen = left()
        given_back += sum(process.look(seen) for process in processes)
        for process in processes:
            process.work(left())
    assert 0 < given_back <= 60 * len(processes) / (SERVER / len(processes) - 1)


def test_where_there_is_room_again_a_process_opens_what_it_wants() -> None:
    process = Process()
    process.room.was_refused("too many clients")
    for _ in range(WANTED):
        process.look(SERVER - process.opened)
        process.work(SERVER - process.opened)
    assert process.opened == WANTED
    assert process.room.may_open
