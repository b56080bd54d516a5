// A frame with its boxes drawn over it, in the colour of who answered.

import { el, isolated, percent, setText, svg } from "./dom.js";
import { WHO } from "./words.js";

const pen = document.createElement("canvas").getContext("2d");
pen.font = `600 ${0.78 * 16}px ${getComputedStyle(document.body).fontFamily}`;

const ALIVE = ["running", "losing frames", "starting"];
export const alive = (tile) => ALIVE.includes(tile.group);

export class Picture {
  constructor({ labels }) {
    this.labels = labels;
    this.image = el("img", { alt: "", hidden: "" });
    this.boxes = svg("svg", { "aria-hidden": "true" });
    this.tags = el("div", { "aria-hidden": "true" });
    this.wait = el("p", { class: "wait" });
    this.node = el("div", { class: "picture" }, this.image, this.boxes, this.tags, this.wait);
  }

  // What stands in its place while there is none, and whether the one that is there is an old one.
  expect(tile) {
    setText(this.wait, alive(tile) ? "waiting for a frame" : tile.group);
    this.node.classList.toggle("old", !alive(tile));
  }

  async show(frame, alt) {
    const next = new Image();
    next.src = `data:image/jpeg;base64,${frame.jpeg}`;
    try {
      await next.decode();
    } catch {
      return; // the next one may be whole
    }
    this.image.src = next.src;
    this.image.alt = alt;
    this.image.hidden = false;
    this.wait.hidden = true;
    if (this.labels) {
      this.node.style.aspectRatio = `${next.naturalWidth} / ${next.naturalHeight}`;
      this.node.style.maxWidth = `calc(85vh * ${next.naturalWidth / next.naturalHeight})`; // an upright one is seen whole, too
    }
    this.draw(frame, next.naturalWidth, next.naturalHeight);
    if (this.width !== next.naturalWidth || this.height !== next.naturalHeight) this.resized?.(next.naturalWidth, next.naturalHeight);
    [this.width, this.height] = [next.naturalWidth, next.naturalHeight];
  }

  draw(frame, width, height) {
    this.boxes.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const drawn = frame.objects.flatMap((found) => {
      const [left, top, right, bottom] = found.box;
      const place = { x: left * width, y: top * height, width: Math.max(0, right - left) * width, height: Math.max(0, bottom - top) * height, rx: 2 };
      return [svg("rect", { ...place, class: "halo" }), svg("rect", { ...place, class: `box ${found.who}` })];
    });
    this.boxes.replaceChildren(...drawn);
    if (this.labels) this.tags.replaceChildren(...tags(frame.objects, this.node));
  }
}

// Labels go above their box, else below it, else into it; one that has no free place is left out: the box remains.
function tags(objects, node) {
  const taken = [];
  const high = 20 / Math.max(1, node.clientHeight);
  const width = Math.max(1, node.clientWidth);
  const made = [];
  for (const found of objects) {
    const track = found.track === null ? "" : ` #${found.track}`;
    const text = `${isolated(found.label)}${track} ${percent(found.confidence)}`;
    const wide = Math.min(0.46, (pen.measureText(text).width + 15) / width);
    const left = Math.min(Math.max(0, found.box[0]), 1 - wide);
    const top = [found.box[1] - high, found.box[3], found.box[1]].find((y) => y >= 0 && y + high <= 1 && free(taken, left, y, wide, high));
    if (top === undefined) continue;
    taken.push([left, top, left + wide, top + high]);
    const tag = el("span", { class: `tag ${found.who}`, title: WHO[found.who] ?? "" }, text);
    tag.style.left = percent(left, 2).replace(" ", "");
    tag.style.top = percent(top, 2).replace(" ", "");
    made.push(tag);
  }
  return made;
}

function free(taken, left, top, wide, high) {
  return taken.every(([x0, y0, x1, y1]) => left >= x1 || left + wide <= x0 || top >= y1 || top + high <= y0);
}
