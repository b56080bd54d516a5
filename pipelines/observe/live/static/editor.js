// Draws a zone or line on a stream's picture, by mouse or by its fields, and says it as YAML for the query.

import { el, setText } from "./dom.js";
import { Marks } from "./marks.js";
import { fault, MOST, rounded, yaml } from "./shapes.js";

export class Editor {
  constructor(stream, picture) {
    this.stream = stream;
    this.picture = picture;
    this.known = [];
    this.draft = { kind: "zone", name: "", points: [], draft: true };
    this.marks = new Marks();
    picture.node.append(this.marks.node);
    picture.resized = (width, height) => {
      this.marks.resize(width, height);
      this.show();
    };
    this.draw = el("button", { type: "button", "aria-pressed": "false" }, "Draw on the picture");
    this.kind = el("select", { "aria-label": "Zone or line" }, el("option", { value: "zone" }, "zone"), el("option", { value: "line" }, "line"));
    this.name = el("input", { type: "text", maxlength: 50, size: 14, spellcheck: "false", autocomplete: "off" });
    this.points = el("ol", { class: "points" });
    this.add = el("button", { type: "button" }, "Add a point");
    this.clear = el("button", { type: "button" }, "Clear");
    this.copy = el("button", { type: "button", class: "main" }, "Copy as YAML");
    this.text = el("pre", { class: "yaml", tabindex: "0", role: "region", "aria-label": "For the query" });
    this.said = el("p", { class: "small soft", role: "status" });
    this.list = el("ul", { class: "shapes" });
    const row = (...children) => el("div", { class: "row" }, ...children);
    const label = (text, field) => el("label", {}, text, field);
    this.node = el("div", { class: "editor" }, this.list, row(label("Kind ", this.kind), label("Name ", this.name), this.draw, this.add, this.clear), this.points, this.said, this.text, row(this.copy));
    this.listen();
    this.edited();
  }

  update(zones, lines) {
    const known = [...zones.map((each) => ({ kind: "zone", ...each })), ...lines.map((each) => ({ kind: "line", ...each }))];
    if (JSON.stringify(known) === JSON.stringify(this.known)) return;
    this.known = known;
    this.list.replaceChildren(...known.map((shape) => this.entry(shape)));
    this.show();
  }

  entry(shape) {
    const take = el("button", { type: "button", "aria-label": `Change ${shape.kind} ${shape.name}` }, "Change");
    take.addEventListener("click", () => {
      this.draft = { ...shape, points: shape.points.map((point) => point.map(rounded)), draft: true };
      this.kind.value = shape.kind;
      this.name.value = shape.name;
      this.fields();
    });
    return el("li", {}, `${shape.kind} `, el("b", {}, shape.name), " ", take);
  }

  listen() {
    this.draw.addEventListener("click", () => this.drawing(this.draw.getAttribute("aria-pressed") !== "true"));
    this.kind.addEventListener("change", () => this.edited());
    this.name.addEventListener("input", () => this.edited());
    this.add.addEventListener("click", () => this.append([0.5, 0.5], true));
    this.clear.addEventListener("click", () => {
      this.draft.points = [];
      this.fields();
    });
    this.copy.addEventListener("click", () => this.copied());
    this.node.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.draw.getAttribute("aria-pressed") !== "true") return;
      event.stopPropagation(); // it ends the drawing, and does not leave the page
      this.drawing(false);
    });
    this.picture.node.addEventListener("pointerdown", (event) => this.pressed(event));
    this.picture.node.addEventListener("pointermove", (event) => this.moved(event));
    for (const end of ["pointerup", "pointercancel"]) this.picture.node.addEventListener(end, () => (this.held = undefined));
  }

  drawing(on) {
    this.draw.setAttribute("aria-pressed", String(on));
    this.picture.node.classList.toggle("drawing", on);
  }

  pressed(event) {
    if (!this.picture.node.classList.contains("drawing") || event.button !== 0) return;
    event.preventDefault();
    const handle = event.target.closest?.(".handle");
    if (handle) this.held = Number(handle.dataset.point);
    else if (this.append(this.at(event), false)) this.held = this.draft.points.length - 1;
    this.picture.node.setPointerCapture(event.pointerId);
  }

  moved(event) {
    if (this.held === undefined || this.draft.points[this.held] === undefined) return;
    this.draft.points[this.held] = this.at(event);
    this.fields();
  }

  at(event) {
    const frame = this.picture.node.getBoundingClientRect();
    return [rounded((event.clientX - frame.left) / frame.width), rounded((event.clientY - frame.top) / frame.height)];
  }

  append(point, focus) {
    if (this.draft.points.length >= MOST[this.kind.value]) return false;
    this.draft.points.push(point);
    this.fields();
    if (focus) this.points.lastElementChild.querySelector("input").focus();
    return true;
  }

  // The fields of all points, after any of them has changed elsewhere.
  fields() {
    this.points.replaceChildren(...this.draft.points.map((point, number) => this.field(point, number)));
    this.edited();
  }

  field(point, number) {
    const inputs = ["x", "y"].map((axis, place) => {
      const input = el("input", { type: "number", min: 0, max: 1, step: 0.001, value: point[place], "aria-label": `Point ${number + 1}, ${axis}` });
      input.addEventListener("input", () => {
        this.draft.points[number][place] = input.valueAsNumber;
        this.edited();
      });
      return input;
    });
    const remove = el("button", { type: "button", "aria-label": `Remove point ${number + 1}` }, "×");
    remove.addEventListener("click", () => {
      this.draft.points.splice(number, 1);
      this.fields();
      this.add.focus();
    });
    return el("li", {}, ...inputs, remove);
  }

  edited() {
    this.draft.kind = this.kind.value;
    this.draft.name = this.name.value;
    const wrong = this.draft.points.length || this.draft.name ? fault(this.draft) : "Choose “Draw on the picture” and click the corners, or add points and type their places.";
    setText(this.said, wrong);
    setText(this.text, wrong ? "" : yaml(this.draft, this.stream));
    this.text.hidden = this.copy.disabled = wrong !== "";
    this.show();
  }

  show() {
    const whole = this.draft.points.every((point) => point.every(Number.isFinite));
    this.marks.show([...this.known.filter((shape) => shape.name !== this.draft.name || !this.draft.points.length), ...(whole ? [this.draft] : [])]);
  }

  async copied() {
    try {
      await navigator.clipboard.writeText(this.text.textContent);
      setText(this.said, "Copied: put it into the query file.");
    } catch {
      getSelection().selectAllChildren(this.text);
      setText(this.said, "Selected: copy it with the keyboard.");
    }
  }
}
