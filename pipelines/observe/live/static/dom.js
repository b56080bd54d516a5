// The only way to make elements. Text is always set as text: nothing that comes from a stream is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// What is written from right to left does not turn what stands beside it.
const LEFTWARDS = /[\u0590-\u08ff\ufb1d-\ufdfd\ufe70-\ufefc]/;
export const isolated = (text) => (LEFTWARDS.test(text) ? `\u2068${text}\u2069` : text);

export const link = (stream) => `#/stream/${encodeURIComponent(stream)}`;

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;

export const ms = (value) => (value === null ? "–" : value >= 2000 ? `${(value / 1000).toFixed(1)} s` : `${Math.round(value)} ms`);

export const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);
