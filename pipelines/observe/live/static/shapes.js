// What a zone or line needs to be one, and how it is written in a query.

export const LEAST = { zone: 3, line: 2 };
export const MOST = { zone: 50, line: 20 };
const KEY = { zone: "polygon", line: "points" };

// What is missing or wrong; empty: nothing.
export function fault({ kind, name, points }) {
  if (points.length < LEAST[kind]) return `A ${kind} needs ${LEAST[kind]} points or more.`;
  if (points.some((point) => !point.every((share) => share >= 0 && share <= 1))) return "Coordinates are shares from 0 to 1.";
  if (points.some((point, n) => n > 0 && same(point, points[n - 1])) || (kind === "zone" && same(points[0], points.at(-1)))) return "Two points that follow each other are the same.";
  if (meets(points, kind === "zone")) return kind === "zone" ? "Its sides cross: place the corners in the order in which one walks round." : "The line meets itself.";
  if (!/^[a-z][a-z0-9_-]{0,49}$/.test(name)) return "A name has small letters, digits, _ and -, and begins with a letter.";
  return "";
}

// Names are always quoted: some would be numbers or truth values without.
export function yaml({ kind, name, points }, stream) {
  const places = points.map(([x, y]) => `[${x}, ${y}]`).join(", ");
  return `${kind}s:\n  - {name: ${JSON.stringify(name)}, streams: ${JSON.stringify(stream)}, ${KEY[kind]}: [${places}]}\n`;
}

export const rounded = (share) => Math.round(Math.min(1, Math.max(0, share)) * 1000) / 1000;

const same = (a, b) => a[0] === b[0] && a[1] === b[1];

function meets(points, closed) {
  const ends = closed ? [...points.slice(1), points[0]] : points.slice(1);
  const sides = ends.map((end, n) => [points[n], end]);
  return sides.some((one, i) => sides.some((other, j) => j > i + 1 && !(closed && i === 0 && j === sides.length - 1) && cross(one, other)));
}

function cross([a, b], [c, d]) {
  const turn = (p, q, r) => Math.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]));
  return turn(a, b, c) !== turn(a, b, d) && turn(c, d, a) !== turn(c, d, b);
}
