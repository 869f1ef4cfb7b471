// SPDX-License-Identifier: MIT OR Apache-2.0
// Pictures of one access of a warp: lanes against banks, segments or addresses. Everything that is drawn
// stands in the report's JSON; `data-…` attributes repeat it, so that a test can compare.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; text becomes text, never markup. */
function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  return dress(node, attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, name), attributes, children);
}

function dress(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "onclick") node.addEventListener("click", value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

/** A sentence in which `names` stand in backticks. */
function prose(text) {
  return text.split("`").map((part, n) => n % 2 === 1 ? make("code", {}, part) : part);
}

const lanesAre = () => `${say("threads", "work-items")} of a warp`;
const thousands = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (n, one, many = one + "s") => `${thousands(n)} ${n === 1 ? one : many}`;

/** The row of 32 lanes; returns where each is. */
function lanesRow(svg, mask, width, y) {
  const step = width / 32;
  const at = [];
  for (let l = 0; l < 32; l++) {
    const on = (mask >>> l & 1) === 1;
    const x = step * (l + .5);
    at.push(x);
    svg.append(
      shape("circle", { cx: x, cy: y, r: Math.min(10, step * .42), class: on ? "lane" : "lane idle", "data-lane": l }),
      shape("text", { x, y: y + 3, "text-anchor": "middle", class: "lane-text" }, String(l)));
  }
  return at;
}

function wire(x1, y1, x2, y2, clash) {
  const middle = (y1 + y2) / 2;
  return shape("path", { d: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`, class: clash ? "wire clash" : "wire" });
}

function label(svg, x, y, text, soft = true, anchor = "start") {
  svg.append(shape("text", { x, y, class: soft ? "soft" : null, "text-anchor": anchor }, text));
}

/** Which addresses share a bank, and why. */
function bankRule(bankCount, wideBanks) {
  const row = bankCount * (wideBanks ? 8 : 4);
  return `Word after word goes to bank after bank, and after ${bankCount} words of ${wideBanks ? 8 : 4} bytes the first bank is next again: ` +
    `places ${row} bytes apart (${bankCount} × ${wideBanks ? 8 : 4}), or a multiple of that, share a bank.`;
}

/** Lanes above, banks below; the pile under a bank is the passes that it needs. */
function drawBanks(access, picture, bankCount, wideBanks) {
  const width = 960, laneY = 40, bankY = 130;
  const deepest = Math.max(1, ...picture.bank_requests.flatMap((r) => r.banks.map((b) => b.passes)));
  const unit = Math.min(14, 150 / deepest);
  const parts = picture.bank_requests.map((request, n) => {
    const height = bankY + 30 + deepest * unit + 24;
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "data-kind": "banks", "data-request": n,
      "aria-label": `Request ${n + 1}: ${request.banks.length} banks touched, ${Math.max(0, ...request.banks.map((b) => b.passes))} passes` });
    label(svg, 0, 16, picture.bank_requests.length > 1
      ? `Lanes (${lanesAre()}), request ${n + 1} of ${picture.bank_requests.length}` : `Lanes: the 32 ${lanesAre()}`);
    const mask = request.lanes.reduce((m, l) => m | 1 << l, 0);
    const step = width / bankCount;
    const by = new Map(request.banks.map((b) => [b.bank, b]));
    const wires = shape("g");
    svg.append(wires);
    const at = lanesRow(svg, mask, width, laneY);
    for (let b = 0; b < bankCount; b++) {
      const bank = by.get(b);
      const x = step * b;
      const passes = bank ? bank.passes : 0;
      svg.append(shape("rect", { x: x + 1, y: bankY, width: step - 2, height: 24, rx: 3,
        class: passes > 1 ? "busy" : passes === 1 ? "fine" : "cell", "data-bank": b, "data-passes": passes }));
      label(svg, x + step / 2, bankY + 16, String(b), passes === 0, "middle");
      for (let p = 0; p < passes; p++) {
        svg.append(shape("rect", { x: x + step * .2, y: bankY + 28 + p * unit, width: step * .6, height: Math.max(1, unit - 1.5),
          class: passes > 1 ? "busy" : "fine" }));
      }
      if (passes > 1) label(svg, x + step / 2 + step * .4, bankY + 24 + passes * unit, plural(passes, "pass", "passes"), false);
      if (!bank) continue;
      for (const word of bank.words) for (const l of word.lanes)
        wires.append(wire(at[l], laneY + 9, x + step / 2, bankY, passes > 1));
    }
    label(svg, 0, bankY + 44 + deepest * unit, `Banks of ${say("shared", "local")} memory. Under each: the passes it needs, one word a pass.`);
    return svg;
  });
  const deepestText = deepest > 1
    ? `The fullest bank needs ${deepest} passes, and all lanes wait for the last of them.`
    : `No bank needs more than one pass.`;
  const taken = `the warp's access takes ${plural(picture.wavefronts, "pass", "passes")}. ${deepestText}`;
  if (access.cured) return figure(parts, `Then ${taken}${deepest > 1 ? "" : further(picture, bankCount)}`);
  return figure(parts, `${openCl() ? "Local (shared)" : "Shared"} memory is ${bankCount} banks side by side, and each gives one word at a time. ` +
    `${bankRule(bankCount, wideBanks)} Here ${taken}`);
}

/** How far each lane's bank is from that of the lane before, if that is the same for all. */
function further(picture, bankCount) {
  if (picture.bank_requests.length !== 1) return "";
  const bankOf = new Map(picture.bank_requests[0].banks.flatMap((b) => b.words.flatMap((word) => word.lanes.map((lane) => [lane, b.bank]))));
  const steps = new Set([...bankOf].filter(([lane]) => bankOf.has(lane + 1))
    .map(([lane, bank]) => (bankOf.get(lane + 1) - bank + bankCount) % bankCount));
  const [step] = steps;
  if (steps.size !== 1 || step === 0) return "";
  return ` Each lane's word now lies ${step === 1 ? "one bank" : `${step} banks`} further on than that of the lane before, so that no two meet.`;
}

/** Lanes above, pieces of memory below; the filled part of a piece is what lanes asked for. */
function drawSegments(access, picture, unit) {
  const texture = access.texture;
  const width = 960, laneY = 40, rowY = 120, perRow = 16, shown = picture.segments.slice(0, 64);
  const rows = Math.ceil(shown.length / perRow);
  const height = rowY + rows * 58 + 14;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "data-kind": "segments",
    "data-segments": picture.segments.length, "aria-label": `${picture.segments.length} transactions` });
  const wires = shape("g");
  svg.append(wires);
  label(svg, 0, 16, `Lanes: the 32 ${lanesAre()}`);
  const lanes = picture.segments.flatMap((s) => s.lanes).reduce((m, l) => m | 1 << l, 0);
  const at = lanesRow(svg, texture ? lanes : access.pattern.mask, width, laneY);
  const step = width / Math.max(Math.min(shown.length, perRow), 4);
  shown.forEach((s, n) => {
    const x = (n % perRow) * step + 3, y = rowY + Math.floor(n / perRow) * 58, w = step - 6;
    const part = Math.min(1, s.bytes_used / s.bytes);
    svg.append(shape("rect", { x, y, width: w, height: 22, rx: 3, class: "waste", "data-offset": s.offset, "data-bytes": s.bytes, "data-used": s.bytes_used }));
    svg.append(shape("rect", { x, y, width: w * part, height: 22, rx: 3, class: "used" }));
    label(svg, x + w / 2, y + 36, `${s.bytes_used} of ${s.bytes}`, true, "middle");
    for (const l of s.lanes) wires.append(wire(at[l], laneY + 9, x + w / 2, y, part < .5));
  });
  const moved = picture.segments.reduce((n, s) => n + s.bytes, 0);
  const used = picture.segments.reduce((n, s) => n + s.bytes_used, 0);
  if (picture.segments.length > shown.length) label(svg, 0, height - 4, `and ${picture.segments.length - shown.length} more`);
  const what = texture ? "Texels move in sectors of 32 bytes; how they lie in memory is a model. " : access.space === "local" ? openCl() ? "Each work-item's private memory (a thread's local memory) is interleaved, so that equal places lie together. " : "Each thread's own local memory is interleaved, so that equal places lie together. " : "";
  return figure([svg], `${what}Memory is moved in whole pieces. This access moves ${plural(picture.segments.length, "piece")} ` +
    `(${plural(moved, "byte")}) for ${plural(used, "byte")} that the lanes asked for: ` +
    `${Math.round(100 * used / Math.max(1, moved))} % of the traffic is of use. Green is used, the rest is moved for nothing. ` +
    `Counted here in ${unit}: ${thousands(unit === "sectors" ? picture.sectors : picture.transactions)}.`);
}

/** Lanes above, different addresses below: one is served at a time. */
function drawPlaces(access, picture) {
  const width = 960, laneY = 40, rowY = 120, shown = picture.places.slice(0, 32);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${rowY + 56}`, role: "img", "data-kind": "places",
    "data-places": picture.places.length, "aria-label": `${picture.places.length} different addresses` });
  const wires = shape("g");
  svg.append(wires);
  label(svg, 0, 16, `Lanes: the 32 ${lanesAre()}`);
  const at = lanesRow(svg, access.pattern.mask, width, laneY);
  const step = width / Math.max(shown.length, 4);
  const many = picture.places.length > 1;
  shown.forEach((p, n) => {
    const x = n * step + 3, w = step - 6;
    svg.append(shape("rect", { x, y: rowY, width: w, height: 24, rx: 3, class: many ? "busy" : "fine", "data-offset": p.offset, "data-count": p.lanes.length }));
    label(svg, x + w / 2, rowY + 16, `+${p.offset}`, false, "middle");
    for (const l of p.lanes) wires.append(wire(at[l], laneY + 9, x + w / 2, rowY, many));
  });
  const atomic = access.kind === "atomic" || access.kind === "reduction";
  const deepest = Math.max(1, ...picture.places.map((p) => p.lanes.length));
  const text = atomic
    ? `An update of a word must finish before the next of that word begins. Up to ${plural(deepest, "lane")} meet at one word here.`
    : `Constant memory gives one address at a time to all lanes that want it. Here they want ${plural(picture.places.length, "different address", "different addresses")}.`;
  return figure([svg], text);
}

/** The texels that a warp reached, where they lie in the image: the boxes are sectors, each texel has its lanes' number. */
function drawTexels(access, picture) {
  const first = picture.texels[0];
  const plane = picture.texels.filter((t) => t.layer === first.layer && t.level === first.level && t.at[2] === first.at[2]);
  const [xs, ys] = [plane.map((t) => t.at[0]), plane.map((t) => t.at[1])];
  const bytes = access.texture.texel_bytes;
  // Whole sectors.
  const across = access.texture.layout === "tiles" ? Math.max(1, Math.floor(16 / bytes)) : Math.max(1, Math.floor(32 / bytes));
  const down = access.texture.layout === "tiles" ? 2 : 1;
  const left = Math.floor(Math.min(...xs) / across) * across, top = Math.floor(Math.min(...ys) / down) * down;
  const columns = Math.ceil((Math.max(...xs) + 1 - left) / across) * across, rows = Math.ceil((Math.max(...ys) + 1 - top) / down) * down;
  if (columns > 48 || rows > 34) return null;
  const unit = Math.min(34, 900 / columns), marginX = 44, marginY = 22;
  const width = Math.max(420, marginX + columns * unit + 4), height = marginY + rows * unit + 6;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "data-kind": "texels", "data-texels": picture.texels.length,
    style: `max-width:${Math.round(width)}px`, "aria-label": `${plane.length} texels in an area of ${columns} by ${rows}` });
  const by = new Map();
  for (const t of plane) {
    const key = `${t.at[0]},${t.at[1]}`;
    by.set(key, [...(by.get(key) ?? []), t.lane]);
  }
  for (let y = 0; y < rows; y++) for (let x = 0; x < columns; x++) {
    const found = by.get(`${left + x},${top + y}`);
    svg.append(shape("rect", { x: marginX + x * unit + .5, y: marginY + y * unit + .5, width: unit - 1, height: unit - 1,
      class: found ? "used" : "cell", "data-x": found ? left + x : null, "data-y": found ? top + y : null }));
    if (found && unit >= 16) svg.append(shape("text", { x: marginX + (x + .5) * unit, y: marginY + (y + .5) * unit + 3, "text-anchor": "middle", class: "lane-text" },
      found.length > 1 && unit < 30 ? `${found.length}×` : found.length > 2 ? `${found[0]}…` : found.join(",")));
  }
  const lit = new Set(plane.map((t) => `${Math.floor((t.at[0] - left) / across)},${Math.floor((t.at[1] - top) / down)}`));
  for (const box of lit) {
    const [x, y] = box.split(",").map(Number);
    svg.append(shape("rect", { x: marginX + x * across * unit, y: marginY + y * down * unit, width: across * unit, height: down * unit, class: "sector" }));
  }
  label(svg, marginX, 14, `column ${thousands(left)} on`);
  label(svg, 0, marginY + 12, `row ${thousands(top)}`);
  const rest = picture.texels.length - plane.length;
  return figure([svg], `Where the warp's texels lie in the image, each with the lane that asked for it. A frame is a 32-byte sector: ` +
    (down === 2 ? `in an array it holds 16 bytes of two rows. ` : `the rows lie one behind the other. `) +
    (rest > 0 ? `${plural(rest, "texel")} of other slices, layers or levels are not shown.` : ""));
}

function figure(parts, caption) {
  return make("figure", { class: "wide" }, make("figcaption", {}, caption), parts);
}

/** The pictures of an access on one GPU. */
function pictures(access, on, gpu) {
  const picture = on.picture;
  if (!picture) return [make("p", { class: "soft" }, "No picture is kept of this access: there are costlier ones.")];
  const out = [];
  const old = gpu.compute_capability.startsWith("1.");
  const atomic = access.kind === "atomic" || access.kind === "reduction";
  if (picture.bank_requests.length > 0) out.push(drawBanks(access, picture, old ? 16 : 32, gpu.compute_capability.startsWith("3.")));
  if (picture.texels && picture.texels.length > 0) out.push(drawTexels(access, picture));
  if (picture.segments.length > 0 && access.texture) out.push(drawSegments(access, picture, "sectors"));
  else if (picture.segments.length > 0 && !atomic) out.push(drawSegments(access, picture, gpu.global_unit));
  if (picture.places.length > 0) out.push(drawPlaces(access, picture));
  return out.filter(Boolean);
}
