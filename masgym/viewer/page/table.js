// The table of episodes: filtered, sorted, and only the rows in sight are on the page.

const ROW = 30; // pixels, as in page.css
const SPARE = 8; // rows beyond the edges

// Columns that say the same of every episode are left out, but for the first two.
const ALL_COLUMNS = [
  { name: "outcome", width: "78px", text: (e) => outcome(e), key: (e) => outcome(e) },
  { name: "task", width: "minmax(90px, 1fr)", text: (e) => brief(e.task), key: (e) => e.task.replace(/\d+/g, (digits) => digits.padStart(9, "0")) },
  { name: "level", width: "64px", text: (e) => e.level, key: (e) => e.level },
  { name: "sample", width: "52px", text: (e) => (e.kind === "played" ? fixed(e.run) : ""), key: (e) => e.run ?? -1, number: true },
  { name: "step", width: "44px", text: (e) => (e.kind === "sampled" ? fixed(e.run) : ""), key: (e) => e.run ?? -1, number: true },
  { name: "turns", width: "48px", text: (e) => fixed(e.turns), key: (e) => e.turns, number: true },
  { name: "return", width: "58px", text: (e) => fixed(e.returns), key: (e) => e.returns ?? -Infinity, number: true },
  { name: "malformed", width: "78px", text: (e) => fixed(malformedCount(e)), key: (e) => malformedCount(e), number: true },
  { name: "cut off", width: "58px", text: (e) => fixed(e.cut), key: (e) => e.cut ?? -1, number: true },
  { name: "tokens", width: "60px", text: (e) => fixed(e.tokens), key: (e) => e.tokens ?? -1, number: true },
];
const COLUMNS = ALL_COLUMNS.filter((column, c) => c < 2 || new Set(INDEX.episodes.map(column.text)).size > 1);

// "sokoban/test/7/69ce8a9f045b" -> "sokoban 7"; names of other kinds as they are.
function brief(task) {
  const parts = task.split("/");
  return parts.length === 4 ? `${parts[0]} ${parts[2]}` : task;
}

function outcome(episode) {
  if (episode.success) return "solved";
  if (episode.success === null && !episode.ended) return "sampled";
  return ["", "T", "done"].includes(episode.ended) ? "failed" : episode.ended;
}

function malformedCount(episode, role = "") {
  return Object.entries(episode.malformed).reduce((sum, [own, count]) => sum + (role && own !== role ? 0 : count), 0);
}

function matches(episode, filter) {
  const { outcome: wanted, malformed, level, role, words } = filter;
  if (wanted === "failed" ? episode.success !== false : wanted && outcome(episode) !== wanted) return false;
  if (level && episode.level !== level) return false;
  if (role && !episode.roles.includes(role)) return false;
  if (malformed && (malformedCount(episode, role) > 0) !== (malformed === "with")) return false;
  return words.every((word) => episode.search.includes(word));
}

function searchable(episode) {
  return [episode.task, episode.level, episode.ended, outcome(episode), ...episode.reasons].join(" ").toLowerCase();
}

function ordered(numbers, column, down) {
  const keyed = numbers.map((number) => [COLUMNS[column].key(INDEX.episodes[number]), number]);
  keyed.sort(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1) || i - j);
  return keyed.map(([, number]) => number);
}

// Draws the rows in sight. state: {shown: episode numbers, at: position of the selected one}.
function drawRows(state, select) {
  const [box, sheet] = [byId("rows"), byId("sheet")];
  sheet.style.height = `${state.shown.length * ROW}px`;
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - SPARE);
  const last = Math.min(state.shown.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + SPARE);
  const rows = [];
  for (let i = first; i < last; i++) rows.push(tableRow(state, i, select));
  sheet.replaceChildren(...rows);
  box.setAttribute("aria-rowcount", state.shown.length);
}

function tableRow(state, i, select) {
  const episode = INDEX.episodes[state.shown[i]];
  const kind = episode.success ? "good" : episode.success === false ? "bad" : "plain";
  const cells = COLUMNS.map((column, c) =>
    el("span", { role: "gridcell", class: column.number ? "number" : null }, c ? column.text(episode) : badge(kind, column.text(episode))),
  );
  const row = el(
    "div",
    { role: "row", class: "row", title: episode.task, "aria-rowindex": i + 1, "aria-selected": i === state.at ? "true" : "false", onclick: () => select(i) },
    ...cells,
  );
  row.style.top = `${i * ROW}px`;
  return row;
}

function reveal(i) {
  const box = byId("rows");
  if (i * ROW < box.scrollTop) box.scrollTop = i * ROW;
  if ((i + 1) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (i + 1) * ROW - box.clientHeight;
}

function drawColumns(state, sort) {
  byId("list").style.setProperty("--columns", COLUMNS.map((column) => column.width).join(" "));
  const heads = COLUMNS.map((column, c) =>
    el(
      "button",
      { type: "button", role: "columnheader", class: column.number ? "number" : null, "aria-sort": c === state.column ? (state.down ? "descending" : "ascending") : "none", onclick: () => sort(c) },
      column.name,
    ),
  );
  byId("columns").replaceChildren(...heads);
}
