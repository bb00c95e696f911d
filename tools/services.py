"""Install the services that the tests need: find each on this machine, else install it where root and apt allow."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from waypost_testing.services.cassandra import fetch_jars, find_java
from waypost_testing.services.processes import ServiceMissing, find_program


class Service(NamedTuple):
    name: str
    program: str
    debian: str
    """The package that holds the program."""


SERVICES = (
    Service("PostgreSQL", "postgres", "postgresql"),
    Service("Redis", "redis-server", "redis-server"),
    Service("Java for Cassandra", "java", "openjdk-17-jdk-headless"),
    Service("Maven for Cassandra", "mvn", "maven"),
    Service("PgBouncer", "pgbouncer", "pgbouncer"),
    Service("libfaketime", "faketime", "faketime"),
    Service("Chromium for the page", "chromium", "chromium"),
)

# During an install: only the programs are wanted, not daemons that run beside the tests.
NO_DAEMONS = {
    Path("/usr/sbin/policy-rc.d"): "#!/bin/sh\nexit 101\n",
    Path("/etc/postgresql-common/createcluster.d/waypost-tests.conf"): "create_main_cluster = false\n",
}


def main() -> None:
    missing = [service for service in SERVICES if find(service) is None]
    trouble = install(missing) if missing else {}
    for service in SERVICES:
        print(f"{service.name}: {find(service) or f'missing, so its tests skip: {trouble[service]}'}")
    print(f"Cassandra: {jars()}")


def find(service: Service) -> Path | None:
    """Cassandra needs one version of Java, whichever others are installed."""
    if service.program != "java":
        return find_program(service.program)
    try:
        return find_java()
    except ServiceMissing:
        return None


def jars() -> str:
    try:
        return f"{fetch_jars()}"
    except ServiceMissing as missing:
        return f"missing, so its tests skip: {missing}"


def install(services: Sequence[Service]) -> dict[Service, str]:
    """Why each could not be installed; empty for an installed one."""
    if not shutil.which("apt-get"):
        return {service: f"there is no apt-get to install {service.debian} with" for service in services}
    if os.geteuid() != 0:
        return {service: f"only root may run apt-get install {service.debian}" for service in services}
    with no_daemons():
        apt("update")  # if only some lists could be fetched, the installs will show it
        return {service: fetch(service) for service in services}


def fetch(service: Service) -> str:
    print(f"{service.name}: installing {service.debian}", flush=True)
    return apt("install", "--yes", "--no-install-recommends", service.debian)


def apt(*arguments: str) -> str:
    """The last lines of its output if it failed."""
    command = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    except subprocess.TimeoutExpired:
        return f"apt-get {arguments[0]} took more than 10 minutes"
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return f"apt-get {arguments[0]}: {lines[-1]}" if done.returncode else ""


@contextmanager
def no_daemons() -> Iterator[None]:
    written = [path for path in NO_DAEMONS if not path.exists()]
    for path in written:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(NO_DAEMONS[path])
        path.chmod(0o755)
    try:
        yield
    finally:
        for path in written:
            path.unlink()


if __name__ == "__main__":
    main()
