"""Programs that only some tests use. Each is fetched once, of one version, into build/tools;
nothing is installed. Where it cannot be had, the test is skipped and says why."""

import glob
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / "build/tools"
SCHEMATHESIS = "4.32.5"
FETCH_SECONDS_MAX = 300


def _skip(tool, why):
    raise unittest.SkipTest(f"{tool} cannot be had here: {why}")


def _run(tool, *command, cwd=None):
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        _skip(tool, error)
    if done.returncode != 0:
        _skip(tool, (done.stderr.strip() or done.stdout.strip()).split("\n")[-1])


def _fetched(tool, program, fetch):
    """`program` below build/tools; `fetch` makes a folder that then takes its place at once."""
    folder = TOOLS / tool
    if not (folder / program).exists():
        TOOLS.mkdir(parents=True, exist_ok=True)
        fetch(folder)
    if not (folder / program).exists():
        _skip(tool, f"{program} is not in what was fetched")
    return folder / program


def promtool():
    """Of Debian's package prometheus, unpacked beside the system."""

    def fetch(folder):
        with tempfile.TemporaryDirectory(dir=TOOLS) as scratch:
            _run("promtool", "apt-get", "download", "prometheus", cwd=scratch)
            (package,) = glob.glob(f"{scratch}/*.deb")
            _run("promtool", "dpkg", "-x", package, f"{scratch}/unpacked")
            os.rename(f"{scratch}/unpacked", folder)

    return _fetched("prometheus", "usr/bin/promtool", fetch)


def schemathesis():
    """In a virtual environment of its own."""

    def fetch(folder):
        _run("schemathesis", sys.executable, "-m", "venv", folder)
        _run("schemathesis", folder / "bin/python", "-m", "pip", "install", "--quiet", f"schemathesis=={SCHEMATHESIS}")

    return _fetched(f"schemathesis-{SCHEMATHESIS}", "bin/schemathesis", fetch)
