# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the clients' tests share: virtual environments made when the network allows, runs under a time limit,
and tables of results."""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Skipped(Exception):
    """The client cannot be had here."""


def parser(description):
    """The options that every client has."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--margay", default=os.environ.get("MARGAY", str(ROOT / "target/release/margay")))
    options.add_argument("--table", type=pathlib.Path, help="write the results as a Markdown table")
    options.add_argument("--verbose", action="store_true", help="show what failing programs print")
    options.add_argument(
        "--venvs", type=pathlib.Path,
        default=pathlib.Path(os.environ.get("MARGAY_CLIENTS_DIR", pathlib.Path.home() / ".cache/margay-clients")),
        help="where virtual environments are made and kept (default $MARGAY_CLIENTS_DIR or ~/.cache/margay-clients)")
    return options


def command_of(options):
    margay = pathlib.Path(options.margay).resolve()
    if not os.access(margay, os.X_OK):
        sys.exit(f"{margay}: not found; build it with `make build` or name it with --margay")
    return str(margay)


def fetched(command, what, seconds):
    """Runs a command that needs a network; without one, or after the time, the client is skipped."""
    try:
        # A network that answers nothing must not hold the tests up.
        made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds,
                              stdin=subprocess.DEVNULL, env=dict(os.environ, PIP_RETRIES="1"))
    except subprocess.TimeoutExpired:
        raise Skipped(f"{what} cannot be had within {seconds} s") from None
    if made.returncode != 0:
        last = (made.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Skipped(f"{what} cannot be had: {last}")


def environment(options, name, packages):
    """A virtual environment with the packages; returns its directory."""
    place = options.venvs / name
    done = place / "complete"
    wanted = "\n".join(packages)
    if not done.exists() or done.read_text() != wanted:
        print(f"installing {' '.join(packages)} into {place}", flush=True)
        for command in ([sys.executable, "-m", "venv", str(place)],
                        [str(place / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", *packages]):
            fetched(command, " ".join(packages), 600)
        done.write_text(wanted)
    return place


def site_packages(place):
    return next((place / "lib").glob("python3*")) / "site-packages"


def limited(command, seconds, directory=None, settings=None):
    """Runs a command; returns (exit code or None on time-out, standard output, standard error)."""
    variables = dict(os.environ, **(settings or {}))
    try:
        done = subprocess.run(command, cwd=directory, env=variables, capture_output=True, timeout=seconds,
                              stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace"), (late.stderr or b"").decode(errors="replace")


def ended(code, seconds):
    """What is wrong with an exit code, or None."""
    if code is None:
        return f"no end within {seconds} s"
    return None if code == 0 else f"exit code {code}"


class Results:
    """Verdicts as they come; unexpected ones decide the exit code."""

    def __init__(self, client, known=None):
        self.client, self.known = client, known or {}
        self.rows, self.unexpected = [], 0

    def add(self, name, problem):
        """`problem` is None for a pass."""
        why = self.known.get(name)
        if problem is None:
            self.rows.append((name, "passed", ""))
            print(f"passed  {name}" + (" (listed as a failure: take it off the list)" if why else ""), flush=True)
            self.unexpected += why is not None
        else:
            self.rows.append((name, "failed", why or problem))
            print(f"FAILED  {name}: {problem}" + (f" [known: {why}]" if why else ""), flush=True)
            self.unexpected += why is None

    def waive(self, name, why):
        self.rows.append((name, "waived", why))
        print(f"waived  {name}: {why}", flush=True)

    def count(self, verdict):
        return sum(row[1] == verdict for row in self.rows)

    def summary(self):
        return ", ".join(f"{self.count(v)} {v}" for v in ("passed", "failed", "waived"))

    def finish(self, table, preface=""):
        if table:
            text = f"# {self.client}: {self.summary()}\n\n{preface}"
            text += "| program | result | reason |\n|---|---|---|\n"
            text += "".join(f"| {n} | {r} | {w.replace('|', chr(92) + '|')} |\n" for n, r, w in self.rows)
            table.write_text(text)
        print(self.summary())
        if self.count("passed") == 0:
            print("nothing was checked", file=sys.stderr)
            return 1
        return 1 if self.unexpected else 0


def run(main):
    """Runs a client's `main`; one that cannot be had is no failure."""
    try:
        sys.exit(main())
    except Skipped as why:
        print(f"skipped: {why}")
        sys.exit(0)
