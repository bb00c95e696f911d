"""`waypost admin backup`, `restored` and `copy`: the database as a whole, and what belongs to it."""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from waypost.adapters.local.clock import SystemClock
from waypost.adapters.sql.upkeep import RESTORED, Restored, Restoring
from waypost.adapters.sqlite import whole_file
from waypost.runtime.addresses import check_postgres
from waypost.runtime.cli import Failed
from waypost.runtime.settings import Settings, load
from waypost.runtime.tables import Json, show
from waypost.runtime.wiring import LOCAL_KEY, as_the_demo, media_folder, sqlite_path

_POSTGRES = ("postgresql://", "postgres://")
_HOW_TO = "docs/how-to/back-up-and-restore.md"


def register(app: typer.Typer) -> None:
    for command in (backup, restored, copy):
        app.command()(command)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; it must not exist yet.")],
) -> None:
    """Copy a SQLite database while servers use it, and say what else belongs to a backup."""
    settings = as_the_demo(load())
    path = _existing_file(settings)
    if file.exists():
        raise Failed(f"{file} exists already: a backup never replaces another")
    if not file.parent.is_dir():
        raise Failed(f"there is no folder {file.parent}: make it first")
    size = whole_file.back_up(path, file)
    sys.stdout.write(f"{path} copied to {file}, {size} bytes, checked\n{_also(settings)}")


def _existing_file(settings: Settings) -> Path:
    path = sqlite_path(settings.database_url)
    if path is None:
        raise Failed(f"PostgreSQL has tools of its own for this, pg_dump and pg_restore: see {_HOW_TO}")
    if not path.exists():
        raise Failed(f"there is no database at {path}: go to its folder, or name it in WAYPOST_DATABASE_URL")
    return path


def _also(settings: Settings) -> str:
    """What is not in the database; a key is never shown."""
    media = media_folder(settings)
    files = sum(1 for each in media.rglob("*") if each.is_file()) if media.is_dir() else 0
    path = sqlite_path(settings.database_url)
    beside = path.with_name(LOCAL_KEY) if path else None
    kept = f"in {beside}" if beside and beside.exists() and not settings.secret_key else "WAYPOST_SECRET_KEY"
    log = (
        "also keep: a snapshot of the Log, taken after this: older messages are only there\n"
        if settings.log_url
        else ""
    )
    return (
        f"also keep: the folder {media} ({files} files of customers)\n{log}"
        f"also keep, in another place: the key ({kept}), without which the numbers must be connected again\n"
    )


def restored(
    hold: Annotated[
        bool, typer.Option("--hold", help="Send nothing that waited when the backup was taken: a person decides.")
    ] = False,
    skip_ids: Annotated[
        int,
        typer.Option(help="Ids to leave out: more than messages came since the backup.", min=0, max=10**15),
    ] = 1_000_000,
    json: Json = False,
) -> None:
    """Say that this database came back from a backup, or is in use again though it was copied to another.

    Devices read everything anew, ids are not given twice.
    """
    settings = as_the_demo(load())
    restoring = Restoring(now=SystemClock().now(), token=secrets.token_hex(4), ids=skip_ids, hold=hold)
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


async def _restored(settings: Settings, restoring: Restoring) -> Restored:
    if sqlite_path(settings.database_url) is not None:
        return await asyncio.to_thread(whole_file.restored, _existing_file(settings), restoring)
    from waypost.adapters.postgres import whole_database  # noqa: PLC0415  # only where there is one

    return await whole_database.restored(settings.database_url, restoring)


def copy(
    to: Annotated[str, typer.Option("--to", help="Where everything goes: postgresql://…, empty and migrated.")],
    batch: Annotated[int, typer.Option(help="Rows at a time.", min=1, max=100_000)] = 2000,
    anew: Annotated[
        bool, typer.Option("--anew", help="Empty what an unfinished copy left there, and begin again.")
    ] = False,
) -> None:
    """Copy the database into PostgreSQL; run it again after an interruption and it goes on. Stop the servers first."""
    if not to.startswith(_POSTGRES):
        raise Failed("--to takes the address of a PostgreSQL database: postgresql://USER:PASSWORD@HOST/DATABASE")
    check_postgres(to, "--to")
    settings = as_the_demo(load())
    if to == settings.database_url:
        raise Failed("--to is the database that would be copied: WAYPOST_DATABASE_URL names where it is now")
    from waypost.runtime import copying  # noqa: PLC0415  # only this command needs both databases

    try:
        done = asyncio.run(copying.copy(settings, to, batch=batch, anew=anew))
    except KeyboardInterrupt:
        raise Failed("cut off: run the same command again, and it goes on where it was") from None
    whole = sum(each.rows for each in done.sums.values())
    how = "the rest of an earlier run " if done.resumed else ""
    sys.stdout.write(
        f"copied {how}and compared: {len(done.sums)} tables, {whole} rows, counts and hashes are the same\n"
        "next: name the target in WAYPOST_DATABASE_URL and start the server; none starts on the old database any more\n"
        f"{_also(settings)}"
    )
