#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the corpus of the checks and compares findings with the comments in its sources.

`//~ code code` on a line: a finding with one of these codes has a place there.
`//~? code`: there may be one. `//~api code …`: findings of API calls, wherever.
`// check: race,sync` near the top of a file: only these checks; `// gpu: sm_60`: on this GPU; `// flags: -G`: built so. A finding without any place on such a line is a false accusation.
Exit code 1 if anything differs, or nothing was checked.
"""
import argparse, collections, json, os, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
MARK = re.compile(r"//~(\??) (.*)$")


def marks(path):
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := MARK.search(line):
            found[number] = (match[1] == "", set(match[2].split()))
    return found


def only(wanted, checks):
    """Marks of these checks."""
    kept = {n: (must, {c for c in codes if c.split("/")[0] in checks}) for n, (must, codes) in wanted.items()}
    return {n: (must, codes) for n, (must, codes) in kept.items() if codes}


def check(margay, path, arguments, limited):
    # The driver compiles OpenCL C from a text, which has this name.
    names = {path.name, "program.cl"} if path.suffix == ".cl" else {path.name}
    program = ["python3", str(HERE / "opencl_host.py"), str(path)] if path.suffix == ".cl" else [str(path)]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "findings.json")
        header = re.search(r"^// check: (\S+)$", path.read_text(), re.M)
        checks = header[1] if header else "all"
        gpu = re.search(r"^// gpu: (\S+)$", path.read_text(), re.M)
        if limited:
            wanted_checks = [c for c in limited if checks == "all" or c in checks.split(",")]
            if not wanted_checks:
                return [], 0
            checks = ",".join(wanted_checks)
        command = [margay, "run", "--check", checks, "--check-format", "json", "--check-output", str(report)]
        command += ["--gpu", gpu[1]] if gpu else []
        flags = re.search(r"^// flags: (.+)$", path.read_text(), re.M)
        command += flags[1].split() if flags else []
        run = subprocess.run(command + arguments + program, capture_output=True, text=True, timeout=300)
        if "opencl_host: skipped" in run.stderr:
            print(f"skipped: {path.name}: {run.stderr.strip().splitlines()[-1]}")
            return [], 0
        if not report.exists():
            return [f"{path.name}: no findings were written: {run.stderr[-2000:]}"], 0
        findings = json.loads(report.read_text())["findings"]
        # Where not all checks are on, what the others tell of a fault is only told to have ended the launch.
        if checks != "all":
            findings = [f for f in findings if f["code"] != "launch/failed"]
    wanted, problems, met = marks(path), [], set()
    if limited:
        wanted = only(wanted, limited)
    # Marks of API calls have no place; how often a code must come is said by `//~api code code` anywhere.
    api = collections.Counter(" ".join(re.findall(r"//~api (.*)", path.read_text())).split())
    api = collections.Counter({c: n for c, n in api.items() if not limited or c.split("/")[0] in limited})
    said = collections.Counter()
    # What only the host program did, or nobody.
    is_api = lambda f: not f["actors"] or not f["kernel"] and all(a.get("host") for a in f["actors"])
    for finding in findings:
        if is_api(finding) and finding["code"] != "memory/leak":
            said[finding["code"]] += finding["count"]
    findings = [f for f in findings if not is_api(f)]
    if api != said:
        problems.append(f"{path.name}: of API calls expected {dict(api)}, found {dict(said)}")
    for finding in findings:
        lines = [a["source"]["line"] for a in finding["actors"] if os.path.basename(a["source"].get("file") or "") in names]
        hits = [n for n in wanted if finding["code"] in wanted[n][1] and n in lines]
        met.update(hits)
        if not hits:
            problems.append(f"{path.name}: not expected: {finding['code']} at lines {lines} in {finding['kernel']}: {finding['message']}")
    for number, (required, codes) in wanted.items():
        if required and number not in met:
            problems.append(f"{path.name}:{number}: not found: {' or '.join(sorted(codes))}")
    return problems, len(wanted) + len(api)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--margay", default=os.environ.get("MARGAY", "margay"))
    parser.add_argument("--checks", help="only these, and their marks")
    parser.add_argument("names", nargs="*", help="sources, with or without their endings; all if none is named")
    options, rest = parser.parse_known_args()
    every = sorted([*HERE.glob("*.cu"), *HERE.glob("*.cl")])
    sources = [s for s in every if not options.names or s.name in options.names or s.stem in options.names]
    problems, expected = [], 0
    for source in sources:
        found, count = check(options.margay, source, rest, options.checks.split(",") if options.checks else [])
        problems += found
        expected += count
    for problem in problems:
        print(problem)
    print(f"{len(sources)} files, {expected} marked lines, {len(problems)} differences")
    sys.exit(bool(problems) or not expected)


if __name__ == "__main__":
    main()
