"""Three nodes of Cassandra on loopback addresses, as people run it: any one of them may fail, or be lost for ever.

with CassandraRing() as ring:
    settings = Settings(history_url=ring.history_url("waypost"))
    ring.nodes[2].kill()
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any, ClassVar, Self

from waypost_testing.services.cassandra import Cassandra
from waypost_testing.services.processes import ServiceFailed, free_port

HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
_RING = 2**64
_RING_DELAY_MS = 30_000
"""How long a node that takes another's place listens to the others first; on a busy machine they are slow to answer."""
_PATIENCE = 120.0


class RingNode(Cassandra):
    """One of three; the first two are the seeds, so the third can be replaced by an empty one."""

    _heap: ClassVar[int] = 320

    def __init__(self, number: int, port: int, storage: int) -> None:
        self._seeds = ",".join(f"{host}:{storage}" for host in HOSTS[:2])
        super().__init__(self._joined(storage) | {"initial_token": str(-_RING // 2 + number * _RING // len(HOSTS))})
        self._storage = storage
        self.port = port
        self.host = HOSTS[number]
        self.jmx = 0

    def _joined(self, storage: int) -> dict[str, Any]:
        provider = "org.apache.cassandra.locator.SimpleSeedProvider"
        return {
            "storage_port": storage,
            "seed_provider": [{"class_name": provider, "parameters": [{"seeds": self._seeds}]}],
            "memtable_heap_space": "48MiB",
        }

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def knows(self, host: str, state: str) -> bool:
        """Whether the latest that it heard of the other node is this: UP or DOWN."""
        log = self._child.log if self._child is not None else ""
        changes = [line for line in log.splitlines() if f"{host}:{self._storage} is now " in line]
        return bool(changes) and changes[-1].endswith(state)

    def replace(self) -> None:
        """Its data is gone: an empty node takes its place. Returns when it has received its part of the data."""
        self.kill()
        for kept in ("data", "commitlog", "hints", "saved_caches", "cdc_raw"):
            shutil.rmtree(self.folder / kept, ignore_errors=True)
        self._settings = {**self._joined(self._storage), "auto_bootstrap": True}
        self._properties["cassandra.replace_address_first_boot"] = self.host
        self._properties["cassandra.ring_delay_ms"] = str(_RING_DELAY_MS)
        self.start()

    def _spawn(self) -> Any:
        self.jmx = free_port()
        self._properties["cassandra.jmx.local.port"] = str(self.jmx)
        return super()._spawn()

    def repair(self, keyspace: str) -> None:
        """What an operator runs after a replacement: every replica gets what it lacks."""
        properties = {"user.home": self.folder, "cassandra.storagedir": self.folder}
        command = [str(self._java), "-XX:TieredStopAtLevel=1", "-Xmx128m", *self._classes()]
        command += [f"-D{name}={value}" for name, value in properties.items()]
        command += ["org.apache.cassandra.tools.NodeTool", "-p", str(self.jmx), "repair", "--full", keyspace]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)
        if done.returncode:
            raise ServiceFailed(f"the repair failed:\n{done.stdout}{done.stderr}")


class CassandraRing:
    """Replication 3: each node has a copy of everything."""

    def __init__(self) -> None:
        port, storage = free_port(), free_port()
        self.nodes = [RingNode(number, port, storage) for number in range(len(HOSTS))]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            for node in self.nodes:
                starting.enter_context(node)
            self._stack = starting.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def history_url(self, keyspace: str, **options: str) -> str:
        asked = "&".join(f"{name}={value}" for name, value in {"replication": "3", **options}.items())
        return f"cassandra://{','.join(HOSTS)}:{self.nodes[0].port}/{keyspace}?{asked}"

    def wait_until_known(self, node: RingNode, state: str) -> None:
        """All the others have noticed that it is UP or DOWN."""
        others = [other for other in self.nodes if other is not node]
        deadline = time.monotonic() + _PATIENCE
        while not all(other.knows(node.host, state) for other in others):
            if time.monotonic() > deadline:
                raise ServiceFailed(f"not every node has noticed that {node.host} is {state}")
            time.sleep(0.1)
