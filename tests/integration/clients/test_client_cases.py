"""Every client does what docs/reference/client-behaviour.md says: the table of cases, through the hostile proxy."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.stage.client_play import Api, Stage
from tests.integration.stage.client_server import Served, a_server
from tests.integration.stage.client_steps import STEPS
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost_testing.services.hostile_proxy import HostileProxy

ROOT = Path(__file__).parents[3]
TABLE: dict[str, Any] = json.loads((ROOT / "clients" / "cases.json").read_text())
CASES: list[dict[str, Any]] = TABLE["played"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with a_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module", params=["python", "typescript"])
def command(request: pytest.FixtureRequest) -> list[str]:
    """Starts the client's driver."""
    if request.param == "python":
        return [sys.executable, "-m", "waypost.client.driver"]
    tool = ROOT / "tools" / "node.py"
    if not tool.exists():
        pytest.skip("clients/typescript is not here: there is no tools/node.py to build it")
    node = runpy.run_path(str(tool))
    try:
        found: list[str] = node["driver"]()
    except node["NodeMissing"] as missing:
        pytest.skip(str(missing))
    return found


@asynccontextmanager
async def a_stage(served: Served, command: list[str], case: dict[str, Any], folder: Path) -> AsyncIterator[Stage]:
    wire = ReqwestTransport("cases")
    api = Api(served.url, wire)
    me, other = await api.person(served.admin_key, "me"), await api.person(served.admin_key, "other")
    rooms = {}
    for name, kind in (("room", "group"), ("side", "direct")):
        opening = {"kind": kind, "members": [me.user_id]} | ({"title": name} if kind == "group" else {})
        rooms[name] = (await api.ask("POST", "/conversations", other.token, opening))["conversation_id"]
    async with HostileProxy("127.0.0.1", served.port) as proxy:
        timing = {**TABLE["timing"], **case.get("timing", {})}
        stage = Stage(api, served.admin_key, proxy, me, other, rooms, timing, command, folder)
        try:
            yield stage
        finally:
            await stage.end()
            await wire.close()


@pytest.mark.may_block("starts processes")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
async def test_a_case(served: Served, command: list[str], case: dict[str, Any], tmp_path: Path) -> None:
    async with a_stage(served, command, case, tmp_path) as stage:
        for n, step in enumerate(case["steps"]):
            verb = next(verb for verb in STEPS if verb in step)
            try:
                await STEPS[verb](stage, step)
            except AssertionError as failed:
                raise AssertionError(f"step {n}, {step}: {failed}") from failed
