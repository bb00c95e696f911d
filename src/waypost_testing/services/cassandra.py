"""Cassandra for tests: Maven fetches its jars once into the user's cache folder; a node is a child process.

with Cassandra() as cassandra:
    settings = Settings(history_url=cassandra.history_url("waypost"))
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from waypost_testing.services.processes import Service, ServiceMissing, ServiceProcess, ShutdownMode, free_port

VERSION = "5.0.9"
JAVA = 17
JVMS = Path("/usr/lib/jvm")
"""Where Debian keeps Java, a folder per version."""

_READY = "Starting listening for CQL clients"
_FETCH_TIMEOUT = 600.0
_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>waypost</groupId><artifactId>cassandra-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
_LOGBACK = """\
<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %msg%n</pattern></encoder>
  </appender>
  <logger name="org.apache.cassandra.transport" level="INFO"/>
  <logger name="org.apache.cassandra.gms.Gossiper" level="INFO"/>
  <root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
"""
_EXPORTS = (
    "java.base/jdk.internal.misc java.base/java.lang.ref java.base/sun.nio.ch "
    "java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry java.rmi/sun.rmi.server "
    "java.rmi/sun.rmi.transport.tcp java.sql/java.sql jdk.unsupported/sun.misc"
)
_OPENS = (
    "java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect java.base/java.io java.base/java.net "
    "java.base/java.nio java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic "
    "java.base/jdk.internal.loader java.base/jdk.internal.ref java.base/jdk.internal.reflect "
    "java.base/jdk.internal.math java.base/jdk.internal.module java.base/jdk.internal.util.jar java.base/sun.nio.ch "
    "java.rmi/sun.rmi.transport.tcp jdk.management.jfr/jdk.management.jfr java.management/com.sun.jmx.mbeanserver "
    "jdk.management/com.sun.management.internal"
)
"""Modules that Cassandra accesses and that JDK 17 closes by default."""

HEAP_MB = 512
_AT_FULL_SPEED = ("-XX:+UseG1GC",)
_SOON = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Faster start: half of it is compilation for a speed that tests do not need."""
_QUICK = {
    "cassandra.skip_wait_for_gossip_to_settle": "0",
    "cassandra.ring_delay_ms": "1000",
    "cassandra.superuser_setup_delay_ms": "0",
}
"""A single node has no peers to wait for."""


FORGETFUL = {
    "commitlog_sync": "periodic",
    "commitlog_sync_period": "2000ms",
    "commitlog_compression": [{"class_name": "LZ4Compressor"}],
}
"""A node that is killed loses what it confirmed in the last two seconds: a compressed commit log is written late."""


class Cassandra(Service):
    """One node with a small heap; unless its settings say otherwise, confirmed writes survive, however it ends."""

    _signals: ClassVar[Mapping[ShutdownMode, signal.Signals]] = {"fast": signal.SIGTERM, "immediate": signal.SIGKILL}
    _patience: ClassVar[float] = 240.0

    _heap: ClassVar[int] = HEAP_MB

    def __init__(self, settings: Mapping[str, Any] | None = None, *, full_speed: bool = False) -> None:
        super().__init__()
        self.host = "127.0.0.1"
        self._compiling = _AT_FULL_SPEED if full_speed else _SOON
        self._settings = settings or {}
        self._properties: dict[str, str] = {}
        self._java = Path()
        self._jars = Path()

    @property
    def url(self) -> str:
        return f"cassandra://{self.host}:{self.port}"

    def history_url(self, keyspace: str, **options: str) -> str:
        """The value of WAYPOST_HISTORY_URL for this node."""
        asked = {"replication": "1", "timeout": "30", **options}  # a machine full of tests is slow
        return f"{self.url}/{keyspace}?" + "&".join(f"{name}={value}" for name, value in asked.items())

    def _require(self) -> None:
        self._java = find_java()
        self._jars = fetch_jars()

    def _prepare(self) -> None:
        (self.folder / "logback.xml").write_text(_LOGBACK)
        (self.folder / "conf").mkdir()

    def _spawn(self) -> ServiceProcess:
        # Flow-style YAML: JSON is a part of it.
        (self.folder / "conf" / "cassandra.yaml").write_bytes(msgspec.json.encode(self._configuration()))
        (agent,) = self._jars.glob("jamm-*.jar")
        properties = {
            "cassandra.config": f"file://{self.folder}/conf/cassandra.yaml",
            "cassandra.storagedir": f"{self.folder}",
            "cassandra.jmx.local.port": f"{free_port()}",
            "logback.configurationFile": f"{self.folder}/logback.xml",
            "java.net.preferIPv4Stack": "true",
            "jdk.attach.allowAttachSelf": "true",
            "cassandra-foreground": "yes",
            **_QUICK,
            **self._properties,
        }
        heap = (f"-Xms{self._heap}m", f"-Xmx{self._heap}m", "-XX:+ExitOnOutOfMemoryError")
        argv = [str(self._java), *heap, *self._compiling, f"-javaagent:{agent}", f"-XX:ErrorFile={self.folder}/crash"]
        argv += [f"-D{name}={value}" for name, value in properties.items()]
        argv += [*self._classes(), "org.apache.cassandra.service.CassandraDaemon"]
        return ServiceProcess(argv, self.folder)

    def _classes(self) -> list[str]:
        """Java's arguments for running one of Cassandra's programs."""
        argv = [f"--add-exports={name}=ALL-UNNAMED" for name in _EXPORTS.split()]
        argv += [f"--add-opens={name}=ALL-UNNAMED" for name in _OPENS.split()]
        return [*argv, "-cp", f"{self.folder}/conf:{self._jars}/*"]

    def _configuration(self) -> dict[str, Any]:
        storage = free_port()
        first = [{"seeds": f"127.0.0.1:{storage}"}]
        kept = {
            "data_file_directories": [f"{self.folder}/data"],
            "commitlog_directory": f"{self.folder}/commitlog",
            "hints_directory": f"{self.folder}/hints",
            "saved_caches_directory": f"{self.folder}/saved_caches",
            "cdc_raw_directory": f"{self.folder}/cdc_raw",
        }
        return {
            "cluster_name": "waypost tests",
            "num_tokens": 1,
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "endpoint_snitch": "SimpleSnitch",
            "auto_bootstrap": False,
            "auto_snapshot": False,  # a test that empties its tables keeps no copy
            "commitlog_sync": "batch",  # the default, periodic, loses the last 100 ms of a killed process
            "commitlog_segment_size": "16MiB",
            "commitlog_total_space": "256MiB",
            "memtable_heap_space": "128MiB",
            "seed_provider": [{"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": first}],
            "listen_address": self.host,
            "rpc_address": self.host,
            "storage_port": storage,
            "ssl_storage_port": free_port(),
            "native_transport_port": self.port,
            **kept,
            **self._settings,
        }

    def _ready(self, child: ServiceProcess) -> bool:
        if _READY not in child.log:
            return False
        with suppress(OSError), socket.create_connection((self.host, self.port), timeout=1):
            return True  # it announces this just before it listens
        return False


def find_java() -> Path:
    """A Java that Cassandra runs on: JAVA_HOME's, the one on PATH, or one of Debian's."""
    homes = [Path(home) / "bin" / "java" for home in (os.environ.get("JAVA_HOME"),) if home]
    on_path = [Path(found) for found in (shutil.which("java"),) if found]
    for java in (*homes, *on_path, *sorted(JVMS.glob("*/bin/java"))):
        if java.is_file() and _major(java) == JAVA:
            return java
    raise ServiceMissing(f"Cassandra: there is no Java {JAVA} in JAVA_HOME, on PATH or in {JVMS}")


def _major(java: Path) -> int:
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', output)
    return int(found[1]) if found else 0


def fetch_jars() -> Path:
    """The folder with Cassandra's jars, fetched by Maven the first time."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    jars = cache / "waypost" / f"cassandra-{VERSION}"
    if jars.is_dir():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise ServiceMissing("Cassandra: its jars are not cached, and mvn, which downloads them, is not on PATH")
    jars.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=jars.parent) as folder:
        _run_maven(maven, Path(folder))
        try:
            (Path(folder) / "lib").rename(jars)  # whole or not at all
        except OSError:
            if not jars.is_dir():  # another process was faster
                raise
    return jars


def _run_maven(maven: str, folder: Path) -> None:
    (folder / "pom.xml").write_text(_POM)
    wanted = ("dependency:copy-dependencies", f"-DoutputDirectory={folder}/lib")
    try:
        done = subprocess.run(
            [maven, "-q", "-B", *wanted],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=_FETCH_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise ServiceMissing(f"Cassandra: mvn did not download its jars within {_FETCH_TIMEOUT:.0f} s") from None
    if done.returncode or not (folder / "lib").is_dir():
        output = [line for line in done.stdout.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        raise ServiceMissing(f"Cassandra: mvn could not download its jars: {output[0]}")
