"""How a process ends: at once, and with the code that it has earned."""

from __future__ import annotations

import os
import sys
from typing import NoReturn, TextIO


def leave(code: int) -> NoReturn:
    """Without taking the interpreter down. Everything of ours is closed by now, but a thread of the HTTP client may be
    about to ask for it, and then Python aborts, which has ended 2 of 360 commands on a busy machine.
    """
    unsaid = _unsaid(sys.stdout)
    if unsaid is not None:
        sys.stderr.write(f"waypost: what was to be printed is lost: {unsaid.strerror}\n")
    _unsaid(sys.stderr)
    os._exit(code or (1 if unsaid is not None else 0))


def _unsaid(stream: TextIO | None) -> OSError | None:
    """Why what was said did not get out; that nobody listens any more is no fault."""
    try:
        if stream is not None and not stream.closed:
            stream.flush()
    except BrokenPipeError:
        return None
    except OSError as error:
        return error
    return None
