#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs `margay check` with all rules over other people's programs and compares with the findings that were read.

    tests/suites/check.py cuda-samples ../cuda-samples
    tests/suites/check.py polybench    ../PolyBench-ACC

`check_<suite>.md` is a table of all findings, each with a verdict of whoever read it. A finding that is not in the
table fails the run, and so does a row that nothing matches any more; `--write` writes the table anew, keeps the
verdicts, and puts UNREAD where there is none. A row whose finding starts with `…` stands for every message of its
file, severity and rule. A run that checked nothing fails.
"""
import argparse, collections, json, os, pathlib, re, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent


def cuda_samples(checkout):
    files = sorted((checkout / "Samples").rglob("*.cu"))
    return files, ["-I", str(checkout / "Common")], checkout / "Samples"


def polybench(checkout):
    files = sorted(p for top in ("CUDA", "OpenCL") for e in ("*.cu", "*.cl") for p in (checkout / top).rglob(e))
    return files, ["-I", str(checkout / "common")], checkout


SUITES = {
    "cuda-samples": (cuda_samples, "cuda-samples", "Every `.cu` file below `Samples/`, with `-ICommon`, for sm_90 and CUDA 12.9"),
    "polybench": (polybench, "PolyBench-ACC", "Every `.cu` and `.cl` file below `CUDA/` and `OpenCL/`, with `-Icommon`, for sm_90 and CUDA 12.9"),
}


def run(margay, flags, files, root):
    """All findings of the files, as (file, severity, rule, message) with lines; and why files were not checked."""
    found, failed = collections.defaultdict(set), {}
    for start in range(0, len(files), 12):
        part = [str(f) for f in files[start:start + 12]]
        print(f"{start} of {len(files)} files", file=sys.stderr, flush=True)
        command = [margay, "check", "--gpu", "sm_90", "--cuda-version", "12.9", "--json", *flags, *part]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if done.returncode > 2 or not done.stdout.strip():
            sys.exit(f"{' '.join(command)}\nexit code {done.returncode}: {done.stderr[-2000:]}")
        report = json.loads(done.stdout)
        for why in report["could_not_check"]:
            path, _, reason = why.partition(": ")
            failed[os.path.relpath(path, root)] = reason
        for finding in report["findings"]:
            # Headers of what does not parse are full of errors that follow from that.
            file = (finding["place"] or {}).get("file")
            if not file or (report["could_not_check"] and finding["by_clang"] and file not in part):
                continue
            path = os.path.relpath(finding["place"]["file"], root)
            rule = finding["code"] or finding["clang_option"] or "clang"
            message = finding["message"].replace("|", "\\|").replace("\n", " ")
            found[path, finding["severity"], rule, message].add(finding["place"]["start"]["line"])
    # Of a file that does not parse only that is told.
    return {k: v for k, v in found.items() if k[0] not in failed}, failed


def committed(path):
    """The rows of a table: (file, severity, rule, finding) and the verdict; and the files that were not checked."""
    rows, failed = {}, {}
    for line in path.read_text().splitlines() if path.exists() else []:
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 6 and cells[0] != "file" and not cells[0].startswith("-"):
            rows[cells[0], cells[2], cells[3], cells[4]] = cells[5]
        elif len(cells) == 2 and cells[0] not in ("not checked", "---"):
            failed[cells[0]] = cells[1]
    return rows, failed


def verdict(rows, key):
    for known in (key, (*key[:3], "…")):
        if known in rows:
            return known, rows[known]
    return next(((k, v) for k, v in rows.items() if k[:3] == key[:3] and k[3].startswith("…")), (None, None))


def write(path, what, found, failed, rows, total):
    merged = collections.defaultdict(set)
    for key, lines in found.items():
        known, _ = verdict(rows, key)
        merged[known or key] |= lines
    clean = total - len(failed) - len({k[0] for k in merged})
    text = [
        f"# `margay check` on {what[1]}", "",
        f"{what[2]}: {total} files, of which {clean} are without a finding and {len(failed)} could not be checked.",
        "All findings of the others, each read:", "",
        "| file | lines | severity | rule or flag | finding | verdict |", "|---|---|---|---|---|---|",
    ]
    for key in sorted(merged):
        lines = ", ".join(map(str, sorted(merged[key])))
        text.append(f"| {key[0]} | {lines} | {key[1]} | {key[2]} | {key[3]} | {rows.get(key, 'UNREAD')} |")
    if failed:
        text += ["", "| not checked | why |", "|---|---|"]
        text += [f"| {name} | {reason.replace('|', chr(92) + '|')} |" for name, reason in sorted(failed.items())]
    path.write_text("\n".join(text) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--margay", default=os.environ.get("MARGAY", "margay"))
    parser.add_argument("--write", action="store_true", help="write the table anew")
    options = parser.parse_args()
    what = SUITES[options.suite]
    checkout = options.checkout.resolve()
    files, flags, root = what[0](checkout)
    found, failed = run(options.margay, flags, files, root)
    table = HERE / f"check_{options.suite.replace('-', '_')}.md"
    rows, unchecked = committed(table)
    problems = []
    met = set()
    for key in found:
        known, text = verdict(rows, key)
        met.add(known)
        if text is None or text == "UNREAD":
            problems.append(f"not read: {' | '.join(key)} at {sorted(found[key])}")
    problems += [f"nothing matches: {' | '.join(k)}" for k in rows if k not in met]
    problems += [f"not checked: {f}: {why}" for f, why in failed.items() if f not in unchecked]
    problems += [f"is checked now: {f}" for f in unchecked if f not in failed]
    if options.write:
        write(table, what, found, failed, rows, len(files))
    for problem in problems:
        print(problem)
    print(f"{len(files)} files, {sum(map(len, found.values()))} findings, {len(failed)} not checked, {len(problems)} differences")
    sys.exit(bool(problems) or not files or len(failed) == len(files))


if __name__ == "__main__":
    main()
