#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what compute-sanitizer printed on a card (`record_card.sh`) into `checks_card.json`.

    tests/suites/card.py LOGS

Writes `checks_corpus.md`, too, which sets the corpus' marks (`tests/checks`, which CI holds margay to) beside it.

LOGS holds `machine` and a file `<program>.<tool>.txt` for each run. Of a program: how many errors each tool reports,
leaks left out, or `"hangs"`; tools that report none are left out. Of a kernel of the corpus
(`corpus.<file>.<kernel>`): how many places in it the tool names, of the first that it prints.
"""
import json, pathlib, re, sys

HERE = pathlib.Path(__file__).resolve().parent

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def errors(text, kernel):
    if re.search(r"^rc 124$", text, re.M):
        return "hangs"
    if kernel:
        return sum(bool(re.search(rf"\b{kernel}\(", line)) for line in text.splitlines() if "Host Frame" not in line)
    if race := re.search(r"RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, (\d+) warnings?\)", text):
        return int(race[1]) + int(race[2])
    total = sum(int(n) for n in re.findall(r"ERROR SUMMARY: (\d+) errors?$", text, re.M))
    leaks = sum(int(n) for n in re.findall(r"LEAK SUMMARY: \d+ bytes leaked in (\d+) allocations?", text))
    return max(total - leaks, 0)


def verdict(tools):
    if "hangs" in tools.values():
        return "hangs"
    return ", ".join(tools) or "nothing"


def marks(source):
    """Of each kernel of a file of the corpus, the codes that margay must find in it."""
    found, kernel, before = {}, None, set()
    for line in source.read_text().splitlines():
        if begins := re.search(r"(?:__global__|CLUSTER) .*?(\w+_(?:bug|good))\(", line):
            kernel = begins[1]
            # What stands before it since the last kernel are its own functions.
            found[kernel], before = before, set()
        elif line.startswith("}"):
            kernel = None
        if mark := re.search(r"//~\??(?: near)? (.*)$", line):
            (found[kernel] if kernel else before).update(code for code in mark[1].split() if "/" in code)
    return found


def corpus(programs):
    rows, found = [], {"margay": 0, "card": 0, "bugs": 0, "accused": 0}
    for source in sorted((HERE.parent / "checks").glob("*.cu")):
        for kernel, codes in marks(source).items():
            tools = programs.get(f"corpus.{source.stem}.{kernel}")
            if tools is None:
                continue
            bug = kernel.endswith("_bug")
            found["bugs"] += bug
            found["margay"] += bug and bool(codes)
            found["card"] += bug and bool(tools)
            found["accused"] += not bug and bool(tools)
            if bug or tools or codes:
                rows.append(f"| {source.stem} | {kernel} | {', '.join(sorted(codes)) or 'nothing'} | {verdict(tools)} |")
    return rows, found


def write_corpus(machine, programs):
    rows, found = corpus(programs)
    text = [
        "# The corpus of the checks, beside compute-sanitizer", "",
        f"Kernels of `tests/checks/*.cu`, each run alone on the card ({'; '.join(machine)}) with all four tools; "
        "margay's findings are the marks in the sources, which `tests/checks/run.py` proves.", "",
        f"Of {found['bugs']} bugs margay finds {found['margay']}, compute-sanitizer {found['card']}. "
        f"compute-sanitizer accuses {found['accused']} of the cured twins, margay none; clean twins are not listed. "
        "Where compute-sanitizer hangs, the kernel waits for ever. What it finds may vary: an earlier recording, in which "
        "`tiles_bug` ran before other kernels, names it.", "",
        "| file | kernel | margay | compute-sanitizer |", "|---|---|---|---|", *rows,
    ]
    (HERE / "checks_corpus.md").write_text("\n".join(text) + "\n")


def main():
    logs = pathlib.Path(sys.argv[1])
    programs = {}
    for path in sorted(logs.glob("*.txt")):
        name, _, tool = path.stem.rpartition(".")
        if tool not in TOOLS:
            continue
        parts = name.split(".")
        found = errors(path.read_text(errors="replace"), parts[2] if len(parts) == 3 else None)
        verdicts = programs.setdefault(name, {})
        if found:
            verdicts[tool] = found
    machine = (logs / "machine").read_text().splitlines()
    text = json.dumps({"machine": machine, "programs": programs}, indent=1)
    (HERE / "checks_card.json").write_text(text + "\n")
    write_corpus(machine, programs)


if __name__ == "__main__":
    main()
