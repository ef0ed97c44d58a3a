// An episode of training: at each event all candidates, with the one marked along which it went on.

const SHORT = 160; // characters of a reply in its candidate's line

function tree(episode, detail) {
  const domain = domainOf(episode.task);
  const all = detail.events.flatMap((event) => event.candidates.flatMap((one) => Object.values(one.replies)));
  const most = Math.max(1e-9, ...all.map((row) => Math.abs(row.advantage)));
  return [overview(detail.events), ...detail.events.map((event) => sampledEvent(domain, event, most))];
}

// The whole tree: a column for each event, a dot for each candidate, the path that the episode took.
function overview(events) {
  const [dx, dy, edge] = [42, 13, 10];
  const most = Math.max(...events.map((event) => event.candidates.length));
  const place = (e, c) => [edge + (e + 1) * dx, edge + ((most - events[e].candidates.length) / 2 + c) * dy];
  let from = [edge, edge + ((most - 1) / 2) * dy];
  const [lines, path, dots] = [[], [], [svg("circle", { cx: from[0], cy: from[1], r: 3, class: "root" })]];
  events.forEach((event, e) => {
    const chosen = event.candidates.findIndex((one) => one.chosen);
    event.candidates.forEach((one, c) => {
      const [x, y] = place(e, c);
      const middle = x - dx / 2;
      const d = `M${from[0]},${from[1]} C${middle},${from[1]} ${middle},${y} ${x},${y}`;
      (c === chosen ? path : lines).push(svg("path", { d, class: c === chosen ? "path" : "branch" }));
      const advantage = mean(one, "advantage");
      const kind = advantage > 1e-9 ? "win" : advantage < -1e-9 ? "loss" : "even";
      const label = `turn ${event.turn}, ${Object.keys(one.replies).join(" + ")}: reward ${fixed(mean(one, "reward"))}, advantage ${signed(advantage)}`;
      dots.push(svg("circle", { cx: x, cy: y, r: c === chosen ? 5 : 4, class: kind, onclick: () => goTo(e) }, svg("title", {}, label)));
    });
    if (chosen >= 0) from = place(e, chosen);
  });
  const [width, height] = [2 * edge + events.length * dx, 2 * edge + (most - 1) * dy];
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "the tree of candidates" }, ...lines, ...path, ...dots);
  return el("div", { class: "overview" }, picture);
}

function mean(one, name) {
  const rows = Object.values(one.replies);
  return rows.reduce((sum, row) => sum + row[name], 0) / rows.length;
}

function sampledEvent(domain, event, most) {
  const agents = Object.keys(event.prompts);
  const told = event.prompts[agents[0]].map((message) => message.content ?? "").join("\n\n");
  const cells = boardIn(domain, told);
  const best = Math.max(...event.candidates.map((one) => mean(one, "reward")));
  const title = el("h3", {}, `turn ${event.turn}`, ...agents.map(who), el("span", { class: "sum" }, `${event.candidates.length} candidates`));
  const candidates = event.candidates.map((one) => candidate(one, agents, most, mean(one, "reward") === best));
  const prompts = agents.map((agent) => folded(`what ${agent} saw`, false, ...messages(event.prompts[agent])));
  return el(
    "section",
    { class: "event tree", tabindex: -1 },
    title,
    el(
      "div",
      { class: "stage" },
      cells ? drawBoard(domain, cells, null, "") : null,
      el("div", { class: "members" }, el("div", {}, ...prompts), el("div", { class: "candidates", role: "list" }, ...candidates)),
    ),
  );
}

// A line for each candidate: what it earned and what was said; unfolded, all that there is of it.
function candidate(one, agents, most, best) {
  const members = agents.filter((agent) => one.replies[agent]);
  const rows = members.map((agent) => one.replies[agent]);
  const together = new Set(rows.map((row) => `${row.reward} ${row.advantage}`)).size === 1;
  const lines = rows.map((row, i) =>
    el("span", { class: "line", "data-role": roleOf(members[i]) }, together && i ? emptyScores() : scores(row, most), members.length > 1 ? who(members[i]) : null, inBrief(row)),
  );
  return el(
    "details",
    { role: "listitem", class: `candidate${one.chosen ? " chosen" : ""}${best ? " best" : ""}` },
    el("summary", { title: one.chosen ? "the episode went on along this one" : null }, el("span", { class: "lines" }, ...lines)),
    ...members.map((agent) => sampledReply(agent, one.replies[agent], members.length > 1)),
  );
}

function scores(row, most) {
  return el(
    "span",
    { class: "scores" },
    el("span", { class: "reward", title: "reward" }, fixed(row.reward)),
    el("span", { class: "advantage", title: "advantage" }, bar(row.advantage, most), el("span", {}, signed(row.advantage))),
  );
}

function emptyScores() {
  return el("span", { class: "scores" });
}

function inBrief(row) {
  const text = shown(row.reply).replace(/\s+/g, " ").trim();
  return el("span", { class: `brief${row.malformed ? " bad" : ""}${text ? "" : " quiet"}`, dir: "auto" }, ...visible(text.slice(0, SHORT) || "nothing"));
}

function sampledReply(agent, row, several) {
  const all = { ...row.terms, ...(row.penalty ? { malformed: row.penalty } : {}) };
  return el(
    "div",
    { class: `sample ${roleClass(agent)}`, "data-role": roleOf(agent) },
    several ? who(agent) : null,
    row.finish === "length" ? cutOff() : null,
    reply(row.reply),
    ...(row.tools ?? []).map(toolCall),
    row.note ? note(row.malformed ? "malformed" : "others read", row.note, row.malformed) : null,
    Object.keys(all).length ? terms(all) : null,
  );
}
