// Small charts in SVG, each with its meaning in words for those who do not see it.

import { el, percent, sum, svg } from "./dom.js";
import { WHO } from "./words.js";

export function meter(value, limit) {
  const share = limit ? Math.min(1, (value ?? 0) / limit) : 0;
  const fill = el("div", { class: limit && value > limit ? "bar-fill over" : "bar-fill" });
  fill.style.width = `${100 * share}%`;
  return el("div", { class: "meter", "aria-hidden": "true" }, fill);
}

export function whoBar(counts) {
  const parts = Object.entries(counts).map(([who, count]) => {
    const part = el("span", { class: who });
    part.style.flex = String(count);
    return part;
  });
  return el("div", { class: "stack", role: "img", "aria-label": `Who answered in the last minute: ${whoWords(counts)}` }, ...parts);
}

export function whoWords(counts) {
  const all = sum(counts);
  return all ? Object.entries(counts).map(([who, count]) => `${WHO[who]} ${percent(count / all)}`).join(", ") : "nobody";
}

export function legend(counts) {
  const all = sum(counts);
  return el(
    "ul",
    { class: "legend", "aria-label": "Colours: who answered, and how often in the last minute" },
    ...Object.keys(WHO)
      .filter((who) => counts[who])
      .map((who) => el("li", {}, el("span", { class: `key ${who}`, "aria-hidden": "true" }), WHO[who], el("span", { class: "soft" }, percent(counts[who] / all)))),
  );
}

export function timeline(view) {
  const [width, height, deep, foot] = [900, 120, 22, 22];
  const step = width / view.slots;
  const most = Math.max(1, ...view.timeline.map((slot) => sum(slot.who)));
  const worst = Math.max(1, ...view.timeline.map((slot) => slot.lost));
  const bars = view.timeline.flatMap((slot) => {
    const x = width - (slot.ago + 1) * step;
    let y = height;
    const part = (count, look) => {
      const high = (count / most) * (height - 4);
      y -= high;
      return svg("rect", { x: x + 0.5, y, width: Math.max(1, step - 1.5), height: high, class: look });
    };
    const lost = svg("rect", { x: x + 0.5, y: height + 2, width: Math.max(1, step - 1.5), height: (slot.lost / worst) * deep, class: "lost" });
    return [...Object.entries(slot.who).map(([who, count]) => part(count, `slot ${who}`)), lost];
  });
  const minutes = [5, 4, 3, 2, 1].map((ago) => {
    const x = width - (ago * 60 / view.slot_s) * step;
    return svg("text", { x: x + 2, y: height + deep + 17 }, `−${ago} min`);
  });
  const total = view.timeline.reduce((found, slot) => merge(found, slot.who), {});
  const lost = view.timeline.reduce((found, slot) => found + slot.lost, 0);
  const words = `Who answered in the last five minutes: ${whoWords(total)}; ${lost} frames were lost.`;
  return svg(
    "svg",
    { class: "chart wide", viewBox: `0 0 ${width} ${height + deep + foot}`, role: "img", "aria-label": words },
    ...bars,
    svg("line", { x1: 0, x2: width, y1: height, y2: height, class: "axis" }),
    ...minutes,
  );
}

export function variants(view, each) {
  const [width, height] = [900, 26];
  const step = width / view.slots;
  const bars = each.slots.flatMap((slot) => {
    let y = height;
    return slot.frames.map((count, place) => {
      const high = (count / sum(slot.frames)) * height;
      y -= high;
      return svg("rect", { x: width - (slot.ago + 1) * step + 0.5, y, width: Math.max(1, step - 1.5), height: high, class: `slot model${place}` });
    });
  });
  const all = each.models.map((_, place) => each.slots.reduce((total, slot) => total + slot.frames[place], 0));
  const shares = each.models.map((name, place) => `${name} ${percent(all[place] / sum(all))}`);
  const keys = shares.map((words, place) => el("li", {}, el("span", { class: `key model${place}`, "aria-hidden": "true" }), words));
  return el(
    "div",
    { class: "node" },
    el("h3", {}, each.node),
    svg("svg", { class: "chart wide", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Models of ${each.node} over five minutes: ${shares.join(", ")}` }, ...bars),
    el("ul", { class: "legend" }, ...keys),
  );
}

export function interval(node) {
  const [width, high] = [420, 30];
  const from = Math.max(0, Math.min(node.low, node.wanted, node.found) - 0.05);
  const x = (share) => 6 + ((share - from) / (1 - from || 1)) * (width - 12);
  const words = `Agreement ${percent(node.found, 1)}, between ${percent(node.low, 1)} and ${percent(node.high, 1)}; wanted ${percent(node.wanted, 1)}.`;
  return svg(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${high + 14}`, role: "img", "aria-label": words },
    svg("line", { x1: 6, x2: width - 6, y1: 15, y2: 15, class: "axis" }),
    svg("rect", { x: x(node.low), y: 10, width: Math.max(2, x(node.high) - x(node.low)), height: 10, rx: 5, class: "band" }),
    svg("circle", { cx: x(node.found), cy: 15, r: 5, class: "dot" }),
    svg("line", { x1: x(node.wanted), x2: x(node.wanted), y1: 4, y2: 26, class: "goal" }),
    svg("text", { x: 6, y: high + 10 }, percent(from)),
    svg("text", { x: width - 6, y: high + 10, "text-anchor": "end" }, "100 %"),
    svg("text", { x: Math.min(width - 95, Math.max(80, x(node.wanted))), y: high + 10, "text-anchor": "middle" }, `wanted ${percent(node.wanted, 1)}`),
  );
}

function merge(found, more) {
  for (const [who, count] of Object.entries(more)) found[who] = (found[who] ?? 0) + count;
  return found;
}
