// Which view is shown, and the events that keep it up to date. While the page is hidden it asks for nothing.

import { setText } from "./dom.js";
import { StreamView } from "./stream.js";
import { Wall } from "./wall.js";
import { counted } from "./words.js";

const main = document.getElementById("main");
const RETRY_MS = 3000;

let view = null;
let source = null;
let retry = null;
let refused = "";
let groups = new Map();

function wanted() {
  const match = location.hash.match(/^#\/stream\/(.+)$/);
  try {
    return match ? decodeURIComponent(match[1]) : null;
  } catch {
    return null;
  }
}

function route() {
  if (location.hash !== "" && !location.hash.startsWith("#/")) return; // a jump within the page
  const stream = wanted();
  view = stream === null ? new Wall() : new StreamView(stream);
  main.replaceChildren(view.node);
  document.title = stream === null ? "Sluice" : `${stream} – Sluice`;
  main.focus({ preventScroll: true });
  window.scrollTo(0, 0);
  connect();
}

function connect() {
  clearTimeout(retry);
  source?.close();
  source = null;
  if (document.hidden) return;
  const stream = wanted();
  source = new EventSource(stream === null ? "live" : `live?stream=${encodeURIComponent(stream)}`);
  source.addEventListener("full", (event) => (refused = event.data));
  source.addEventListener("error", lost);
  source.addEventListener("wall", (event) => {
    setText(document.getElementById("link"), (refused = ""));
    wall(JSON.parse(event.data));
  });
  source.addEventListener("stream", (event) => view.update(JSON.parse(event.data)));
  source.addEventListener("picture", (event) => {
    const frame = JSON.parse(event.data);
    if (view instanceof Wall) view.picture(frame);
    else if (frame.stream === view.stream) view.frame(frame);
  });
}

function lost() {
  setText(document.getElementById("link"), refused || "No connection: trying again");
  if (source?.readyState !== EventSource.CLOSED) return; // the browser tries by itself
  clearTimeout(retry);
  retry = setTimeout(connect, RETRY_MS);
}

function wall(told) {
  setText(document.getElementById("title"), told.title);
  summary(told);
  announce(told.tiles);
  if (view instanceof Wall) view.update(told);
  else view.neighbours(told.tiles.map((tile) => tile.stream));
}

function summary({ tiles, more }) {
  const node = document.getElementById("summary");
  const fps = tiles.reduce((total, tile) => total + tile.fps, 0);
  setText(node, `${counted(tiles)}${more ? "; there is no room for more" : ""} · ${fps.toFixed(1)} frames/s`);
  node.className = ["bad", "warn"].find((look) => tiles.some((tile) => tile.look === look)) ?? "";
}

// Changes of state are read out; figures, which change every second, are not.
function announce(tiles) {
  const changed = tiles.filter((tile) => groups.has(tile.stream) && groups.get(tile.stream) !== tile.group);
  if (changed.length) setText(document.getElementById("said"), changed.map((tile) => `${tile.stream}: ${tile.group}. ${tile.words}`).join(" "));
  groups = new Map(tiles.map((tile) => [tile.stream, tile.group]));
}

window.addEventListener("hashchange", route);
document.addEventListener("visibilitychange", connect);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && wanted() !== null) location.hash = "#/";
});
route();
