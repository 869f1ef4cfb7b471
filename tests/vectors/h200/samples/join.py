#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns what ../profile/record.sh left for launches.txt into counters.csv: join.py OUT > counters.csv

A row is launch (from 0), line, counter, count. Line 0 is the whole kernel, with Nsight Compute's raw counters; other
lines are of the sample's own files, and have those of its source page. Rows with a count of 0 are left out.
"""
import csv
import re
import sys

out = sys.argv[1]
print("# launch,line,counter,count")
rows = list(csv.reader(l for l in open(f"{out}/counters_raw.csv") if l.startswith('"')))
names = rows[0]
for launch, row in enumerate(rows[2:]):
    for name, value in zip(names, row):
        if re.match(r"smsp__sass_l1tex|l1tex__t_|sm__idc_div", name) and name.endswith(".sum"):
            count = int(float(value.replace(",", "")))
            if count:
                print(f"{launch},0,{name.removesuffix('.sum')},{count}")
columns = {"L1 Wavefronts Shared": "shared_wavefronts", "L2 Theoretical Sectors Global": "global_sectors"}
kernel = names = path = None
launch = -1
for line in open(f"{out}/lines_cuda_sass.csv"):
    # Source text may hold quotes, so fields are counted from the end.
    fields = line.rstrip("\n").strip('"').split('","')
    if fields[0] == "File Path":
        path = fields[1]
    elif fields[0] == "Function Name":
        if fields[1] != kernel:
            launch += 1
        kernel = fields[1]
    elif fields[0] == "Line No":
        names = fields
    elif names and "/Samples/" in path and re.match(r'"\d+",', line) and fields[-(len(names) - 2)] == "-":
        values = dict(zip(names[3:], fields[-(len(names) - 3):]))
        for column, name in columns.items():
            count = float(values.get(column, "0").replace(",", "") or 0) if values.get(column) != "-" else 0
            if count:
                print(f"{launch},{fields[0]},{name},{int(count)}")
