// All streams at once: a card each, in place, so that nothing jumps while it is read.

import { meter, whoBar } from "./charts.js";
import { el, link, ms, setText } from "./dom.js";
import { alive, Picture } from "./picture.js";
import { lostWords, objects } from "./words.js";

export class Wall {
  constructor() {
    this.cards = new Map();
    this.list = el("ul", { class: "wall" });
    this.empty = el("p", { class: "empty", hidden: "" }, "No stream has been heard of yet. Streams appear here with their first frame.");
    this.budgets = el("div", { hidden: "" });
    this.node = el("div", {}, el("h1", { class: "unseen" }, "All streams"), this.empty, this.list, this.budgets);
  }

  update(view) {
    const seen = new Set();
    for (const tile of view.tiles) {
      seen.add(tile.stream);
      if (!this.cards.has(tile.stream)) this.cards.set(tile.stream, new Card(tile.stream));
      this.cards.get(tile.stream).update(tile);
    }
    for (const [stream, card] of this.cards) {
      if (seen.has(stream)) continue;
      card.node.remove();
      this.cards.delete(stream);
    }
    const order = view.tiles.map((tile) => this.cards.get(tile.stream).node);
    order.forEach((node, place) => {
      if (this.list.children[place] !== node) this.list.insertBefore(node, this.list.children[place] ?? null); // the others keep the focus
    });
    this.list.className = `wall ${density(order.length)}`;
    this.empty.hidden = order.length > 0;
    this.spent(view.budgets ?? []);
  }

  // What was spent of the day's budgets, and on what.
  spent(lines) {
    this.budgets.hidden = lines.length === 0;
    while (this.budgets.children.length > lines.length) this.budgets.lastChild.remove();
    while (this.budgets.children.length < lines.length) this.budgets.append(el("p", { class: "line small soft" }));
    lines.forEach((line, place) => setText(this.budgets.children[place], line));
  }

  picture(frame) {
    this.cards.get(frame.stream)?.picture.show(frame, `Latest frame of ${frame.stream}`);
  }
}

const density = (count) => (count === 1 ? "one" : count <= 4 ? "few" : count > 12 ? "many" : "");

class Card {
  constructor(stream) {
    this.picture = new Picture({ labels: false });
    this.state = el("span", { class: "pill state" });
    this.picture.node.append(this.state);
    this.fps = el("span", { class: "fps small" });
    this.time = el("p", { class: "line small" });
    this.bar = el("div");
    this.objects = el("p", { class: "line small soft" });
    this.lost = el("p", { class: "line small" });
    this.who = el("div");
    this.link = el(
      "a",
      { class: "card", href: link(stream) },
      this.picture.node,
      el("div", { class: "body" }, el("p", { class: "head" }, el("span", { class: "name", title: stream }, stream), this.fps), this.time, this.bar, this.objects, this.lost, this.who),
    );
    this.node = el("li", {}, this.link);
  }

  update(tile) {
    const well = tile.look === "good";
    this.state.className = `pill state ${tile.look}`;
    this.state.hidden = well;
    setText(this.state, tile.word);
    this.picture.expect(tile);
    setText(this.fps, `${tile.fps.toFixed(1)} fps`);
    setText(this.time, tile.latency_ms === null ? "latency not known" : tile.slo_ms === null ? `${ms(tile.latency_ms)} a frame` : `${ms(tile.latency_ms)} of ${ms(tile.slo_ms)}`);
    this.time.title = "95 % of the last minute's frames were this fast, and the latency objective";
    this.time.classList.toggle("trouble", tile.slo_ms !== null && tile.latency_ms > tile.slo_ms);
    this.bar.replaceChildren(meter(tile.latency_ms, tile.slo_ms));
    setText(this.objects, alive(tile) ? objects(tile) : tile.words);
    setText(this.lost, lostWords(tile));
    this.lost.className = `line small ${tile.lost.length ? "trouble" : "soft"}`;
    this.who.replaceChildren(whoBar(tile.who));
  }
}
