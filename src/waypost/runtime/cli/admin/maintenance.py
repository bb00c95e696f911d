"""`waypost admin backup`, `restored` and `copy`: the database as a whole."""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from waypost.adapters.local.clock import SystemClock
from waypost.adapters.sql.engine.upkeep import RESTORED, RestoreOptions, RestoreResult
from waypost.adapters.sqlite import backup as sqlite_backup
from waypost.runtime.cli.app import CommandFailed
from waypost.runtime.cli.tables import JsonOption, show
from waypost.runtime.settings.addresses import check_postgres
from waypost.runtime.settings.definitions import Settings, load
from waypost.runtime.wiring.wiring import LOCAL_KEY, media_folder, sqlite_path, with_demo_settings

_POSTGRES = ("postgresql://", "postgres://")
_HOW_TO = "docs/how-to/back-up-and-restore.md"


def register(app: typer.Typer) -> None:
    for command in (backup, restored, copy):
        app.command()(command)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist yet.")],
) -> None:
    """Back up a SQLite database while servers use it, and list what else belongs to a backup."""
    settings = with_demo_settings(load())
    path = _existing_file(settings)
    if file.exists():
        raise CommandFailed(f"{file} exists already: a backup never replaces another")
    if not file.parent.is_dir():
        raise CommandFailed(f"there is no folder {file.parent}: make it first")
    size = sqlite_backup.back_up(path, file)
    sys.stdout.write(f"{path} copied to {file}, {size} bytes, checked\n{_also(settings)}")


def _existing_file(settings: Settings) -> Path:
    path = sqlite_path(settings.database_url)
    if path is None:
        raise CommandFailed(f"PostgreSQL has tools of its own for this, pg_dump and pg_restore: see {_HOW_TO}")
    if not path.exists():
        raise CommandFailed(f"there is no database at {path}: change to its folder, or set WAYPOST_DATABASE_URL")
    return path


def _also(settings: Settings) -> str:
    """What is not in the database; never shows a key."""
    media = media_folder(settings)
    files = sum(1 for each in media.rglob("*") if each.is_file()) if media.is_dir() else 0
    path = sqlite_path(settings.database_url)
    beside = path.with_name(LOCAL_KEY) if path else None
    kept = f"in {beside}" if beside and beside.exists() and not settings.secret_key else "WAYPOST_SECRET_KEY"
    history = (
        "also keep: a snapshot of the history store, taken after this: older messages are only there\n"
        if settings.history_url
        else ""
    )
    return (
        f"also keep: the folder {media} ({files} files of customers)\n{history}"
        f"also keep, in another place: the key ({kept}), without which the numbers must be connected again\n"
    )


def restored(
    hold: Annotated[
        bool,
        typer.Option("--hold", help="Hold every message that was queued when the backup was taken, for you to decide."),
    ] = False,
    skip_ids: Annotated[
        int,
        typer.Option(help="Ids to skip: more than the messages stored since the backup.", min=0, max=10**15),
    ] = 1_000_000,
    json: JsonOption = False,
) -> None:
    """Mark this database as restored from a backup, or as in use again after it was copied to another.

    Devices reload everything, and ids are not used twice.
    """
    settings = with_demo_settings(load())
    restoring = RestoreOptions(now=SystemClock().now(), token=secrets.token_hex(4), ids=skip_ids, hold=hold)
    done = asyncio.run(_restored(settings, restoring))
    facts = {"devices": str(done.devices), "ids_left_out": str(skip_ids)}
    if hold:
        facts |= {
            "messages_held": str(done.held),
            "sends_parked": str(done.parked),
            "turns_handed_over": str(done.turns),
        }
    show(facts, as_json=json)
    if done.held and not json:
        sys.stdout.write(f"what was not sent since goes with `waypost admin replay ORG --error-code {RESTORED}`\n")


async def _restored(settings: Settings, restoring: RestoreOptions) -> RestoreResult:
    if sqlite_path(settings.database_url) is not None:
        return await asyncio.to_thread(sqlite_backup.restore, _existing_file(settings), restoring)
    from waypost.adapters.postgres import copy_target  # noqa: PLC0415  # only for PostgreSQL

    return await copy_target.restore(settings.database_url, restoring)


def copy(
    to: Annotated[str, typer.Option("--to", help="The target: postgresql://…, empty and migrated.")],
    batch: Annotated[int, typer.Option(help="Rows per batch.", min=1, max=100_000)] = 2000,
    anew: Annotated[
        bool, typer.Option("--anew", help="Delete what an unfinished copy left there, and start again.")
    ] = False,
) -> None:
    """Copy the database into PostgreSQL. Stop the servers first. After an interruption, run it again to continue."""
    if not to.startswith(_POSTGRES):
        raise CommandFailed("--to takes the address of a PostgreSQL database: postgresql://USER:PASSWORD@HOST/DATABASE")
    check_postgres(to, "--to")
    settings = with_demo_settings(load())
    if to == settings.database_url:
        raise CommandFailed("--to is the source itself: WAYPOST_DATABASE_URL must be the database to copy from")
    from waypost.runtime.cli.admin import copying  # noqa: PLC0415  # only this command needs both databases

    try:
        done = asyncio.run(copying.copy(settings, to, batch=batch, anew=anew))
    except KeyboardInterrupt:
        raise CommandFailed("interrupted: run the same command again to continue") from None
    whole = sum(each.rows for each in done.sums.values())
    how = "the rest of an earlier run " if done.resumed else ""
    sys.stdout.write(
        f"copied {how}and compared: {len(done.sums)} tables, {whole} rows, counts and hashes are the same\n"
        "next: name the target in WAYPOST_DATABASE_URL and start the server; none starts on the old database any more\n"
        f"{_also(settings)}"
    )
