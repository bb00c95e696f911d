"""The command line. Errors are one line that says what to do; the exit code is 1 for them and 2 for wrong usage."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import typer
import typer.main
from typer.core import TyperGroup

import waypost
from waypost.ports.failure import LedgerError
from waypost.runtime.leaving import leave
from waypost.runtime.settings import Settings, SettingsError, load

T = TypeVar("T")


class Commands(TyperGroup):
    """`admin` has more commands than all the others: they are loaded when somebody asks for them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), "admin"]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name != "admin":
            return super().get_command(ctx, cmd_name)
        from waypost.runtime import admin  # noqa: PLC0415

        return typer.main.get_command(admin.whole())


app = typer.Typer(
    name="waypost",
    cls=Commands,
    help="A WhatsApp Business messaging server. `waypost demo` shows it on this machine in a second.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


class Failed(Exception):
    """The command could not be carried out; the message says why and what to do."""


def main() -> NoReturn:
    """Run the command line; whatever users can cause ends in one line on standard error."""
    try:
        code = app(standalone_mode=False)
    except (SettingsError, LedgerError, Failed) as failure:
        sys.stderr.write(f"waypost: {failure}\n")
        code = 1
    except OSError as failure:
        sys.stderr.write(f"waypost: {failure.filename or 'a file'}: {failure.strerror or failure}\n")
        code = 1
    except UsageError as wrong:
        code = _usage(wrong)
    leave(code or 0)


UsageError: Any = typer.BadParameter.__bases__[0]  # typer carries a click of its own, and names only this one of it


def _usage(wrong: Any) -> int:
    """One line; a group without its command has shown its help already, and says nothing more."""
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
    from waypost.runtime.telemetry import configure_logs  # noqa: PLC0415  # prometheus is not needed by every command

    configure_logs(settings.log_level, settings.log_format)
    return settings


def tell_misspelt(environment: Mapping[str, str]) -> None:
    """Once, by whoever starts the others: a setting that nobody reads is otherwise not missed."""
    import structlog  # noqa: PLC0415  # only a server says so

    from waypost.runtime.misspelt import misspelt  # noqa: PLC0415

    for name, nearest in misspelt(environment):
        structlog.get_logger("server").warning("unknown_setting", name=name, nearest=nearest)


@app.command()
def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the server listens; 0 takes a free port.")] = 8080,
    sandbox_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where the sandbox listens; 0 takes a free port.")
    ] = 8081,
    data: Annotated[Path, typer.Option(help="Folder for the database and the demo's keys.")] = Path("data"),
    json: Annotated[
        bool, typer.Option("--json", help="Print URLs and keys as one JSON object on the first line.")
    ] = False,
) -> None:
    """Server, sandbox and a demo org in one process, on SQLite unless WAYPOST_DATABASE_URL names another."""
    import uvloop  # noqa: PLC0415

    from waypost.runtime.demo import DemoPlace, demo, demo_settings  # noqa: PLC0415
    from waypost.runtime.serving import CannotListen  # noqa: PLC0415

    settings = demo_settings(load(), data)
    logged(Settings(log_level="warning", log_format="text") if settings.log_format == "json" else settings)
    tell_misspelt(os.environ)
    try:
        uvloop.run(demo(settings, DemoPlace(port=port, sandbox_port=sandbox_port, data=data, as_json=json)))
    except CannotListen as failure:
        raise Failed(str(failure)) from failure


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8080,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Processes behind the port, under a supervisor; without it one, alone."),
    ] = None,
    roles: Annotated[
        list[str],
        typer.Option(
            help="What they do: any of api, worker, gateway, with `=N` so many processes. Again for others beside "
            "them: `--roles api,gateway=2 --roles worker=3`."
        ),
    ] = ["api,worker,gateway"],  # noqa: B006  # typer reads it, nobody writes
) -> None:
    """The server. Brings a SQLite schema up to date by itself; for PostgreSQL run `waypost migrate` first.

    SIGTERM stops it. With several processes SIGHUP renews them one by one, without a lost request.
    """
    from waypost.runtime.serving import CannotListen, listen  # noqa: PLC0415

    settings = logged(load())
    tell_misspelt(os.environ)
    groups = _groups(roles, workers)
    alone = workers is None and len(groups) == 1 and "=" not in roles[0]
    if not alone:
        _check_before_start(settings)
    try:
        sock = listen(host, port)
    except CannotListen as failure:
        raise Failed(str(failure)) from failure
    if alone:
        from waypost.runtime.serve import serve_blocking  # noqa: PLC0415  # a supervisor needs none of it

        serve_blocking(settings, sock, groups[0].roles)
        return
    from waypost.runtime.supervisor import Supervisor  # noqa: PLC0415

    raise typer.Exit(asyncio.run(Supervisor(sock, groups).run()))


def _groups(texts: list[str], count: int | None) -> Any:
    from waypost.runtime.roles import WrongRoles, parse  # noqa: PLC0415

    try:
        return parse(texts, count)
    except WrongRoles as wrong:
        raise Failed(str(wrong)) from None


def _check_before_start(settings: Settings) -> None:
    """What would stop every child is said once, before any is started."""
    from waypost.runtime.wiring import open_vault, system_ports  # noqa: PLC0415

    open_vault(settings)

    async def opened() -> None:
        ports = await system_ports(settings, answering=True, serving=True)
        await ports.close()

    asyncio.run(opened())


@app.command()
def sandbox(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8081,
    phone_number_id: Annotated[str, typer.Option(help="Id of its number.")] = "106540352242922",
    waba_id: Annotated[str, typer.Option(help="Id of the business account.")] = "102290129340398",
    token: Annotated[str, typer.Option(help="The bearer token it takes.")] = "sandbox-token",  # noqa: S107  # a toy's default
    app_secret: Annotated[str, typer.Option(help="What it signs webhooks with.")] = "sandbox-secret",  # noqa: S107
    verify_token: Annotated[str, typer.Option(help="What it asks a webhook for.")] = "sandbox-verify",  # noqa: S107
    webhook_url: Annotated[str | None, typer.Option(help="Where it posts webhooks.")] = None,
) -> None:
    """The Cloud API look-alike alone, for your own tests."""
    from waypost.runtime.sandbox_server import run_sandbox  # noqa: PLC0415
    from waypost.runtime.serving import CannotListen  # noqa: PLC0415
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
        raise Failed(str(failure)) from failure


@app.command()
def migrate() -> None:
    """Bring the schema up to date: the database's, and the Log's, where one is named. Makes the Log's keyspace."""
    from waypost.runtime import wiring  # noqa: PLC0415

    applied = asyncio.run(wiring.migrate(load()))
    sys.stdout.write("".join(f"applied {name}\n" for name in applied) or "the schema is up to date\n")


@app.command()
def why(message_id: Annotated[int, typer.Argument(min=1, max=2**63 - 1, help="The message's id.")]) -> None:
    """The whole life of one message: rules that decided, attempts, provider replies, statuses."""
    from waypost.runtime.explain import explain  # noqa: PLC0415

    with_world(lambda world: explain(message_id, world), existing=True)


@app.command()
def turns(
    org: Annotated[str | None, typer.Argument(metavar="ORG", help="The org's id; all of them without it.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Those that were given up.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Who is being answered by the bot, since when, and who waits."""
    from waypost.runtime.turns_table import list_turns  # noqa: PLC0415

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
    """Send a CSV file, one message per row. Run it again after an interruption: no row is sent twice."""
    from waypost.runtime import bulk  # noqa: PLC0415

    rows = bulk.read_rows(file)
    count = with_world(lambda world: bulk.send(org, file, rows, world, dry_run=dry_run), existing=True)
    raise typer.Exit(bulk.report(count, dry_run=dry_run))


@app.command()
def doctor(json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Check the configuration and every connected service, and say what to fix; 1 when something is wrong."""
    from waypost.runtime.doctor import examine  # noqa: PLC0415

    _only_errors()
    raise typer.Exit(asyncio.run(examine(as_json=json)))


@app.command()
def simulate(
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds to run.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Run just this seed and show what happened.")] = None,
    hours: Annotated[float, typer.Option(min=0.01, help="Simulated hours per seed.")] = 1.0,
    story: Annotated[
        Literal["sending", "talking", "following"] | None,
        typer.Option(
            help="Only callers who send, only customers and a bot, or only people on their devices; else all."
        ),
    ] = None,
) -> None:
    """The whole server in simulated time under faults; prints the invariants' verdict and the seed that breaks one."""
    from waypost.runtime.simulation.command import run  # noqa: PLC0415

    raise typer.Exit(run(seeds=seeds, seed=seed, hours=hours, story=story))


def _only_errors() -> None:
    """What a command prints is its answer, and a script may read it: that Redis is away is no part of it."""
    from waypost.runtime.telemetry import configure_logs  # noqa: PLC0415

    configure_logs("error", "text")


def with_world(use: Callable[[Any], Awaitable[T]], *, existing: bool = False) -> T:
    """Open the ledger that the settings name, use it, close it; `existing` makes no new one."""
    from waypost.runtime.reaching import say_last_words  # noqa: PLC0415
    from waypost.runtime.telemetry import Telemetry  # noqa: PLC0415
    from waypost.runtime.wiring import LateVault, as_the_demo, build_world, sqlite_path, system_ports  # noqa: PLC0415

    _only_errors()
    settings = as_the_demo(load())
    path = sqlite_path(settings.database_url)
    if existing and path is not None and not path.exists():
        raise Failed(f"there is no database at {path}: go to its folder, or name it in WAYPOST_DATABASE_URL")

    async def used() -> T:
        ports = await system_ports(settings, LateVault(settings))
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
            await say_last_words(ports.redis)
            ports.hints.close()
            await ports.close()

    return asyncio.run(used())
