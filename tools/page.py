"""Build the browser's page into the package, when its sources have changed; `check` types and tests them instead.

Without Node the server runs all the same, so a build that cannot be done says why and is no failure, unless `--must`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the build of a wheel also runs this, from any folder

from tools.node import BuildFailed, Node, NodeMissing, alone, find_node, install, output_of  # noqa: E402  # needs the line above

WEB = ROOT / "web"
CLIENT = ROOT / "clients" / "typescript" / "src"
PAGE = ROOT / "src" / "waypost" / "http" / "page"
DOCUMENT = WEB / "src" / "api" / "openapi.json"
"""Written from the routes, so that the page's types are never written by hand; not committed, since only the check of
types needs them: a build drops types."""
PRINT_DOCUMENT = (
    "import json; from waypost.http.app import api; from waypost.http.openapi import completed;"
    "print(json.dumps(completed(api().openapi_schema.to_schema())))"
)


def main(arguments: list[str]) -> int:
    try:
        if arguments[:1] == ["check"]:
            return check()
        build()
    except NodeMissing as missing:
        print(f"the page was not built: {missing}", file=sys.stderr)
        return 1 if "--must" in arguments else 0
    except BuildFailed as failed:
        print(f"the page could not be built:\n{failed}", file=sys.stderr)
        return 1
    return 0


def build() -> None:
    """Do nothing when the page was built from the same sources."""
    marker, wanted = PAGE / ".sources", digest()
    if marker.is_file() and marker.read_text() == wanted:
        return
    node = find_node()
    with alone(WEB):
        if marker.is_file() and marker.read_text() == wanted:
            return  # another process was first
        print("building the page", file=sys.stderr, flush=True)
        install(node, WEB)
        output_of(node.npm_run("run", "build", folder=WEB))
        marker.write_text(wanted)


def check() -> int:
    node = find_node()
    with alone(WEB):
        install(node, WEB)
        write_types(node)
    done = node.npm_run("run", "check", folder=WEB)
    print(done.stdout if done.returncode == 0 else done.stdout + done.stderr)
    return done.returncode


def write_types(node: Node) -> None:
    told = subprocess.run([sys.executable, "-c", PRINT_DOCUMENT], capture_output=True, text=True, check=True).stdout
    if DOCUMENT.is_file() and DOCUMENT.read_text() == told and DOCUMENT.with_name("schema.d.ts").is_file():
        return
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(told)
    output_of(node.npm_run("run", "types", folder=WEB))


def digest() -> str:
    total = hashlib.sha256()
    for path in sorted(sources()):
        total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def sources() -> Iterator[Path]:
    yield from (WEB / name for name in ("package-lock.json", "index.html", "tsconfig.json", "vite.config.ts"))
    for folder in (WEB / "src", WEB / "public", CLIENT):
        yield from (path for path in folder.rglob("*") if path.is_file() and path.parent != DOCUMENT.parent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
