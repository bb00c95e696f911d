#!/bin/sh
# Installs Waypost into an environment of its own, with every driver and exactly the versions of constraints.txt: build.sh TARGET
# Needs uv and Python 3.11 or newer. The Dockerfile runs it, so does a test, so may you.
# Again for an upgrade: it is built in TARGET.new and takes TARGET's place once it is whole; what was there before stays in TARGET.old.
set -eu
cd "$(dirname "$0")/.."
command -v uv > /dev/null || { echo "build.sh: uv is not installed, which it builds with" >&2; exit 1; }
target=${1%/}
new=$target.new
old=$target.old
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for place in "$target" "$new" "$old"; do
    if [ -e "$place" ] && [ ! -f "$place/pyvenv.cfg" ]; then
        echo "build.sh: $place is there and is no Python environment: move it away, or name another target" >&2
        exit 1
    fi
done
uv build --wheel --out-dir "$work/wheel" > "$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
# Relocatable: its programs find their Python beside them, whatever the folder is called.
uv venv --quiet --clear --relocatable --python "${PYTHON:-python3}" "$new"
export VIRTUAL_ENV="$new" UV_COMPILE_BYTECODE="${UV_COMPILE_BYTECODE:-1}"
uv pip install --quiet --constraints constraints.txt --all-extras --requirements pyproject.toml
uv pip install --quiet --no-deps "$work"/wheel/*.whl
"$new/bin/waypost" --version

rm -rf "$old"
if [ -e "$target" ]; then
    mv "$target" "$old"
fi
mv "$new" "$target"
