// SPDX-License-Identifier: MIT OR Apache-2.0
// The page: kernels, one kernel's lines and accesses, its source, launches.
"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
const state = { gpu: 0, kernel: 0, line: null, launches: 200 };
const main = document.getElementById("main");
const gpu = () => report.gpus[state.gpu];
const baseName = (path) => path.split("/").pop() || "(no file)";
const words = (name) => name.replace(/_/g, " ");

/** Whether a kernel is OpenCL C, whose words then stand before CUDA's. */
const isOpenCl = (kernel) => kernel.lines.some((l) => l.file.endsWith(".cl"));
const openCl = () => isOpenCl(report.kernels[state.kernel]);
/** CUDA's word, or OpenCL's with CUDA's behind it. */
const say = (cuda, opencl) => openCl() ? `${opencl} (${cuda})` : cuda;
/** A space's name, or a cell's such as `shared_load`. */
function spaceWords(name) {
  const [space, ...rest] = name.split("_");
  const said = space === "shared" ? say("shared", "local") : space === "local" ? say("local", "private")
    : space === "texture" || space === "surface" ? say(space, "image") : space;
  return [said, ...rest].join(" ");
}

function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function choose(change) {
  Object.assign(state, change);
  draw();
}

function controls() {
  const gpus = report.gpus.map((g, n) => make("button", { type: "button", "aria-pressed": String(n === state.gpu), "data-gpu": n,
    "data-key": `gpu${n}`, title: `${g.card}, ${g.architecture}`, onclick: () => choose({ gpu: n }) }, `${g.compute_capability} ${g.name}`));
  const pick = make("select", { "aria-label": "Kernel", "data-key": "kernel" }, report.kernels.map((k, n) =>
    make("option", { value: n, selected: n === state.kernel }, k.name.length > 60 ? k.name.slice(0, 57) + "…" : k.name)));
  pick.addEventListener("change", () => choose({ kernel: Number(pick.value), line: null }));
  document.getElementById("controls").replaceChildren(
    make("span", { class: "group", role: "group", "aria-label": "GPU" }, gpus),
    make("span", { class: "group" }, pick),
    make("button", { type: "button", onclick: theme, id: "theme", "data-key": "theme" }, "Light / dark"));
}

/** Sums of a kernel's cells on the chosen GPU by unit. */
function summary(kernel) {
  const out = { shared: [0, 0], global: [0, 0], constant: [0, 0] };
  for (const [name, cell] of Object.entries(kernel.totals[state.gpu].spaces)) {
    const space = name.split("_")[0];
    const key = space === "shared" ? "shared" : space === "constant" ? "constant" : space === "parameter" ? null : "global";
    if (!key) continue;
    const [cost, best] = key === "global" ? [cell.bytes_moved, 32 * cell.sectors_ideal] : costOf(name, cell, gpu());
    out[key][0] += cost;
    out[key][1] += Math.min(cost, best);
  }
  return out;
}

/** The finding of a kernel that would gain most, as a word. */
function verdict(kernel) {
  let best = null, most = -1;
  for (const access of kernel.accesses) {
    const finding = access.gpus[state.gpu].finding;
    if (!finding) continue;
    const gain = finding.cure ? finding.cure.before - finding.cure.after : 0;
    if (gain > most) [best, most] = [finding, gain];
  }
  return best;
}

const RULES = {
  "bank-conflict": "lanes collide in shared memory's banks",
  "strided": "lanes are far apart in memory",
  "misaligned": "rows start between segments",
  "scattered": "addresses follow from data",
  "short-rows": "rows are shorter than a warp",
  "order": "lanes go out of order",
  "uniform-access": "all lanes ask for one word",
  "constant-serialisation": "constants differ between lanes",
  "shared-atomic-contention": "lanes queue for one word of shared memory",
  "atomic-contention": "lanes queue for one word",
  "texture-scattered": "a warp's texels are far apart",
  "local-memory": "arrays or spills in local memory",
};

/** The kernels of the table: a few as they were first launched, which tells a story; of many the costliest. */
function tableOrder() {
  const all = report.kernels.map((_, n) => n);
  if (all.length > 12) return all.slice(0, 200);
  const column = report.launches.columns.indexOf("kernel"), first = new Map();
  report.launches.rows.forEach((row, n) => { if (!first.has(row[column])) first.set(row[column], n); });
  const at = (n) => first.get(n) ?? Infinity;
  return all.sort((a, b) => at(a) === at(b) ? a - b : at(a) - at(b));
}

const strong = (text) => make("strong", {}, text);

function kernelTable() {
  const sums = report.kernels.map(summary);
  const most = (key) => Math.max(1, ...sums.map((s) => s[key][0]));
  const [shared, traffic] = [most("shared"), most("global")];
  const cell = (value, best, top, text, label) => make("td", { "data-label": label }, text, value > 0 ? bar(value, best, top) : null);
  const order = tableOrder();
  const rows = order.map((n) => {
    const k = report.kernels[n], s = sums[n], finding = verdict(k);
    return make("tr", { class: n === state.kernel ? "chosen" : null, "data-kernel": n },
      make("td", { class: "name" }, make("button", { type: "button", class: "link mono", "data-key": `kernel${n}`, onclick: () => choose({ kernel: n, line: null }) }, k.name)),
      make("td", {}, thousands(k.launches)),
      make("td", {}, thousands(k.warp_instructions)),
      make("td", {}, k.active_lanes.toFixed(1)),
      cell(s.shared[0], s.shared[1], shared, s.shared[0] ? thousands(s.shared[0]) : "–", "Shared-memory passes"),
      cell(s.global[0], s.global[1], traffic, s.global[0] ? thousands(s.global[0]) : "–", "Traffic, bytes"),
      make("td", { class: "left" }, finding
        ? make("span", { class: "bad" }, RULES[finding.rule] || finding.rule)
        : make("span", { class: "good" }, "nothing to gain here")));
  });
  return make("section", { "aria-labelledby": "kernels" },
    make("h2", { id: "kernels" }, "Kernels"),
    make("p", {}, "A ", strong("kernel"), " is a function that the GPU runs with many threads at once; a ", strong("launch"), " is one run of it. Threads run in ",
      strong("warps"), " of 32, which take each instruction together; a thread's seat in its warp is its ", strong("lane"),
      ". If the 32 addresses of a warp suit the hardware, an instruction is one trip to memory, and many if not: that is what is counted here."),
    make("p", { class: "soft" }, "Green is what the same work must cost, orange is what its addresses add; a bar as wide as its column is the most of that column. " +
      (report.kernels.length > 12 ? "The costliest kernels come first. " : report.kernels.length > 1 ? "Kernels stand as they were first launched. " : "") +
      `A pass of ${report.kernels.some(isOpenCl) ? "shared memory (OpenCL: local memory)" : "shared memory"} serves one word from each bank; traffic is what moves between the multiprocessor and the caches, in sectors of 32 bytes on newer GPUs. A dash: the kernel makes no such access.`),
    make("div", { class: "scroll kernels" }, make("table", {},
      make("thead", {}, make("tr", {}, ["Kernel", "Launches", "Warp instructions", "Active lanes", "Shared-memory passes", "Traffic, bytes", "Most to gain"]
        .map((t, n) => make("th", { scope: "col", class: n === 6 ? "left" : null }, t)))),
      make("tbody", {}, rows))));
}

/** The kernel's cells, a column for each GPU. */
function sideBySide(kernel) {
  // Compilers read parameters as operands; only those that lanes index differently cost anything.
  const told = (t, name) => !name.startsWith("parameter") || t.spaces[name].replays > 0;
  const names = [...new Set(kernel.totals.flatMap((t) => Object.keys(t.spaces).filter((name) => told(t, name))))].sort();
  const lacking = (name, n) => {
    const lacks = (kernel.missing || []).find((m) => m.row === name && m.gpu === n);
    return lacks ? `– (from ${lacks.since})` : "–";
  };
  const rows = names.map((name) => {
    const costs = report.gpus.map((g, n) => kernel.totals[n].spaces[name] ? costOf(name, kernel.totals[n].spaces[name], g) : null);
    const top = Math.max(1, ...costs.filter(Boolean).map((c) => c[0]));
    return make("tr", {}, make("td", {}, spaceWords(name)), costs.map((c, n) => c
      ? make("td", { "data-cost": c[0], "data-name": name, "data-gpu": n }, `${thousands(c[0])} `, make("span", { class: "soft" }, c[0] === 1 ? singular(c[2]) : c[2]), bar(c[0], c[1] ?? c[0], top))
      : make("td", {}, lacking(name, n))));
  });
  if (rows.length === 0) return make("p", {}, "This kernel accesses no memory.");
  return [make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Access"), report.gpus.map((g) =>
      make("th", { scope: "col" }, `${g.compute_capability} ${g.name}`)))),
    make("tbody", {}, rows))),
    make("p", { class: "soft" }, report.gpus.length > 1 ? "The widest bar of a row is the GPU that needs most; GPUs before 5.0 count transactions of 32 to 128 bytes instead of sectors. A dash: the GPU has no such instruction."
      : "Each row's bar is full; its green part is what the same work must cost.")];
}

/** A unit of the JSON report in the page's words. */
const unitWords = (unit) => unit === "wavefronts" ? "passes" : unit;
/** A unit of one. */
const singular = (unit) => unit.startsWith("passes") ? "pass" : unit.replace(/s\b/, "");

const limiterWords = (limiter) => limiter === "shared" ? `${say("shared", "local")} memory` : limiter === "blocks" ? say("blocks", "work-groups") : limiter;

function occupancySection(kernel) {
  const info = kernel.occupancy[state.gpu];
  if (!info) return null;
  const r = kernel.resources, threads = r.block[0] * r.block[1] * r.block[2];
  const steps = info.steps.map((s) => make("li", {},
    `${s.resource === "split" ? `${thousands(s.to)} bytes of the common store as ${say("shared", "local")} memory instead of ${thousands(s.from)}, and less L1` : s.resource === "shared" ? `${thousands(s.to)} bytes of ${say("shared", "local")} memory instead of ${thousands(s.from)}` : `${s.to} registers instead of ${s.from}`}: ` +
    `${plural(s.warps_per_sm, "warp")} resident`));
  return make("div", {},
    make("h3", {}, `Occupancy on ${gpu().card}`),
    make("p", {}, `${info.warps_per_sm} of ${info.max_warps_per_sm} warps of a multiprocessor are resident ` +
      `(${openCl() ? `${plural(info.blocks_per_sm, "work-group")} of ${plural(threads, "work-item")}` : `${plural(info.blocks_per_sm, "block")} of ${plural(threads, "thread")}`}), limited by ${limiterWords(info.limiter)}. Registers: ${r.registers} (${r.registers_are}).`),
    make("div", { class: "columns" },
      occupancyChart(info, info.by_block_size, openCl() ? "Resident warps by work-items of a work-group" : "Resident warps by threads of a block", 32, threads),
      occupancyChart(info, info.by_registers, openCl() ? "Resident warps by registers of a work-item" : "Resident warps by registers of a thread", 8, r.registers)),
    steps.length ? make("ul", {}, steps) : null);
}

function gainBars(cure, variable) {
  const top = Math.max(1, cure.before);
  const unit = unitWords(cure.unit);
  const part = Math.round(100 * (1 - cure.after / top));
  return make("div", { class: "gain" },
    make("span", {}, `now ${thousands(cure.before)} ${cure.before === 1 ? singular(unit) : unit}`), bar(cure.before, 0, top),
    make("span", {}, `then ${cure.coverage < 1 ? "about " : ""}${thousands(cure.after)} (−${part} %)`), bar(cure.after, cure.after, top),
    cure.whole_variable && variable ? make("span", { class: "soft all" }, "Loads and stores of ", make("code", {}, variable.name), " together, because the change moves all of it.") : null);
}

/** Accesses of a line that an unrolled loop made of one, as groups in the order of the list. */
function alike(kernel, list) {
  const groups = new Map();
  for (const n of list) {
    const a = kernel.accesses[n], f = a.gpus[state.gpu].finding;
    const key = JSON.stringify([a.file, a.line, a.space, a.kind, a.operation, a.width, a.variable, f && f.rule, f && f.cure && f.cure.text]);
    if (groups.has(key)) groups.get(key).push(n);
    else groups.set(key, [n]);
  }
  return [...groups.values()];
}

/** The gain of a group: a change of the variable's layout is for all of them at once. */
function together(kernel, group) {
  const cures = group.map((n) => kernel.accesses[n].gpus[state.gpu].finding.cure).filter(Boolean);
  if (cures[0].whole_variable) return cures[0];
  const sum = (key) => cures.reduce((n, c) => n + c[key], 0);
  return { ...cures[0], before: sum("before"), after: sum("after") };
}

/** `tex of 512×512 texels of 16 bytes, linear filter`. */
function textureWords(access) {
  const t = access.texture, size = t.size.filter((n) => n > 0).map(thousands).join("×");
  const parts = [`${t.operation} of ${size} texels of ${plural(t.texel_bytes, "byte")} in ${t.layout}`];
  if (t.layers) parts.push(plural(t.layers, /cube/.test(t.geometry) ? "face" : "layer"));
  if (t.levels > 1) parts.push(`${t.levels} levels`);
  if (t.filter) parts.push(`${t.filter} filter`);
  return parts.join(", ");
}

function accessCard(kernel, group) {
  const index = group[0];
  const access = kernel.accesses[index], on = access.gpus[state.gpu], variable = kernel.variables[access.variable];
  const what = access.texture ? textureWords(access) : `${spaceWords(access.space)} ${access.kind}${access.operation ? " " + access.operation : ""} of ${plural(access.width, "byte")}`;
  const source = sourceLine(access.file, access.line);
  const others = report.gpus.length > 1 && report.gpus.some((_, n) => access.gpus[n].picture)
    ? make("details", {}, make("summary", {}, "The same access on the other GPUs"),
      make("div", { class: "side" }, report.gpus.map((g, n) => n === state.gpu ? null
        : make("div", {}, make("h3", {}, `${g.compute_capability} ${g.card}`), pictures(access, access.gpus[n], g)))))
    : null;
  return make("article", { class: "card", "data-access": index },
    make("h3", {}, make("code", {}, variable ? variable.name : "?"), ` · ${group.length > 1 ? `${group.length} × ` : ""}${what} · `,
      access.line ? make("button", { type: "button", class: "link", "data-key": `access${index}`, onclick: () => openLine(access.file, access.line) }, `${baseName(access.file)}:${access.line}`) : "no line",
      access.header ? make("span", { class: "soft" }, ` (by a function of ${baseName(access.header.split(":")[0])}; the line is the program's nearest)`) : null),
    source ? make("p", {}, make("code", {}, source.trim())) : null,
    make("p", { class: "soft" }, `${plural(group.reduce((n, g) => n + kernel.accesses[g].executions, 0), "execution")}, ${access.active_lanes.toFixed(1)} lanes active. `,
      make("span", { class: "tag" }, on.machine || access.instruction), " ",
      access.texture ? `${thousands(on.texels)} texels, ${access.texture.texels_per_lane.toFixed(1)} a lane${access.texture.outside ? `, ${thousands(access.texture.outside)} outside of it` : ""}. ` : null,
      on.rule.text ? make("span", { class: "tag", title: on.rule.place }, `${on.rule.source}: ${on.rule.text}`) : null,
      access.inlined_at.length ? ` Inlined at ${access.inlined_at.map(baseName).join(", ")}.` : ""),
    on.finding ? make("p", { class: "cause" }, prose(on.finding.cause)) : make("p", { class: "good" }, access.texture && on.sectors > on.sectors_ideal
      ? "Nothing stands out: texels beside these, in the same sectors, are there for the warps next to this one." : "This access costs no more than it must."),
    on.finding && on.finding.cure ? [make("p", { class: "cure" }, prose(on.finding.cure.text)), gainBars(together(kernel, group), variable)] : null,
    ...compared(access, on),
    access.patterns > 1 ? make("p", { class: "soft" }, `The picture shows the costliest of ${thousands(access.patterns)} address patterns, seen ${plural(access.pattern.count, "time")}.`) : null,
    others);
}

/** The pictures of an access as it is, and as it would be with its cure. */
function compared(access, on) {
  const now = pictures(access, on, gpu());
  const cured = on.finding && on.finding.cure && on.finding.cure.picture;
  if (!cured) return now;
  const mask = [...cured.bank_requests, ...cured.segments, ...cured.places].flatMap((part) => part.lanes).reduce((m, l) => m | 1 << l, 0);
  const then = pictures({ ...access, cured: true, pattern: { ...access.pattern, mask } }, { ...on, picture: cured }, gpu());
  return [make("h4", {}, "Now"), ...now, make("h4", { class: "good" }, "With the cure: the same lanes, the same work"),
    make("div", { "data-cured": access.gpus.indexOf(on) }, then)];
}

function sourceLine(file, line) {
  const text = report.sources[file];
  return text && line > 0 ? text.split("\n")[line - 1] || "" : "";
}

function openLine(file, line) {
  state.line = `${file}:${line}`;
  draw();
  const row = document.querySelector("tr.open");
  if (row) row.scrollIntoView({ block: "nearest" });
}

/** The accesses of the kernel that have most to gain, or those of the line that is open. */
function accessSection(kernel) {
  const gain = (n) => {
    const f = kernel.accesses[n].gpus[state.gpu].finding;
    return f ? 1 + (f.cure ? f.cure.before - f.cure.after : 0) : 0;
  };
  const all = kernel.accesses.map((_, n) => n);
  let chosen, title;
  if (state.line) {
    chosen = all.filter((n) => `${kernel.accesses[n].file}:${kernel.accesses[n].line}` === state.line);
    title = `Accesses of ${baseName(state.line)}`;
  } else {
    chosen = all.filter((n) => gain(n) > 0).sort((a, b) => gain(b) - gain(a));
    title = "What costs most";
    if (chosen.length === 0) {
      chosen = all.filter((n) => kernel.accesses[n].space === "shared");
      for (const space of ["texture", "surface", "global"]) chosen = chosen.concat(all.filter((n) => kernel.accesses[n].space === space));
      title = "Nothing to gain: how the accesses go";
    }
  }
  const groups = alike(kernel, chosen);
  const shown = groups.slice(0, 8);
  const rest = groups.slice(8);
  return make("section", {}, make("h2", {}, title),
    state.line ? make("p", {}, make("button", { type: "button", "data-key": "all", onclick: () => choose({ line: null }) }, "All of the kernel")) : null,
    shown.length === 0 ? make("p", { class: "soft" }, "No memory is accessed here.") : null,
    shown.map((n) => accessCard(kernel, n)),
    rest.length ? make("details", {}, make("summary", {}, `${rest.length} more`), rest.slice(0, 40).map((n) => accessCard(kernel, n))) : null);
}

function sourceSection(kernel) {
  // Headers without accesses say nothing.
  const work = (f) => kernel.lines.some((l) => l.file === f && l.accesses.length > 0);
  const files = [...new Set(kernel.lines.map((l) => l.file))].filter((f) => report.sources[f] && work(f));
  if (files.length === 0) return null;
  const section = make("section", {}, make("h2", {}, "Source"),
    make("p", { class: "soft" }, "The warmer a line, the more of the kernel's memory work is on it. Choose one to see its accesses."));
  for (const file of files) {
    const by = new Map(kernel.lines.filter((l) => l.file === file).map((l) => [l.line, l]));
    const top = Math.max(1, ...kernel.lines.map((l) => l.weight[state.gpu]));
    const rows = report.sources[file].split("\n").map((text, n) => {
      const line = by.get(n + 1);
      const heat = line ? line.weight[state.gpu] / top : 0;
      const extra = line && line.weight[state.gpu] > 0 ? line.excess[state.gpu] / line.weight[state.gpu] : 0;
      const go = line && line.accesses.length ? () => openLine(file, n + 1) : null;
      const row = make("tr", { class: [line ? "hot" : "", heat >= 1 ? "hottest" : "", state.line === `${file}:${n + 1}` ? "open" : ""].join(" ").trim() || null,
        style: heat > 0 ? `background:rgba(var(--heat),${(.06 + .34 * heat).toFixed(3)})` : null,
        "data-line": n + 1, "data-weight": line ? line.weight[state.gpu] : null, onclick: go },
        make("td", { class: "n" }, go ? make("button", { type: "button", class: "link", "data-key": `line${file}:${n + 1}`,
          "aria-label": `Line ${n + 1}: its accesses`, "aria-pressed": String(state.line === `${file}:${n + 1}`) }, String(n + 1)) : String(n + 1)),
        make("td", { class: "n" }, line ? thousands(line.warp_instructions) : ""),
        make("td", { class: "n" }, line && line.weight[state.gpu] ? thousands(line.weight[state.gpu]) : ""),
        make("td", { class: "n" }, extra > .01 ? `+${Math.round(100 * extra)} %` : ""),
        make("td", { class: "code" }, text || " "));
      return row;
    });
    section.append(make("h3", {}, baseName(file)), make("div", { class: "source", tabindex: "0", role: "region", "aria-label": `Source ${baseName(file)}` },
      make("table", {}, make("thead", {}, make("tr", {}, ["Line", "Warp instr.", "Memory work", "Avoidable", "Code"].map((t, n) =>
        make("th", { scope: "col", class: n === 4 ? "left" : null }, t)))), make("tbody", {}, rows))));
  }
  return section;
}

/** Where a variable comes from. */
function kindWords(kind) {
  if (kind === "dynamic_shared") return `dynamic ${say("shared", "local")} memory`;
  if (kind === "texture") return say("texture or surface", "image");
  return words(kind);
}

function detailTables(kernel) {
  const variables = kernel.variables.map((v) => make("tr", {},
    make("td", {}, make("code", {}, v.name)), make("td", { class: "left" }, kindWords(v.kind)), make("td", {}, v.size ? thousands(v.size) : "–"),
    make("td", { class: "left" }, Object.entries(v.totals[state.gpu].spaces).map(([name, cell]) => {
      const [cost, , unit] = costOf(name, cell, gpu());
      return `${spaceWords(name)}: ${thousands(cost)} ${unit}`;
    }).join("; "))));
  const arithmetic = Object.entries(kernel.arithmetic).sort((a, b) => b[1].warp_instructions - a[1].warp_instructions).map(([name, a]) => make("tr", {},
    make("td", {}, words(name)), make("td", {}, thousands(a.warp_instructions)), make("td", {}, (a.thread_instructions / Math.max(1, a.warp_instructions)).toFixed(1)),
    make("td", {}, a.clocks[state.gpu] === null ? "–" : thousands(a.clocks[state.gpu]))));
  const metrics = Object.entries(kernel.totals[state.gpu].metrics).map(([name, value]) => make("tr", {}, make("td", { class: "mono" }, name), make("td", {}, thousands(value))));
  const table = (heads, rows) => make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, heads.map((t) => make("th", { scope: "col" }, t)))), make("tbody", {}, rows)));
  return make("section", {},
    make("details", {}, make("summary", {}, "Variables"), table(["Variable", "Kind", "Bytes", "Accesses"], variables)),
    make("details", {}, make("summary", {}, "Arithmetic and control"),
      make("p", { class: "soft" }, `Clocks are those of one multiprocessor's units, by the guide's table of throughputs. ${thousands(kernel.branches.divergent)} of ${plural(kernel.branches.executions, "branch", "branches")} sent lanes both ways.`),
      table(["Kind", "Warp instructions", "Active lanes", "Clocks"], arithmetic)),
    make("details", {}, make("summary", {}, "Nsight Compute's names"), table(["Metric", "Sum"], metrics)));
}

function launchSection() {
  const l = report.launches, columns = new Map(l.columns.map((c, n) => [c, n]));
  const at = (row, name) => row[columns.get(name)];
  const dims = (row, name) => ["x", "y", "z"].map((d) => at(row, `${name}_${d}`)).join("×");
  const rows = l.rows.slice(0, state.launches).map((row) => make("tr", {},
    make("td", { class: "name mono" }, (report.kernels[at(row, "kernel")] || { name: "?" }).name), make("td", {}, thousands(at(row, "times"))),
    make("td", {}, dims(row, "grid")), make("td", {}, dims(row, "block")), make("td", {}, thousands(at(row, "warp_instructions"))),
    make("td", {}, thousands(at(row, "shared_wavefronts"))), make("td", {}, thousands(at(row, "global_sectors"))),
    make("td", { class: "left bad" }, at(row, "failure") || "")));
  return make("section", {}, make("details", {},
    make("summary", {}, `Launches (${thousands(l.total)})`),
    make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, ["Kernel", "In a row", "Grid", "Block", "Warp instructions", "Shared passes", "Global sectors", ""].map((t) => make("th", { scope: "col" }, t)))),
      make("tbody", {}, rows))),
    l.rows.length > state.launches ? make("button", { type: "button", onclick: () => choose({ launches: state.launches + 1000 }) }, "More") : null,
    l.left_out ? make("p", { class: "soft" }, `${thousands(l.left_out)} launches more are in the kernels' totals only.`) : null));
}

/** What --check found in the same run. */
function checkSection() {
  const found = report.checks ?? [];
  if (found.length === 0) return null;
  const counts = ["error", "warning", "note"].map((s) => [s, found.filter((f) => f.severity === s).length]).filter(([, n]) => n > 0);
  const place = (s) => s.line ? `${baseName(s.file ?? "")}:${s.line}` : s.ptx_line ? `PTX line ${s.ptx_line}` : s.function || "no line";
  const who = (a, opencl) => a.host ? "the host program" : `${opencl ? "work-group" : "block"} (${a.block.join(",")})` +
    (a.thread ? `, ${opencl ? "work-item" : "thread"} (${a.thread.join(",")})` : "");
  const side = (opencl) => (a) => make("tr", {}, make("td", {}, a.action), make("td", { class: "left" }, make("code", {}, place(a.source))),
    make("td", { class: "left" }, who(a, opencl)), make("td", { class: "left code" }, sourceLine(a.source.file, a.source.line).trim()));
  const card = (f) => {
    const kernel = report.kernels.find((k) => k.symbol === f.kernel);
    const opencl = f.words === "opencl";
    return make("article", { class: `card check ${f.severity}`, "data-check": f.code, "data-severity": f.severity },
      make("h3", {}, make("span", { class: `badge ${f.severity}` }, f.severity), " ", make("code", {}, f.code), " in ",
        make("code", {}, kernel ? kernel.name : f.kernel), f.count > 1 ? make("span", { class: "soft" }, ` · ${thousands(f.count)} times`) : null),
      make("p", {}, prose(sentence(f.message))),
      f.cure ? make("p", { class: "cure" }, prose(sentence(f.cure))) : null,
      f.actors.length ? make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Who: ${f.code}` }, make("table", { class: "actors" }, make("thead", {}, make("tr", {},
        ["What", "Where", "Who", "Source"].map((t) => make("th", { scope: "col", class: "left" }, t)))), make("tbody", {}, f.actors.map(side(opencl))))) : null);
  };
  return make("section", { "aria-labelledby": "checks" }, make("h2", { id: "checks" }, "Findings of the checks"),
    make("p", { class: "soft" }, `${counts.map(([s, n]) => plural(n, s)).join(", ")}. Counts below are those of the same run.`),
    found.slice(0, 3).map(card),
    found.length > 3 ? make("details", {}, make("summary", {}, `${found.length - 3} more`), found.slice(3, 200).map(card),
      found.length > 200 ? make("p", { class: "soft" }, `and ${found.length - 200} more in the JSON report.`) : null) : null);
}

/** With a capital and a full stop. */
const sentence = (text) => text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "";

/** What a constant cache of a chosen size did. */
function constantSection() {
  const c = report.constant_cache;
  if (!c) return null;
  const rows = c.rows.map((r) => make("tr", { "data-constant": r.variable, "data-hits": r.hits, "data-misses": r.misses },
    make("td", { class: "name mono" }, r.kernel), make("td", { class: "left" }, make("code", {}, r.variable)), make("td", {}, thousands(r.size)),
    make("td", {}, thousands(r.launches)), make("td", {}, thousands(r.hits + r.misses), bar(r.hits + r.misses, r.hits, r.hits + r.misses)),
    make("td", {}, `${(100 * r.hits / Math.max(1, r.hits + r.misses)).toFixed(1)} %`), make("td", {}, thousands(r.emptied)),
    make("td", { class: r.hint ? "left bad" : "left good" }, r.hint ? prose(sentence(r.hint)) : "stays in the cache")));
  return make("section", { "aria-labelledby": "constants" }, make("h2", { id: "constants" }, `Constant cache of ${thousands(c.bytes)} bytes`),
    make("p", { class: "soft" }, "Modelled, for the size that was chosen: each multiprocessor has one, it lives across launches, and a write of the host empties it."),
    rows.length === 0 ? make("p", {}, "No kernel read constant memory.") : make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, ["Kernel", "Variable", "Bytes", "Launches", "Lines read", "Hits", "Emptied", "What would help"].map((t, n) =>
        make("th", { scope: "col", class: n === 1 || n === 7 ? "left" : null }, t)))), make("tbody", {}, rows))));
}

/** Hit rates that a model gives for the GPU that the program ran on. */
function cacheSentence(kernel) {
  const c = kernel.caches ?? {}, part = (rate) => `${Math.round(100 * rate)} %`, parts = [];
  if (c.l1_hit_rate != null) parts.push(`L1 (${c.l1_bytes >> 10} KB) ${part(c.l1_hit_rate)}`);
  if (c.l2_hit_rate != null) parts.push(`L2 ${part(c.l2_hit_rate)}`);
  if (c.texture_hit_rate != null) parts.push(`texture (${c.texture_bytes >> 10} KB) ${part(c.texture_hit_rate)}`);
  if (c.constant_hit_rate != null) parts.push(`constants (${c.constant_bytes >> 10} KB) ${part(c.constant_hit_rate)}`);
  return parts.length ? make("p", { class: "soft caches" }, `Cache hits on ${report.gpus[0].card}, modelled: ${parts.join(", ")}.`) : null;
}

function glossary() {
  const terms = [
    ["kernel", "a function that the GPU runs with many threads at once"],
    ["launch", "one run of a kernel: a grid of blocks of threads"],
    ["warp", "32 threads that execute each instruction together"],
    ["lane", "a thread's seat in its warp, 0 to 31"],
    ["bank", "shared memory is split into 32 (16 on 1.x) banks, each 4 bytes wide; each serves one word at a time"],
    ["pass", "one turn of all banks; lanes that want different words of one bank need several. Nsight Compute and the JSON report say wavefront"],
    ["sector", "32 bytes, the least that moves between the caches and memory on newer GPUs"],
    ["transaction", "32, 64 or 128 bytes that older GPUs move at once"],
    ["request", "what an instruction asks of the memory at a time"],
    ["occupancy", "how many warps a multiprocessor holds, of those it could"],
  ];
  if (report.kernels.some(isOpenCl)) terms.push(
    ["work-item", "OpenCL's word for a thread"],
    ["work-group", "OpenCL's word for a block of threads"],
    ["NDRange", "OpenCL's word for a grid"],
    ["local memory", "in OpenCL what CUDA calls shared memory; CUDA's local memory is a thread's own"],
    ["private memory", "in OpenCL a work-item's own: registers, and what CUDA calls local memory"],
    ["image", "OpenCL's word for what CUDA reads as a texture and writes as a surface"]);
  return make("section", {}, make("details", {}, make("summary", {}, "Words used here"),
    make("dl", { class: "glossary" }, terms.flatMap(([t, d]) => [make("dt", {}, t), make("dd", {}, d)]))));
}

/** Grid and block, in both languages' words for OpenCL. */
function shapeWords(kernel) {
  const r = kernel.resources, count = (d) => d.reduce((n, x) => n * x, 1);
  const plain = `grid ${r.grid.join("×")}, block ${r.block.join("×")}`;
  return isOpenCl(kernel) ? `${plural(count(r.grid), "work-group")} of ${plural(count(r.block), "work-item")} (${plain})` : plain;
}

function draw() {
  const key = document.activeElement && document.activeElement.dataset.key;
  controls();
  const kernel = report.kernels[state.kernel];
  main.replaceChildren(...[...(report.notes ?? []).map((n) => make("p", { class: "note" }, n)), checkSection(), kernelTable(), constantSection(),
    make("section", { "aria-labelledby": "kernel" },
      make("h2", { id: "kernel" }, make("code", {}, kernel.name)),
      make("p", { class: "soft" }, `${plural(kernel.launches, "launch", "launches")}, ${shapeWords(kernel)}; ` +
        (kernel.launched_by ? `launched from device code by ${kernel.launched_by.join(" and ")}; ` : "") +
        `${thousands(kernel.warp_instructions)} warp instructions, ${kernel.active_lanes.toFixed(1)} of 32 lanes active.`),
      sideBySide(kernel), cacheSentence(kernel)),
    accessSection(kernel), sourceSection(kernel),
    make("section", {}, occupancySection(kernel)), detailTables(kernel), launchSection(), glossary()].filter(Boolean));
  for (const box of document.querySelectorAll(".source")) {
    const row = box.querySelector("tr.open") || box.querySelector("tr.hottest");
    if (row) box.scrollTop = Math.max(0, row.offsetTop - 160);
  }
  document.getElementById("told").textContent = `${kernel.name} on ${gpu().card}${state.line ? `, ${baseName(state.line)}` : ""}`;
  // What had the focus was drawn anew.
  const again = key && [...document.querySelectorAll("[data-key]")].find((e) => e.dataset.key === key);
  if (again) again.focus({ preventScroll: true });
  document.body.dataset.ready = "true";
}

/** Opens the next line with accesses, or the one before. */
function stepLine(by) {
  const lines = report.kernels[state.kernel].lines.filter((l) => l.line > 0 && l.accesses.length > 0 && report.sources[l.file])
    .sort((a, b) => a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line);
  if (lines.length === 0) return;
  const at = lines.findIndex((l) => `${l.file}:${l.line}` === state.line);
  const next = at < 0 ? (by > 0 ? 0 : lines.length - 1) : (at + by + lines.length) % lines.length;
  openLine(lines[next].file, lines[next].line);
}

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  const turn = (n, by, of) => (n + by + of) % of;
  if (e.key === "]") choose({ kernel: turn(state.kernel, 1, report.kernels.length), line: null });
  else if (e.key === "[") choose({ kernel: turn(state.kernel, -1, report.kernels.length), line: null });
  else if (e.key === "g") choose({ gpu: turn(state.gpu, 1, report.gpus.length) });
  else if (e.key === "t") theme();
  else if (e.key === "n") stepLine(1);
  else if (e.key === "p") stepLine(-1);
  else if (e.key === "Escape" && state.line) choose({ line: null });
});
draw();
