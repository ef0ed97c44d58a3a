// The page: what is selected, what is filtered, what the keys do.

INDEX.episodes.forEach((episode) => (episode.search = searchable(episode)));

const state = { shown: [], at: -1, column: -1, down: false, event: -1, filter: { words: [] } };

function options(id, every, values) {
  const items = Object.entries(values).map(([value, text]) => el("option", { value }, text));
  byId(id).replaceChildren(el("option", { value: "" }, every), ...items);
}

function counted(texts) {
  const counts = new Map();
  for (const text of texts) if (text !== "") counts.set(text, (counts.get(text) ?? 0) + 1);
  return Object.fromEntries([...counts].sort().map(([text, count]) => [text, `${text} (${count})`]));
}

function drawHead() {
  byId("name").replaceChildren(...visible(INDEX.name));
  const facts = Object.entries(INDEX.about).flatMap(([name, value]) => [el("dt", {}, name.replace("_", " ")), el("dd", { title: shown(value) }, inShort(value))]);
  byId("about").replaceChildren(...facts);
  options("outcome", "all outcomes", { ...counted(INDEX.episodes.map(outcome)), failed: `failed (${INDEX.episodes.filter((e) => e.success === false).length})` });
  options("malformed", "all replies", { with: "with malformed", without: "none malformed" });
  options("level", "all levels", counted(INDEX.episodes.map((e) => e.level)));
  options("role", "all roles", counted(INDEX.episodes.flatMap((e) => e.roles)));
}

function inShort(value) {
  if (value && typeof value === "object") return Object.entries(value).map(([name, own]) => `${name} ${inShort(own)}`).join(", ");
  return /^[0-9a-f]{30,}$/.test(value) ? value.slice(0, 12) : String(value).slice(0, 60);
}

function refilter() {
  const selected = state.shown[state.at];
  const filter = Object.fromEntries(["outcome", "malformed", "level", "role"].map((id) => [id, byId(id).value]));
  filter.words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
  state.filter = filter;
  const numbers = [...INDEX.episodes.keys()].filter((number) => matches(INDEX.episodes[number], filter));
  state.shown = state.column < 0 ? numbers : ordered(numbers, state.column, state.down);
  state.at = state.shown.indexOf(selected);
  byId("count").textContent = tally();
  byId("rows").scrollTop = 0;
  drawColumns(state, sortBy);
  if (state.at < 0 && state.shown.length) select(0);
  else if (!state.shown.length) byId("detail").replaceChildren(el("p", { class: "quiet" }, "No episode passes the filter."));
  else reveal(state.at);
  drawRows(state, select);
  dim();
}

function tally() {
  const known = state.shown.filter((number) => INDEX.episodes[number].success !== null);
  const solved = known.filter((number) => INDEX.episodes[number].success).length;
  const share = known.length ? `, ${fixed((100 * solved) / known.length, 1)} % solved` : "";
  return `${state.shown.length} of ${INDEX.episodes.length} episodes${share}`;
}

function sortBy(column) {
  state.down = state.column === column ? !state.down : Boolean(COLUMNS[column].number);
  state.column = column;
  refilter();
}

function select(i) {
  if (!state.shown.length) return;
  state.at = Math.max(0, Math.min(state.shown.length - 1, i));
  state.event = -1;
  reveal(state.at);
  drawRows(state, select);
  show(state.shown[state.at]);
}

function show(number) {
  const episode = INDEX.episodes[number];
  const detail = byId("detail");
  let body;
  try {
    const own = parsed(`episode-${number}`);
    body = (episode.kind === "played" ? timeline : tree)(episode, own);
  } catch (error) {
    body = [el("p", {}, badge("bad", "cannot be drawn"), ` ${error.message}`), plainText(byId(`episode-${number}`).textContent)];
  }
  if (!body.length) body = [el("p", { class: "quiet" }, "Its events were not kept (the run was made without a trace).")];
  detail.replaceChildren(episodeHead(episode), ...body);
  detail.scrollTop = 0;
  dim();
}

function episodeHead(episode) {
  const kind = episode.success ? "good" : episode.success === false ? "bad" : "plain";
  const run = episode.run === null ? "" : `${episode.kind === "played" ? "sample" : "step"} ${episode.run}`;
  const facts = [episode.level, run, `${episode.turns} turns`, episode.returns === null ? "" : `return ${fixed(episode.returns)}`, episode.tokens === null ? "" : `${episode.tokens} tokens`];
  return el("header", {}, el("h2", {}, episode.task, " ", badge(kind, outcome(episode))), el("p", { class: "quiet" }, facts.filter(Boolean).join(" \u00b7 ")));
}

// With a role chosen the others step back.
function dim() {
  const role = byId("role").value;
  for (const node of document.querySelectorAll("[data-role]")) node.classList.toggle("dimmed", role !== "" && node.dataset.role !== role);
}

function goTo(event) {
  const events = document.querySelectorAll("#detail .event");
  if (!events.length) return;
  state.event = Math.max(0, Math.min(events.length - 1, event));
  events.forEach((node, i) => node.classList.toggle("current", i === state.event));
  events[state.event].focus({ preventScroll: true });
  events[state.event].scrollIntoView({ block: "nearest" });
}

function leave() {
  state.event = -1;
  document.querySelectorAll("#detail .current").forEach((node) => node.classList.remove("current"));
  byId("rows").focus();
}

// All of an event's folds at once: open while one is closed.
function unfold() {
  const folds = [...document.querySelectorAll("#detail .event.current details:not(.system)")];
  const closed = folds.some((node) => !node.open);
  for (const node of folds) node.open = closed;
}

const step = (by) => (state.event < 0 ? select(state.at + by) : goTo(state.event + by));
const page = (by) => select(state.at + by * Math.max(1, Math.floor(byId("rows").clientHeight / ROW) - 1));

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  PageDown: () => page(1),
  PageUp: () => page(-1),
  Home: () => select(0),
  End: () => select(state.shown.length - 1),
  Enter: () => goTo(Math.max(0, state.event)),
  ArrowRight: () => goTo(Math.max(0, state.event)),
  l: () => goTo(Math.max(0, state.event)),
  ArrowLeft: leave,
  h: leave,
  Escape: leave,
  o: unfold,
  "/": () => {
    byId("words").focus();
    byId("words").select();
  },
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select");
  if (typing && event.key !== "Escape" && !(event.key === "Enter" && typing.id === "words")) return;
  if (event.target.closest("button, summary") && ["Enter", " "].includes(event.key)) return;
  const act = typing ? leave : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

// A link into the page: "#episode-12" or "#episode-12-event-3", counted from 0 in the order of the file.
function follow() {
  const found = /^#episode-(\d+)(?:-event-(\d+))?$/.exec(location.hash);
  const at = found ? state.shown.indexOf(Number(found[1])) : -1;
  if (at < 0) return;
  select(at);
  if (found[2] !== undefined) goTo(Number(found[2]));
}

drawHead();
if (INDEX.episodes.every((episode) => episode.kind === "played")) state.column = 1; // they stand as they ended
refilter();
byId("filters").addEventListener("input", refilter);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("rows").addEventListener("scroll", () => requestAnimationFrame(() => drawRows(state, select)));
window.addEventListener("resize", () => drawRows(state, select));
document.addEventListener("keydown", onKey);
byId("rows").focus({ preventScroll: true });
window.addEventListener("hashchange", follow);
follow();
