"""`waypost sandbox`: the Cloud API look-alike on a socket of its own."""

from __future__ import annotations

import sys

import uvloop

import waypost
from waypost.adapters.local.clock import SystemClock, SystemDice, SystemIds
from waypost.adapters.reqwest.wire import ReqwestWire
from waypost.runtime.serving import address, listen, serve_until, show_bugs, stop_signal, web_server
from waypost.sandbox import Sandbox, SandboxNumber


def run_sandbox(number: SandboxNumber, port: int) -> None:
    uvloop.run(_serve(number, port))


async def _serve(number: SandboxNumber, port: int) -> None:
    told = stop_signal()
    show_bugs()
    sock = listen("127.0.0.1", port)
    url = address(sock)
    wire = ReqwestWire(f"waypost-sandbox/{waypost.__version__}")
    sandbox = Sandbox(SystemClock(), SystemDice(), SystemIds(), wire, [number], url)
    sys.stdout.write(f"sandbox at {url} with number {number.phone_number_id}; Ctrl-C stops it\n")
    sys.stdout.flush()
    await serve_until(told, [(web_server(sandbox), sock)], sandbox.close)
