// What the page calls things.

import { isolated } from "./dom.js";

export const WHO = {
  oracle: "reference model",
  variant: "cheaper model",
  specialised: "exit of this stream",
  cached: "exit for all streams",
  track: "known already",
  detector: "detector",
  propagated: "moved on by motion",
};

export const KIND = {
  variant: "cheaper model",
  specialised: "exits of this stream",
  cached: "exits for all streams",
  reused: "reused answers",
  propagated: "frames without detector",
};

export const PHASE = {
  shadow: ["idle", "in the shadow"],
  trusted: ["good", "trusted"],
  probation: ["warn", "on probation"],
  off: ["bad", "switched off"],
};

export const EVENT = { came: "came", named: "is called", left: "left", enter: "enters", leave: "leaves", cross: "crosses" };

export function objects(tile) {
  const named = tile.labels.map(([label, count]) => `${count} ${isolated(label)}`);
  return named.length ? named.join(", ") : "nothing to see";
}

export function lostWords(tile) {
  const lost = tile.lost.reduce((total, each) => total + each.count, 0);
  if (!lost) return tile.analysed ? "no frame lost in the last minute" : "no frame in the last minute";
  const all = lost + tile.analysed;
  return `${Math.round((100 * lost) / all)} % lost: ${tile.lost.map((each) => `${each.words} ${each.count}`).join(", ")}`;
}

// "3 streams, all running", or how many are what.
export function counted(tiles) {
  const groups = new Map();
  for (const { group } of tiles) groups.set(group, (groups.get(group) ?? 0) + 1);
  const streams = `${tiles.length} stream${tiles.length === 1 ? "" : "s"}`;
  if (groups.size === 1) return `${streams}, all ${[...groups.keys()][0]}`;
  return groups.size ? `${streams}: ${[...groups].map(([group, count]) => `${count} ${group}`).join(", ")}` : streams;
}
