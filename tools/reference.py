"""Writes docs/reference/settings.md, cli.md and statements.md from the code; `--check` reports what is behind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import typer
from typer.main import get_command

from waypost.runtime.cli import app
from waypost.runtime.cli.admin import app as admin
from waypost.runtime.settings.definitions import PREFIX, Settings

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.statements_page import statements_page  # needs the line above

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
_MADE = "<!-- Written by tools/reference.py: change the code, then run it again. -->"
_LIMITS = {"gt": "more than", "ge": "at least", "le": "at most", "lt": "less than"}


_SETTINGS = """\
Set each one as an environment variable, or as a line in `waypost.toml` in the folder where Waypost is started,
in lower case and without the prefix (`outbound_jitter = 0.2`).
The environment wins over the file, the file over the default.
Durations take fractions.
`waypost doctor` checks the settings.
An unknown name in the file is refused.
An unknown name in the environment is reported by the server's log (`unknown_setting`) and by the doctor,
with the name that was probably meant."""

_LOCAL_MODE = """\
In local mode (`WAYPOST_ENV=local`, which `waypost demo` implies):

- a secret key is created and kept beside the database in `waypost.key`;
- `?wait=` never waits;
- `WHATSAPP_PHONE_NUMBER_ID`, `WHATSAPP_API_KEY` and `WHATSAPP_WEBHOOK_SECRET`
  (and optionally `WHATSAPP_WABA_ID`, `WHATSAPP_VERIFY_TOKEN`) connect a number to the one org."""

_COMMANDS = """\
In a clone the command is `.venv/bin/waypost`, which `make run` creates.
Commands find the database by [the settings](settings.md).
`waypost --version` shows the version, `--help` after any command its options.

Exit codes: 0 is success, 1 is failure (one line on standard error says why and what to do),
2 is a wrong command line."""


def settings_page() -> str:
    rows = [_setting(field) for field in msgspec.structs.fields(Settings)]
    table = ["| setting | default | meaning |", "| --- | --- | --- |", *rows]
    return "\n".join(["# Settings", "", _MADE, "", _SETTINGS, "", *table, "", _LOCAL_MODE, ""])


def _setting(field: msgspec.structs.FieldInfo) -> str:
    hint = get_type_hints(Settings, include_extras=True)[field.name]
    (meta,) = hint.__metadata__
    limits = [f"{words} {getattr(meta, limit)}" for limit, words in _LIMITS.items() if getattr(meta, limit) is not None]
    meaning = f"{meta.description} ({', '.join(limits)})" if limits else meta.description
    value = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
    default = f"`{value}`" if value else "none"
    return f"| `{PREFIX}{field.name.upper()}` | {default} | {meaning} |"


def cli_page() -> str:
    parent = typer.Typer(name="waypost")
    parent.registered_commands = list(app.app.registered_commands)
    parent.add_typer(admin.whole())
    return "\n".join(["# Command line", "", _MADE, "", _COMMANDS, "", *_commands(get_command(parent), "waypost")])


def _commands(command: Any, path: str) -> Iterator[str]:
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _commands(inner, f"{path} {name}")
        return
    parameters = [parameter for parameter in command.params if parameter.name != "help"]
    yield from (f"## `{path}{''.join(_usage(p) for p in parameters)}`", "", command.help or "", "")
    if parameters:
        yield from ("| | | default |", "| --- | --- | --- |", *map(_parameter, parameters), "")


def _usage(parameter: Any) -> str:
    name = _name(parameter)
    if parameter.param_type_name == "argument":
        return f" {name}"
    if parameter.required:
        return f" {name} …"
    return ""


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return str(parameter.opts[0])


def _parameter(parameter: Any) -> str:
    required = parameter.required or parameter.param_type_name == "argument"
    default = "required" if required else _default(parameter.default)
    return f"| `{_name(parameter)}` | {parameter.help or ''} | {default} |"


def _default(value: object) -> str:
    return "" if value in (None, False, "") else f"`{value}`"


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "cli.md": cli_page,
    "statements.md": lambda: statements_page(_MADE),
}


def main() -> int:
    behind = [name for name, page in PAGES.items() if _written(FOLDER / name) != page()]
    if "--check" in sys.argv[1:]:
        for name in behind:
            print(f"docs/reference/{name} is behind the code: run `python tools/reference.py`")
        return 1 if behind else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in behind:
        (FOLDER / name).write_text(PAGES[name]())
        print(f"wrote docs/reference/{name}")
    return 0


def _written(file: Path) -> str:
    return file.read_text() if file.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
