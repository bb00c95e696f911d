"""`make test`: what waits for real processes runs beside what computes, so that the whole takes as long as the longer.

With arguments it is plain pytest. Without, the acceptance tests run here and show how they get on; everything else, and
the browser's tests, to make both halves alike, run at the same time, and what they printed follows.
"""

from __future__ import annotations

import compileall
import subprocess
import sys
import tempfile

PYTEST = [sys.executable, "-m", "pytest"]
SHOWN = ["--durations=25", "--durations-min=4"]
"""The slowest of a whole run: it has half an hour."""
BROWSER = [
    f"tests/acceptance/test_{part}.py" for part in ("inbox", "inbox_work", "phone", "console", "console_messages")
]
HERE = [*SHOWN, "tests/acceptance", *(f"--ignore={file}" for file in BROWSER)]
SUITES = ["tests/unit", "tests/conformance", "tests/integration", "tests/simulation", *BROWSER]
BESIDE = [*SHOWN, "-p", "no:cacheprovider", *SUITES]


def main(arguments: list[str]) -> int:
    if arguments:
        return subprocess.call([*PYTEST, *arguments])
    # Also where Python is told to write no bytecode: servers and commands are started by the thousand.
    compileall.compile_dir("src", quiet=1)
    with tempfile.TemporaryFile("w+") as told:
        beside = subprocess.Popen([*PYTEST, *BESIDE], stdout=told, stderr=subprocess.STDOUT)
        try:
            here = subprocess.call([*PYTEST, *HERE])
            others = beside.wait()
        finally:
            beside.terminate()
        told.seek(0)
        sys.stdout.writelines(told)
    return here or others


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
