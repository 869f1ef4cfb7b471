// SPDX-License-Identifier: MIT OR Apache-2.0
// Bars and curves.
"use strict";

/** A bar of `value` against `most`; the part up to `best` is green. */
function bar(value, best, most) {
  const part = (n) => `width:${most > 0 ? Math.min(100, 100 * n / most) : 0}%`;
  return make("span", { class: "bar", "aria-hidden": "true" },
    make("i", { style: part(value) }), make("b", { style: part(Math.min(value, best)) }));
}

/** Cost, least cost and unit of a kind of access on a GPU. */
function costOf(name, cell, gpu) {
  const space = name.split("_")[0];
  if (space === "shared") return [cell.wavefronts, cell.wavefronts_ideal, "passes"];
  if (space === "constant" || space === "parameter") return [cell.requests, cell.requests - cell.replays, "requests"];
  if (space === "texture" || space === "surface") return [cell.sectors, cell.sectors_ideal, "sectors (modelled)"];
  if (gpu.global_unit === "sectors") return [cell.sectors, cell.sectors_ideal, "sectors"];
  // Pieces differ in size, so the least is by bytes.
  const part = cell.bytes_moved > 0 ? Math.min(1, 32 * cell.sectors_ideal / cell.bytes_moved) : 1;
  return [cell.transactions, cell.transactions * part, "transactions"];
}

/** Resident warps at each block size or register count, and where the kernel is. */
function occupancyChart(info, values, title, unit, here) {
  const width = 420, height = 170, left = 34, bottom = 26, top = 12;
  const most = info.max_warps_per_sm;
  const x = (n) => left + (width - left - 8) * n / (values.length - 1);
  const y = (w) => height - bottom - (height - bottom - top) * w / most;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "data-kind": "occupancy",
    "aria-label": `${title}: ${info.warps_per_sm} of ${most} warps resident` });
  for (const w of [0, most / 2, most]) {
    svg.append(shape("line", { x1: left, x2: width - 8, y1: y(w), y2: y(w), class: "axis" }));
    label(svg, left - 4, y(w) + 4, String(w), true, "end");
  }
  let path = "";
  values.forEach((w, n) => { path += n === 0 ? `M${x(n)} ${y(w)}` : `H${(x(n - 1) + x(n)) / 2}V${y(w)}H${x(n)}`; });
  svg.append(shape("path", { d: path, class: "plot" }));
  for (const n of [0, Math.round((values.length - 1) / 2), values.length - 1]) label(svg, x(n), height - 8, thousands((n + 1) * unit), true, "middle");
  const at = Math.min(values.length - 1, Math.max(0, here / unit - 1));
  svg.append(shape("circle", { cx: x(at), cy: y(info.warps_per_sm), r: 5, class: "dot", "data-warps": info.warps_per_sm }));
  return make("figure", {}, make("figcaption", {}, title), svg);
}
