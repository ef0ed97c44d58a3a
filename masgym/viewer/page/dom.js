"use strict";

// Everything on the page is made here, by createElement and text nodes: what a model wrote is never parsed as markup.

const INDEX = JSON.parse(document.getElementById("index").textContent);
const SVG = "http://www.w3.org/2000/svg";
const LONG = 6000; // characters of a text that are shown before one asks for more

function element(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : SHOWN.has(name) ? legible(value) : value);
  }
  const given = children.filter((child) => child !== null && child !== undefined);
  node.append(...given.flatMap((child) => (typeof child === "string" ? visible(child) : [child])));
  return node;
}

const SHOWN = new Set(["title", "aria-label"]); // attributes that people read

function el(name, attributes = {}, ...children) {
  return element(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return element(document.createElementNS(SVG, name), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

function parsed(id) {
  return JSON.parse(byId(id).textContent);
}

function fixed(number, digits = 2) {
  if (typeof number !== "number") return number === null || number === undefined ? "" : String(number);
  const text = number.toFixed(digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "").replace(/^-0$/, "0") : text;
}

function signed(number) {
  return typeof number === "number" && number > 0 ? `+${fixed(number)}` : fixed(number);
}

function shown(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 1) ?? "";
}

// Characters that cannot be seen, or that would turn the direction of what follows, are named instead.
const UNSEEN = /(?![\n\t\u200c\u200d])([\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])/u;

function visible(text) {
  return text.split(UNSEEN).map((part, i) => (i % 2 ? el("span", { class: "unseen" }, codePoint(part)) : part));
}

function legible(text) {
  return String(text).split(UNSEEN).map((part, i) => (i % 2 ? codePoint(part) : part)).join("");
}

function codePoint(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

// A text as it is; of a long one the beginning, and the rest when asked for.
function plainText(text, kind = "text") {
  const whole = shown(text);
  const node = el("pre", { class: kind, dir: "auto" }, ...visible(whole.slice(0, LONG)));
  if (whole.length <= LONG) return node;
  const more = el("button", { type: "button", class: "more" }, `show all ${whole.length} characters`);
  more.addEventListener("click", () => {
    node.replaceChildren(...visible(whole));
    more.remove();
  });
  return el("div", {}, node, more);
}

// A reply: its fenced blocks look like code, the rest like text.
function reply(text) {
  const parts = shown(text).split(/```[^\n`]*\n([\s\S]*?)(?:```|$)/);
  const nodes = parts.map((part, i) => (i % 2 ? plainText(part, "code") : part.trim() ? plainText(part.trim(), "reply") : null));
  return el("div", { class: "said" }, ...(shown(text).trim() ? nodes : [el("em", { class: "quiet" }, "nothing")]));
}

function folded(title, open, ...children) {
  return el("details", { open }, el("summary", {}, title), ...children);
}

function badge(kind, text) {
  return el("span", { class: `badge ${kind}` }, text);
}

// Reward terms: a bar and a number for each.
function terms(named) {
  const chips = Object.entries(named ?? {}).map(([name, value]) =>
    el("span", { class: `term${value < 0 ? " loss" : value ? "" : " none"}` }, `${name} `, el("b", {}, signed(value)), meter(value)),
  );
  return el("div", { class: "terms" }, ...chips);
}

// The share of 1 that a term gives.
function meter(value) {
  const width = 40 * Math.min(1, Math.abs(value));
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 40 6", width: 40, height: 6, "aria-hidden": "true" },
    svg("rect", { width: 40, y: 1, height: 4, rx: 2, class: "track" }),
    svg("rect", { width, y: 1, height: 4, rx: 2, class: value < 0 ? "loss" : "win" }),
  );
}

// A number as a bar from the middle: to the right what is gained, to the left what is lost.
function bar(value, most) {
  const share = Math.min(1, Math.abs(value) / (most || 1));
  const [x, width] = [value < 0 ? 20 - 20 * share : 20, 20 * share];
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 40 6", width: 40, height: 6, "aria-hidden": "true" },
    svg("line", { x1: 20, x2: 20, y1: 0, y2: 6 }),
    svg("rect", { x, width, y: 1, height: 4, rx: 1, class: value < 0 ? "loss" : "win" }),
  );
}

const seenRoles = [];

function roleOf(agent) {
  return agent.replace(/_\d+$/, "");
}

// A colour for each role, in the order in which roles are first met.
function roleClass(agent) {
  const role = roleOf(agent);
  if (!seenRoles.includes(role)) seenRoles.push(role);
  return `role-${seenRoles.indexOf(role) % 6}`;
}

function who(agent) {
  return el("span", { class: `who ${roleClass(agent)}` }, agent);
}

function messages(prompt) {
  const texts = INDEX.texts;
  return prompt.map((message) => {
    const content = "text" in message ? texts[message.text] : message.content;
    if (message.role === "system") return el("details", { class: "system" }, el("summary", {}, "system"), plainText(content));
    return el("div", {}, message.role ? el("div", { class: "quiet" }, message.role) : null, plainText(content));
  });
}
