#!/bin/sh
# Installs Waypost into an environment of its own, with exactly the versions of uv.lock: build.sh TARGET
# Needs uv and Python 3.11 or newer. The Dockerfile runs it, so does a test, so may you.
set -eu
cd "$(dirname "$0")/.."
target=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

uv export --quiet --frozen --no-default-groups --no-emit-project --output-file "$work/requirements.txt"
uv build --quiet --wheel --out-dir "$work/wheel"
uv venv --quiet --python "${PYTHON:-python3}" "$target"
export VIRTUAL_ENV="$target"
uv pip install --quiet --require-hashes --compile-bytecode --requirements "$work/requirements.txt"
uv pip install --quiet --no-deps --compile-bytecode "$work"/wheel/*.whl
"$target/bin/waypost" --version
