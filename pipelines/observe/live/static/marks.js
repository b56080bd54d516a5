// Zones and lines as they lie on a picture. Coordinates are shares of its width and height.

import { svg } from "./dom.js";

const ARROW = 0.09; // of the picture's smaller side

export class Marks {
  constructor() {
    this.node = svg("svg", { class: "marks", "aria-hidden": "true" });
    this.size = [16, 9];
  }

  resize(width, height) {
    this.size = [width, height];
    this.node.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }

  show(shapes) {
    this.node.replaceChildren(...shapes.flatMap((shape) => this.drawn(shape)));
  }

  drawn({ kind, name, points, draft }) {
    const place = points.map((point) => this.pixels(point));
    const text = place.map((each) => each.join(",")).join(" ");
    const look = `${kind}${draft ? " draft" : ""}`;
    const parts = ["mark-halo", "mark"].map((name) => svg(kind === "zone" && points.length > 2 ? "polygon" : "polyline", { points: text, class: `${name} ${look}` }));
    if (kind === "line" && points.length > 1) parts.push(...this.arrow(place).map((path) => svg("path", { d: path, class: `mark ${look}` })));
    if (place.length) {
      const label = svg("text", { ...this.beside(place[0]), class: "mark-name" });
      label.textContent = name;
      parts.push(label);
    }
    if (draft) parts.push(...place.map(([x, y], number) => svg("circle", { cx: x, cy: y, r: this.size[1] / 70, class: "handle", "data-point": number })));
    return parts;
  }

  // Where a name stands: above a corner, or below it at the upper edge; at the right edge on its left.
  beside([x, y]) {
    const font = this.size[1] / 26;
    const gap = this.size[1] / 90;
    const right = x > 0.7 * this.size[0];
    const at = { x: x + ((right ? -1 : 1) * this.size[0]) / 120, y: y - gap > font ? y - gap : y + gap + font };
    return { ...at, "font-size": font, "text-anchor": right ? "end" : "start" };
  }

  // Over the middle of the longest part, from the left hand to the right hand of one who walks along the line.
  arrow(place) {
    const parts = place.slice(1).map((end, n) => [place[n], end]);
    const length = ([a, b]) => Math.hypot(b[0] - a[0], b[1] - a[1]);
    const [a, b] = parts.reduce((best, part) => (length(part) > length(best) ? part : best));
    const size = length([a, b]) || 1;
    const half = (ARROW * Math.min(...this.size)) / 2;
    const along = [(b[0] - a[0]) / size, (b[1] - a[1]) / size];
    const across = [-along[1] * half, along[0] * half];
    const middle = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    const tip = [middle[0] + across[0], middle[1] + across[1]];
    const wing = (way) => [tip[0] - across[0] * 0.7 + way * along[0] * half * 0.5, tip[1] - across[1] * 0.7 + way * along[1] * half * 0.5];
    const to = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
    return [`M ${to([middle[0] - across[0], middle[1] - across[1]])} L ${to(tip)}`, `M ${to(wing(-1))} L ${to(tip)} L ${to(wing(1))}`];
  }

  pixels([x, y]) {
    return [Math.round(x * this.size[0]), Math.round(y * this.size[1])];
  }
}
