"""How the server logs: one line per event on standard error."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog


def configure_logs(level: str, form: str) -> None:
    """One line per event on standard error; nothing that holds a secret is logged."""
    plain = structlog.dev.plain_traceback  # the other one would log variables, and secrets among them
    text = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)
    renderer = structlog.processors.JSONRenderer() if form == "json" else text
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_OurWay()], level=logging.WARNING, force=True)


class _OurWay(logging.Handler):
    """Libraries' log records as one line; with a traceback only for unexpected errors."""

    def emit(self, record: logging.LogRecord) -> None:
        about: dict[str, Any] = {"library": record.name}
        if record.exc_info and record.levelno >= logging.ERROR:
            about["exc_info"] = record.exc_info
        elif record.exc_info:
            about["error"] = repr(record.exc_info[1])
        structlog.get_logger().log(record.levelno, record.getMessage().strip(), **about)
