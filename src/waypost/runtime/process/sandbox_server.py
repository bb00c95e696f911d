"""`waypost sandbox`: the simulated Cloud API on a socket of its own."""

from __future__ import annotations

import sys

import uvloop

import waypost
from waypost.adapters.local.clock import SystemClock, SystemIds, SystemRandomSource
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.runtime.process.uvicorn_runner import (
    address,
    listen,
    log_unhandled_errors,
    serve_until,
    stop_signal,
    web_server,
)
from waypost.sandbox import Sandbox, SandboxNumber


def run_sandbox(number: SandboxNumber, port: int) -> None:
    uvloop.run(_serve(number, port))


async def _serve(number: SandboxNumber, port: int) -> None:
    stop = stop_signal()
    log_unhandled_errors()
    sock = listen("127.0.0.1", port)
    url = address(sock)
    wire = ReqwestTransport(f"waypost-sandbox/{waypost.__version__}")
    sandbox = Sandbox(SystemClock(), SystemRandomSource(), SystemIds(), wire, [number], url)
    sys.stdout.write(f"sandbox at {url} with number {number.phone_number_id}; Ctrl-C stops it\n")
    sys.stdout.flush()
    await serve_until(stop, [(web_server(sandbox), sock)], sandbox.close)
