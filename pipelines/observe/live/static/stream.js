// One stream in full.

import { interval, legend, meter, timeline, variants } from "./charts.js";
import { el, isolated, link, ms, percent, setText } from "./dom.js";
import { Editor } from "./editor.js";
import { Picture } from "./picture.js";
import { EVENT, KIND, objects, PHASE } from "./words.js";

export class StreamView {
  constructor(stream) {
    this.stream = stream;
    this.picture = new Picture({ labels: true });
    this.state = el("span", { class: "pill" });
    this.words = el("p", { class: "soft" });
    this.steps = el("nav", { class: "steps", "aria-label": "Other streams" });
    this.editor = new Editor(stream, this.picture);
    this.legend = el("div");
    this.said = el("ul", { class: "say" });
    this.facts = el("dl", { class: "facts" });
    this.lost = el("ul", { class: "say" });
    this.nodes = el("div", { class: "panel" });
    this.variants = el("section", { class: "panel", hidden: "" });
    this.events = new Events(stream);
    this.time = el("div");
    this.key = el("p", { class: "small soft" }, "Above the line: answers about objects, by who gave them. Below it, in red: frames that were dropped or failed.");
    this.models = el("p", { class: "small soft" });
    const crumbs = el("div", { class: "crumbs" }, el("a", { href: "#/" }, "← All streams"), this.steps, el("h1", {}, stream, this.state), this.words);
    const left = el("div", {}, el("div", { class: "panel flush" }, this.picture.node, this.legend), el("details", { class: "panel" }, el("summary", {}, "Zones and lines"), this.editor.node), panel("Who answered, over five minutes", this.time, this.key, this.models), this.variants, panel("This frame in words", this.said));
    const right = el("div", {}, panel("Last minute", this.facts, this.lost), this.nodes, panel("Latest events", el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Latest events" }, this.events.node)));
    this.known = el("div", { class: "stream" }, left, right);
    this.node = el("div", {}, crumbs, this.known);
  }

  update(view) {
    this.state.hidden = this.known.hidden = view === null;
    if (view === null) {
      setText(this.words, "Nothing has been heard of a stream of this name.");
      return;
    }
    this.state.className = `pill ${view.look}`;
    setText(this.state, view.word);
    setText(this.words, view.look === "good" ? "" : view.words);
    this.picture.expect(view);
    this.editor.update(view.zones, view.lines);
    this.alt = `Latest frame of ${view.stream}: ${objects(view)}`;
    this.legend.replaceChildren(legend(view.who));
    this.time.replaceChildren(timeline(view));
    setText(this.models, networks(view));
    this.said.replaceChildren(...view.explained.map((sentence) => el("li", {}, sentence)));
    this.facts.replaceChildren(...facts(view));
    this.lost.replaceChildren(...view.lost.map((each) => el("li", { class: "trouble" }, `${each.count} lost: ${each.words}`)));
    this.nodes.replaceChildren(el("h2", {}, "Agreement with the reference model"), ...agreements(view));
    this.events.update(view.events);
    this.variants.hidden = !view.variants.length;
    this.variants.replaceChildren(el("h2", {}, "Models over five minutes"), ...view.variants.map((each) => variants(view, each)), el("ul", { class: "say" }, ...view.switches.map(switched).reverse()));
  }

  frame(frame) {
    this.picture.show(frame, this.alt ?? "");
  }

  neighbours(streams) {
    const here = streams.indexOf(this.stream);
    const step = (to, text) => (streams[to] === undefined ? null : el("a", { href: link(streams[to]), title: streams[to] }, text));
    const wanted = [step(here - 1, "← previous"), step(here + 1, "next →")].filter((each) => each !== null);
    if (here >= 0 && wanted.map((each) => each.href).join() !== [...this.steps.children].map((each) => each.href).join()) this.steps.replaceChildren(...wanted);
  }
}

const panel = (title, ...children) => el("section", { class: "panel" }, el("h2", {}, title), ...children);

const fact = (name, value, unit, ...more) => el("div", {}, el("dt", {}, name), el("dd", {}, el("span", { class: "value" }, value, " ", el("small", {}, unit)), ...more));

function facts(view) {
  const lost = view.lost.reduce((total, each) => total + each.count, 0);
  const share = (count) => (view.analysed + lost ? percent(count / (view.analysed + lost), 1) : "–");
  return [
    fact("Analysed", view.fps.toFixed(1), "frames/s"),
    fact("Latency, 95 %", ms(view.latency_ms), view.slo_ms === null ? "" : `of ${ms(view.slo_ms)}`, meter(view.latency_ms, view.slo_ms)),
    view.late === null ? fact("Later than the objective", "–", "its frames wait") : fact("Later than the objective", share(view.late), `${view.late} frames`),
    fact("Dropped or failed", share(lost), `${lost} frames`),
  ];
}

function agreements(view) {
  if (!view.nodes.length) return [el("p", { class: "soft small" }, "No shortcut is audited here: every answer is the reference model's own, or none is asked for.")];
  return view.nodes.map((node) => {
    const [look, word] = PHASE[node.phase] ?? ["idle", node.phase];
    const title = el("h3", {}, `${node.node}: ${KIND[node.kind] ?? node.kind}`, el("span", { class: `pill ${look}` }, word));
    const saved = node.saved_s === null ? "" : `; ${node.saved_s.toFixed(1)} s of processor time saved`;
    const words = el("p", { class: "small soft" }, `${node.audits} audits; shortcuts answer ${percent(node.share)}${saved}.`, node.reason ? ` ${node.reason}` : "");
    const chart = node.found === null ? el("p", { class: "small" }, `Not audited yet; ${percent(node.wanted, 1)} is wanted.`) : interval(node);
    return el("div", { class: "node" }, title, chart, words);
  });
}

function happened(each) {
  const label = isolated(each.label);
  if (each.place) return `${EVENT[each.kind]} ${isolated(each.place)} · ${label}`;
  return `${EVENT[each.kind]} ${each.kind === "named" ? "" : "· "}${label}`;
}

function networks(view) {
  if (view.models.length) return `Answers by network: ${view.models.map(([name, count]) => `${name} ${count}`).join(", ")}`;
  return view.timeline.some((slot) => Object.keys(slot.who).length) ? "" : "Nothing was found in the last five minutes.";
}

// Rows stay while they are listed, so that their pictures are asked for once.
class Events {
  constructor(stream) {
    this.stream = stream;
    this.rows = new Map();
    this.body = el("tbody");
    this.none = el("p", { class: "soft small" }, "Nothing has come or gone yet.");
    this.table = el("table", { class: "events" }, el("thead", { class: "unseen" }, el("tr", {}, ...["Picture", "Event", "Time"].map((name) => el("th", { scope: "col" }, name)))), this.body);
    this.node = el("div", {}, this.none, this.table);
  }

  update(events) {
    const known = this.rows;
    this.rows = new Map(events.map((each) => [`${each.number} ${each.at} ${each.thumbnail}`, each]));
    for (const [key, each] of this.rows) this.rows.set(key, known.get(key) ?? this.row(each));
    const rows = [...this.rows.values()];
    if (rows.length !== this.body.children.length || rows.some((row, place) => this.body.children[place] !== row)) this.body.replaceChildren(...rows);
    this.none.hidden = rows.length > 0;
  }

  row(each) {
    const source = `thumbnail?stream=${encodeURIComponent(this.stream)}&number=${each.number}&made=${each.thumbnail}&at=${each.at}`;
    const picture = each.thumbnail ? el("img", { src: source, alt: `${each.label} #${each.track}` }) : null;
    const time = each.at === null ? "" : timeOfDay(each.at);
    return el("tr", {}, el("td", {}, el("div", { class: "thumbnail" }, picture)), el("td", {}, happened(each), el("span", { class: "soft" }, ` #${each.track}`)), el("td", {}, time, el("div", { class: "soft small", title: "time in the stream" }, clock(each.media_time_s))));
  }
}

function timeOfDay(seconds) {
  const [at, now] = [new Date(1000 * seconds), new Date()];
  return at.toDateString() === now.toDateString() ? at.toLocaleTimeString() : at.toLocaleString();
}

const switched = (each) => el("li", {}, `${timeOfDay(each.at)}: ${each.node} has switched to ${each.variant}. ${each.why}`);

const clock = (seconds) => `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;
