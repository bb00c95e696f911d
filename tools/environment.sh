#!/bin/sh
# Makes .venv what pyproject.toml says, in exactly the versions of constraints.txt; arguments go to `uv pip install`.
# Needs Python 3.11 and a package registry. uv is taken from PATH, else from .venv/bootstrap, where pip puts it.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "error: $*" >&2
    exit 1
}

find_python() {
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        "$name" -c 'import sys; sys.version_info >= (3, 11) or sys.exit(1); print(sys.executable)' 2>/dev/null && return
    done
    return 1
}

# Debian splits the venv module's other half off into a package of its own.
ensure_venv_module() {
    "$python" -c 'import ensurepip, venv' 2>/dev/null && return
    package="$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "$python cannot make environments: installing $package" >&2
        apt-get -qq update >/dev/null || :
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$package" >/dev/null || :
    fi
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "$python lacks its venv module: install $package (Debian, Ubuntu), or put uv on PATH"
}

bootstrap_uv() {
    [ -x .venv/bootstrap/bin/uv ] && return
    ensure_venv_module
    echo "uv is not on PATH: installing it into .venv/bootstrap" >&2
    # .venv itself comes first: uv refuses a folder of that name that is no environment.
    [ -x .venv/bin/python ] || "$python" -m venv --without-pip .venv
    rm -rf .venv/bootstrap
    "$python" -m venv .venv/bootstrap
    .venv/bootstrap/bin/python -m pip install --quiet --disable-pip-version-check uv ||
        fail "pip could not install uv: is a package registry reachable?"
}

python="$(find_python)" || python=""
if uv --version >/dev/null 2>&1; then
    uv=uv
else
    [ -n "$python" ] || fail "Python 3.11 or newer is needed, on PATH or named by PYTHON=; found $(python3 --version 2>&1)"
    bootstrap_uv
    uv=.venv/bootstrap/bin/uv
fi

# Compiled once, here: a start must not compile its libraries again where the interpreter is told to write nothing.
export UV_COMPILE_BYTECODE=1
# An environment that is already there keeps its interpreter; a new one gets the system's, never a download if one fits.
[ -z "$python" ] || export UV_PYTHON_DOWNLOADS=never
[ -x .venv/bin/python ] || "$uv" venv --quiet --python "${python:-3.11}" .venv
"$uv" pip install --python .venv/bin/python --constraints constraints.txt --group dev "$@" --editable .
