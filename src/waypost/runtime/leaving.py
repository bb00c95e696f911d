"""How a process ends: at once, and with the code that it has earned."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """Without taking the interpreter down. Everything of ours is closed by now, but a thread of the HTTP client may be
    about to ask for it, and then Python aborts, which has ended 2 of 360 commands on a busy machine.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(code)
