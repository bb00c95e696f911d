"""The command line: an error is one line that says what to do, with exit code 1, or 2 for wrong usage."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
import typer.main
from typer.core import TyperGroup

import waypost
from waypost.ports.platform.failure import LedgerError
from waypost.runtime.process.exiting import exit_now
from waypost.runtime.settings.definitions import Settings, SettingsError, load

T = TypeVar("T")


class Commands(TyperGroup):
    """Loads the many `admin` commands only when they are used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), "admin"]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name != "admin":
            return super().get_command(ctx, cmd_name)
        from waypost.runtime.cli.admin import app  # noqa: PLC0415

        return typer.main.get_command(app.whole())


app = typer.Typer(
    name="waypost",
    cls=Commands,
    help="A WhatsApp Business messaging server. `waypost demo` shows it on this machine in a second.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


class CommandFailed(Exception):
    """The command failed; the message says why and what to do."""


def main() -> NoReturn:
    """Run the command line; errors that users can cause end in one line on standard error."""
    try:
        code = app(standalone_mode=False)
    except (SettingsError, LedgerError, CommandFailed) as failure:
        sys.stderr.write(f"waypost: {failure}\n")
        code = 1
    except OSError as failure:
        sys.stderr.write(f"waypost: {failure.filename or 'a file'}: {failure.strerror or failure}\n")
        code = 1
    except UsageError as wrong:
        code = _usage(wrong)
    exit_now(code or 0)


UsageError: Any = typer.BadParameter.__bases__[0]  # typer bundles click and exports only this class of it


def _usage(wrong: Any) -> int:
    """One line; nothing for a group without a command, which has printed its help."""
    if message := wrong.format_message():
        command = wrong.ctx.command_path if wrong.ctx else "waypost"
        sys.stderr.write(f"waypost: {message.rstrip('.')}: see `{command} --help`\n")
    return 2


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"waypost {waypost.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def logged(settings: Settings) -> Settings:
    from waypost.runtime.telemetry.logs import configure_logs  # noqa: PLC0415  # not every command logs

    configure_logs(settings.log_level, settings.log_format)
    return settings


def warn_unknown_settings(environment: Mapping[str, str]) -> None:
    """Warns once, in the parent process: an unknown setting would otherwise go unnoticed."""
    import structlog  # noqa: PLC0415  # only a server warns

    from waypost.runtime.settings.unknown_settings import unknown_settings  # noqa: PLC0415

    for name, nearest in unknown_settings(environment):
        structlog.get_logger("server").warning("unknown_setting", name=name, nearest=nearest)


@app.command()
def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the server; 0 takes a free one.")] = 8080,
    sandbox_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the sandbox; 0 takes a free one.")
    ] = 8081,
    data: Annotated[Path, typer.Option(help="Folder for the database and the demo's keys.")] = Path("data"),
    json: Annotated[
        bool, typer.Option("--json", help="Print URLs and keys as one JSON object on the first line.")
    ] = False,
) -> None:
    """Run server, sandbox and a demo org in one process, on SQLite unless WAYPOST_DATABASE_URL is set."""
    import uvloop  # noqa: PLC0415

    from waypost.runtime.cli.demo import DemoOptions, demo, demo_settings  # noqa: PLC0415
    from waypost.runtime.process.uvicorn_runner import CannotListen  # noqa: PLC0415

    settings = demo_settings(load(), data)
    logged(Settings(log_level="warning", log_format="text") if settings.log_format == "json" else settings)
    warn_unknown_settings(os.environ)
    try:
        uvloop.run(demo(settings, DemoOptions(port=port, sandbox_port=sandbox_port, data=data, as_json=json)))
    except CannotListen as failure:
        raise CommandFailed(str(failure)) from failure


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8080,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Processes behind the port, under a supervisor; by default one, without it."),
    ] = None,
    roles: Annotated[
        list[str],
        typer.Option(
            help="Their roles: any of api, worker, gateway; `=N` starts N processes. Repeat it for other processes: "
            "`--roles api,gateway=2 --roles worker=3`."
        ),
    ] = ["api,worker,gateway"],  # noqa: B006  # typer only reads it
) -> None:
    """Run the server. Migrates a SQLite database by itself; for PostgreSQL run `waypost migrate` first.

    SIGTERM stops it. With several processes, SIGHUP restarts them one by one without losing a request.
    """
    from waypost.runtime.process.uvicorn_runner import CannotListen, listen_when_free  # noqa: PLC0415

    settings = logged(load())
    warn_unknown_settings(os.environ)
    groups = _groups(roles, workers)
    alone = workers is None and len(groups) == 1 and "=" not in roles[0]
    if not alone:
        _check_before_start(settings)
    _check_connections(settings, sum(group.count for group in groups))
    try:
        sock = listen_when_free(host, port)
    except CannotListen as failure:
        raise CommandFailed(str(failure)) from failure
    if alone:
        from waypost.runtime.process.serve import serve_blocking  # noqa: PLC0415  # a supervisor does not need it

        serve_blocking(settings, sock, groups[0].roles)
        return
    from waypost.runtime.process.supervisor import Supervisor  # noqa: PLC0415

    raise typer.Exit(asyncio.run(Supervisor(sock, groups).run()))


def _groups(texts: list[str], count: int | None) -> Any:
    from waypost.runtime.settings.roles import WrongRoles, parse  # noqa: PLC0415

    try:
        return parse(texts, count)
    except WrongRoles as wrong:
        raise CommandFailed(str(wrong)) from None


def _check_before_start(settings: Settings) -> None:
    """Reports what would stop every child once, before any is started."""
    from waypost.runtime.wiring.wiring import open_vault, system_ports  # noqa: PLC0415

    open_vault(settings)

    async def opened() -> None:
        ports = await system_ports(settings, answering=True, serving=True)
        await ports.close()

    asyncio.run(opened())


def _check_connections(settings: Settings, processes: int) -> None:
    """Warns if the processes could not open all their connections, and refuses if not every one could open one."""
    from waypost.runtime.wiring.wiring import sqlite_path  # noqa: PLC0415

    if sqlite_path(settings.database_url) is not None:
        return
    import structlog  # noqa: PLC0415  # only a server warns

    from waypost.adapters.postgres.facts import connections_left  # noqa: PLC0415
    from waypost.runtime.doctor.database import fits  # noqa: PLC0415
    from waypost.runtime.doctor.findings import FindingLevel  # noqa: PLC0415

    left = asyncio.run(connections_left(settings.database_url))
    finding = None if left is None else fits(left, processes, settings.database_readers)
    if finding is not None and finding.level is FindingLevel.WRONG:
        raise CommandFailed(f"{finding.text}: {finding.remedy}")
    if finding is not None:
        structlog.get_logger("server").warning("too_few_connections", what=finding.text, remedy=finding.remedy)


@app.command()
def sandbox(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8081,
    phone_number_id: Annotated[str, typer.Option(help="Its phone number id.")] = "106540352242922",
    waba_id: Annotated[str, typer.Option(help="Its business account id.")] = "102290129340398",
    token: Annotated[str, typer.Option(help="The bearer token it accepts.")] = "sandbox-token",  # noqa: S107  # a toy's default
    app_secret: Annotated[str, typer.Option(help="The secret it signs webhooks with.")] = "sandbox-secret",  # noqa: S107
    verify_token: Annotated[str, typer.Option(help="The token it verifies a webhook with.")] = "sandbox-verify",  # noqa: S107
    webhook_url: Annotated[str | None, typer.Option(help="The URL it sends webhooks to.")] = None,
) -> None:
    """Run only the sandbox, a simulated Cloud API, for your own tests."""
    from waypost.runtime.process.sandbox_server import run_sandbox  # noqa: PLC0415
    from waypost.runtime.process.uvicorn_runner import CannotListen  # noqa: PLC0415
    from waypost.sandbox import SandboxNumber  # noqa: PLC0415

    logged(Settings(log_level="warning", log_format="text"))
    number = SandboxNumber(
        phone_number_id=phone_number_id,
        waba_id=waba_id,
        token=token,
        app_secret=app_secret,
        verify_token=verify_token,
        webhook_url=webhook_url,
    )
    try:
        run_sandbox(number, port)
    except CannotListen as failure:
        raise CommandFailed(str(failure)) from failure


@app.command()
def migrate() -> None:
    """Migrate the database, and the history store if one is set, whose keyspace is created if needed."""
    from waypost.runtime.wiring import wiring  # noqa: PLC0415

    applied = asyncio.run(wiring.migrate(load()))
    sys.stdout.write("".join(f"applied {name}\n" for name in applied) or "the schema is up to date\n")


@app.command()
def why(message_id: Annotated[int, typer.Argument(min=1, max=2**63 - 1, help="The message's id.")]) -> None:
    """Show everything about one message: rules applied, attempts, provider responses, statuses."""
    from waypost.runtime.cli.why import explain  # noqa: PLC0415

    with_world(lambda world: explain(message_id, world), existing=True)


@app.command()
def turns(
    org: Annotated[str | None, typer.Argument(metavar="ORG", help="The org's id; by default all orgs.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Show failed turns.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show which conversations the bot is answering, since when, and which are waiting."""
    from waypost.runtime.cli.turns_table import list_turns  # noqa: PLC0415

    with_world(lambda world: list_turns(org, world, failed=failed, as_json=json), existing=True)


@app.command()
def send(
    org: Annotated[str, typer.Argument(metavar="ORG", help="The org's id.")],
    file: Annotated[
        Path,
        typer.Option(
            "--csv",
            exists=True,
            dir_okay=False,
            readable=True,
            help="Columns: to; text, or templateCode, language, body1, body2 …, or payloadJson; and from, priority, "
            "scheduledAt, expiresAt, ordered, maxAttempts, dossierId, subject, channel, idempotencyKey.",
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check every row, store nothing.")] = False,
) -> None:
    """Send a CSV file, one message per row. After an interruption, run it again: no row is sent twice."""
    from waypost.runtime.cli import send_csv  # noqa: PLC0415

    rows = send_csv.read_rows(file)
    count = with_world(lambda world: send_csv.send(org, file, rows, world, dry_run=dry_run), existing=True)
    raise typer.Exit(send_csv.report(count, dry_run=dry_run))


@app.command()
def doctor(json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Check the configuration and every service, and say what to fix; exits with 1 if something is wrong."""
    from waypost.runtime.doctor.examine import examine  # noqa: PLC0415

    _only_errors()
    raise typer.Exit(asyncio.run(examine(as_json=json)))


class SimulatedStory(StrEnum):
    SENDING = "sending"
    TALKING = "talking"
    FOLLOWING = "following"


@app.command()
def simulate(
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds to run.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Run only this seed and show its trace.")] = None,
    hours: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            help="How long each seed injects faults, in simulated hours, before it comes to rest; "
            "by default 0.4 in sending, 0.06 in talking and 0.03 in following.",
        ),
    ] = None,
    story: Annotated[
        list[SimulatedStory] | None,
        typer.Option(
            help="Only callers who send, only customers and a bot, or only people on their devices; else all. "
            "May be given several times."
        ),
    ] = None,
    summary: Annotated[Path | None, typer.Option(help="Also write the report to this file, as Markdown.")] = None,
) -> None:
    """Run the whole server in simulated time under faults; prints simulated hours, faults, checks and violations."""
    run = _from_test_kit("simulate")
    raise typer.Exit(run(seeds=seeds, seed=seed, hours=hours, stories=story, summary=summary))


def _from_test_kit(command: str) -> Callable[..., int]:
    """The server does not import its test kit, which registers its commands as entry points."""
    from importlib.metadata import entry_points  # noqa: PLC0415

    try:
        (found,) = entry_points(group="waypost.commands", name=command)
        run: Callable[..., int] = found.load()
    except (ImportError, ValueError) as error:
        raise CommandFailed(
            f"`waypost {command}` needs the test kit: install Waypost with the extra `testing` ({error})"
        ) from error
    return run


def _only_errors() -> None:
    """Keeps log lines, e.g. about Redis, out of a command's output, which scripts may read."""
    from waypost.runtime.telemetry.logs import configure_logs  # noqa: PLC0415

    configure_logs("error", "text")


def with_world(use: Callable[[Any], Awaitable[T]], *, existing: bool = False) -> T:
    """Open the Ledger of the settings, use it and close it; with `existing`, a missing database is an error."""
    from waypost.runtime.telemetry.telemetry import Telemetry  # noqa: PLC0415
    from waypost.runtime.wiring.hint_transports import flush_hints  # noqa: PLC0415
    from waypost.runtime.wiring.wiring import LazyVault, build_world, sqlite_path, system_ports, with_demo_settings  # noqa: PLC0415

    _only_errors()
    settings = with_demo_settings(load())
    path = sqlite_path(settings.database_url)
    if existing and path is not None and not path.exists():
        raise CommandFailed(f"there is no database at {path}: change to its folder, or set WAYPOST_DATABASE_URL")

    async def used() -> T:
        ports = await system_ports(settings, LazyVault(settings))
        try:
            world = build_world(
                ports,
                settings.tuning(),
                Telemetry(),
                graph_url=settings.graph_url,
                graph_timeout=settings.graph_timeout_sec,
            )
            return await use(world)
        finally:
            await flush_hints(ports.redis)
            ports.hints.close()
            await ports.close()

    return asyncio.run(used())
