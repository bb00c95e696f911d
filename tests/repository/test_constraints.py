"""What is installed matches constraints.txt: a dependency that it lacks would come in any version."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKED = (ROOT / "constraints.txt").read_text()
PINS: dict[str, str] = {
    canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", LOCKED, re.MULTILINE)
}


def declared() -> Iterator[Requirement]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for group in (*groups, *settings["dependency-groups"].values()):
        yield from map(Requirement, group)


def needed(wanted: Iterable[Requirement]) -> dict[str, str]:
    """The installed version of each of them, and of their own requirements."""
    found: dict[str, str] = {}
    waiting = list(wanted)
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        if str(one) in seen:
            continue
        seen.add(str(one))
        try:
            there = distribution(one.name)
        except PackageNotFoundError:
            continue  # of a group that is not installed in this environment
        found[canonicalize_name(one.name)] = there.version
        waiting += [other for other in map(Requirement, there.requires or []) if applies(other, one.extras)]
    return found


def applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def test_every_dependency_has_a_version_that_satisfies_it() -> None:
    for requirement in declared():
        assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)]), f"make lock: {requirement}"


def test_what_is_installed_is_what_is_locked() -> None:
    installed = needed(declared())
    assert len(installed) > len(list(declared()))
    assert installed == {name: PINS.get(name) for name in installed}


def test_every_version_has_hashes_and_no_address() -> None:
    assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=\S)", LOCKED) if "==" in entry.split("\n")[0])
    assert "://" not in LOCKED
