// A played episode: its events one below the other.

function timeline(episode, detail) {
  const domain = domainOf(episode.task);
  return detail.events.map((event, i) => playedEvent(domain, event, i));
}

function playedEvent(domain, event, i) {
  const judged = event.judged ?? {};
  const title = el(
    "h3",
    {},
    `turn ${event.turn}`,
    ...event.members.map((member) => who(member.agent)),
    el("span", { class: "sum" }, `team ${signed(event.team)}  gain ${signed(event.gain)}`),
  );
  const members = event.members.map((member) => playedMember(member, judged[member.agent]));
  const world = worlds(domain, event.before, event.after, i === 0);
  return el("section", { class: "event", tabindex: -1 }, title, el("div", { class: "stage" }, world, el("div", { class: "members" }, ...members)));
}

function playedMember(member, judged) {
  const facts = [member.slot, member.tokens ? `${member.tokens} token${member.tokens === 1 ? "" : "s"}` : "", member.latency >= 0.01 ? `${fixed(member.latency)} s` : ""];
  return el(
    "article",
    { class: `member ${roleClass(member.agent)}`, "data-role": roleOf(member.agent) },
    el("h4", {}, who(member.agent), el("span", { class: "quiet" }, facts.filter(Boolean).join(" \u00b7 ")), member.cut === true ? cutOff() : null, ...marks(member.slot, judged)),
    folded("what it saw", false, ...messages(member.messages)),
    ...(member.failure ? failed(member) : [reply(member.reply)]),
    ...(judged ? verdict(judged) : []),
  );
}

// The failure's name, and what was told of it: by a server, say.
function failed(member) {
  return [el("p", {}, badge("bad", "no reply"), ` ${shown(member.failure)}`), member.reply ? note("told", member.reply, true) : null];
}

function cutOff() {
  return el("span", { class: "badge bad", title: "the limit of tokens ended this reply" }, "cut off");
}

function marks(slot, judged) {
  if (!judged) return [];
  return [
    judged.malformed ? badge("bad", "malformed") : null,
    judged.right ? badge("good", "right") : null,
    judged.done && ["act", "judge"].includes(slot) ? badge("plain", "ends the task") : null,
  ];
}

// What a reply amounted to: the reason or the note, the tools that it called, its own reward terms.
function verdict(judged) {
  const all = { ...judged.terms, ...(judged.penalty ? { malformed: judged.penalty } : {}) };
  return [
    ...(judged.tools ?? []).map(toolCall),
    judged.note ? note(judged.malformed ? "malformed" : "others read", judged.note, judged.malformed) : null,
    Object.keys(all).length ? terms(all) : null,
  ];
}

function note(label, text, bad) {
  return el("div", { class: `note${bad ? " bad" : ""}` }, el("span", { class: "label" }, label), plainText(text));
}

function toolCall(call) {
  const value = call.value ?? {};
  const name = call.tool ?? (value.passages ? "search" : value.stdout !== undefined || value.answers ? "python" : "tool");
  const title = el("span", {}, name, " ", badge(call.outcome === "ok" ? "plain" : "bad", shown(call.outcome)));
  const asked = call.arguments ?? {};
  if (value.passages) return folded(title, true, asked.query ? plainText(asked.query) : null, passages(value.passages));
  const program = asked.program ? folded("program", false, plainText(asked.program, "code")) : null;
  if (value.answers) return folded(title, false, program, answers(value.answers, asked.calls));
  if (value.stdout !== undefined) return folded(title, true, program, ...output(value));
  return folded(title, false, call.arguments === undefined ? null : plainText(call.arguments), plainText(call.value));
}

function output(value) {
  return [
    value.stdout ? plainText(value.stdout, "output") : el("p", { class: "quiet" }, "printed nothing"),
    value.error ? plainText(value.error, "output bad") : null,
  ];
}

function passages(found) {
  const items = found.map((passage) => {
    const [title, ...rest] = shown(passage?.contents ?? passage).split("\n");
    return el("li", {}, el("b", {}, title), ` ${rest.join(" ")}`, passage?.score ? el("span", { class: "quiet" }, ` ${fixed(passage.score)}`) : null);
  });
  return el("ol", { class: "passages" }, ...items);
}

function answers(found, calls) {
  const rows = found.map((answer, i) =>
    el("tr", {}, el("td", {}, shown(calls?.[i] ?? i + 1)), el("td", {}, shown(answer.outcome)), el("td", {}, shown(answer.value)), el("td", {}, shown(answer.error))),
  );
  return el("table", {}, ...rows);
}
