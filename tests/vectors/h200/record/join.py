#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Adds a profiler's counters to the rows of accesses.cu: join.py GROUP.csv GROUP.rows > part.jsonl.

GROUP.csv is what `ncu --csv --page raw` printed: a line of names, one of units, then one for each launch.
"""
import csv
import json
import sys

lines = [l for l in open(sys.argv[1]) if l.startswith('"')]
table = list(csv.reader(lines))
names = table[0]
launches = table[2:]
rows = [json.loads(l) for l in open(sys.argv[2])]
if len(launches) != len(rows):
    sys.exit(f"{len(launches)} launches were counted, {len(rows)} were made")
for row, launch in zip(rows, launches):
    row["counters"] = {
        name.removesuffix(".sum"): int(float(value.replace(",", "")))
        for name, value in zip(names, launch)
        if name.endswith(".sum")
    }
    print(json.dumps(row, separators=(",", ":")))
