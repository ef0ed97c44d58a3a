// Boards of the games, drawn from their text. Each domain: which lines are a board's, and what its symbols are.

const SYMBOLS = {
  "#": "wall", "-": "floor", " ": "floor", "_": "floor", ".": "goal", "$": "box", "*": "box home", "@": "player", "+": "player home",
};
const PATH_SYMBOLS = { "#": "wall", ".": "floor", "@": "player", "G": "goal", "*": "player home" };

const BOARDS = {
  sokoban: { line: /^[#\-_ .$*@+]{3,}$/, cells: (line) => [...line], look: (symbol) => [SYMBOLS[symbol], ""] },
  plan_path: { line: /^[#.@G*]{3,}$/, cells: (line) => [...line], look: (symbol) => [PATH_SYMBOLS[symbol], ""] },
  sudoku: { line: /^[1-9a-i.](?: ?[1-9a-i.]){3,8}$/, cells: (line) => [...line.replaceAll(" ", "")], look: digit },
};

// Small letters are digits that the team wrote (the compact style).
function digit(symbol) {
  if (symbol === ".") return ["digit", ""];
  return /[a-i]/.test(symbol) ? ["digit own", String(symbol.charCodeAt(0) - 96)] : ["digit", symbol];
}

const MOST_CELLS = 10000; // 100 x 100, the largest that is played; a model may write any number of such lines

function domainOf(task) {
  return task.split("/")[0];
}

// The cells of the last board in a text, row by row; null where there is none.
function boardIn(domain, text) {
  const kind = Object.hasOwn(BOARDS, domain) ? BOARDS[domain] : null;
  if (!kind || typeof text !== "string") return null;
  let [found, run] = [null, []];
  for (const line of [...text.split("\n"), ""]) {
    if (kind.line.test(line) && (!run.length || line.length === run[0].length)) {
      run.push(line);
      continue;
    }
    if (run.length >= 3 && run.length * run[0].length <= MOST_CELLS) found = run;
    run = kind.line.test(line) ? [line] : [];
  }
  return found && found.map(kind.cells);
}

// `before`: the cells of an earlier board, to mark what changed.
function drawBoard(domain, cells, before, caption) {
  const look = BOARDS[domain].look;
  const size = Math.round(Math.sqrt(cells.length));
  const nodes = cells.flatMap((row, y) =>
    row.map((symbol, x) => {
      const [kind, text] = look(symbol);
      const changed = before && before[y] && before[y][x] !== symbol ? " changed" : "";
      const edge = domain === "sudoku" ? `${x && x % size === 0 ? " left" : ""}${y && y % size === 0 ? " top" : ""}` : "";
      return el("i", { class: `${kind ?? "floor"}${changed}${edge}` }, text);
    }),
  );
  const label = cells.map((row) => row.join("")).join(" / ");
  const board = el("div", { class: `board ${domain}`, role: "img", "aria-label": label }, ...nodes);
  board.style.setProperty("--across", cells[0].length);
  return el("figure", {}, board, caption ? el("figcaption", {}, caption) : null);
}

// The world before and after an event: boards where the domain has them, else the text.
function worlds(domain, before, after, open) {
  const cells = boardIn(domain, before);
  const later = boardIn(domain, after);
  if (!cells) return before ? folded("the state", open, plainText(before)) : null;
  if (!later || before === after) return el("div", { class: "boards" }, drawBoard(domain, cells, null, later ? "unchanged" : ""));
  return el(
    "div",
    { class: "boards" },
    drawBoard(domain, cells, null, "before"),
    el("span", { class: "arrow", "aria-hidden": "true" }, "\u2192"),
    drawBoard(domain, later, cells, "after"),
  );
}
