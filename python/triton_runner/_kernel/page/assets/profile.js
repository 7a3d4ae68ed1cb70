// What a launch executed: its counters, the least time by each resource, and its lines, the hottest first.

// Microseconds as text, in the unit that shows the greatest of a table, which is `most`, with three digits.
function unitOf(most) {
  const [name, factor] = [["s", 1e-6], ["ms", 1e-3], ["µs", 1], ["ns", 1e3]].find(([, by]) => most * by >= 10) || ["ns", 1e3];
  const text = (us) => { const n = us * factor; return n === 0 ? "0" : n >= 100 ? Math.round(n).toLocaleString("en") : n.toPrecision(Math.min(3, n >= 10 ? 3 : 2)); };
  return { name, text };
}

// How hot a line of a level is: 0 to 1.
function heatOf(kernel, level, line, file) {
  const heat = kernel.profile?.heat[level];
  return (level === "python" ? heat?.[file]?.[line] : heat?.[line]) || 0;
}

// What the heat beside the lines counts, and how much its ends are.
function heatKey({ scale }) {
  const percent = (share) => `${(100 * share).toPrecision(2)} %`;
  const all = Object.entries(scale), ends = (pick) => all.map(([, one]) => pick(one));
  const node = ramp(percent(Math.min(...ends((one) => one.least))), [0, 0.25, 0.5, 0.75, 1].map((heat) => `hsl(${48 - 48 * heat} 90% var(--heat-light) / ${0.15 + 0.6 * heat})`), percent(Math.max(...ends((one) => one.most))));
  node.title = all.map(([level, one]) => `${level === "python" ? "Python" : TITLES[level]}: ${percent(one.least)} to ${percent(one.most)} of ${one.of}`).join("\n");
  return element("span", { class: "heat-key" }, "share of the profile ", node);
}

function profilePanel(kernel, page) {
  const { profile } = kernel;
  const ran = profile.programs === profile.of ? `all ${plural(profile.of, "program")}`
    : `${profile.programs.toLocaleString("en")} of ${plural(profile.of, "program")}${profile.isExtrapolated ? ", extrapolated" : ""}`;
  const notes = [`Grid ${profile.grid.join(" × ")}: ${ran}, counted in the machine code on the CPU.`, ...profile.notes];
  return element("div", { class: "scroll" }, ...notes.map((note) => element("p", { class: "note" }, note)),
    element("div", { class: "grid" }, timelineCard(kernel, page), hotLinesCard(kernel, page), boundsCard(profile), countersCard(profile)));
}

const WAITS = ["#3aa76d", "#d6604d", "#4393c3", "#e0a43b", "#8c6bb1", "#5aae9f", "#c2679b", "#8d8d8d", "#a6761d", "#6b7fd7"];

// Who of a block's warps waits for what, from the replay of an SM: a row a warp, from left to right the cycles.
function timelineCard(kernel, page) {
  const { estimate } = kernel.profile;
  if (!estimate) return null;
  const error = estimate.error == null ? "no error was measured for this chip" : `± ${Math.round(100 * estimate.error)} % as measured`;
  const unit = unitOf(estimate.microseconds);
  const said = `${unit.text(estimate.microseconds)} ${unit.name} on ${estimate.chip} (${estimate.kind}: ${error}), bound by ${estimate.boundBy}.`;
  const color = (reason) => WAITS[reason % WAITS.length], high = 15;
  const rows = estimate.warps.map((runs, warp) => drawn("g", { transform: `translate(0 ${warp * high})` },
    ...runs.map(([begin, end, reason, text, file, line]) => {
      const place = file < 0 ? "" : `, ${shortName(kernel.files[file].path)}:${line}`;
      const rect = drawn("rect", { x: begin, width: end - begin, height: high - 2, fill: color(reason) },
        drawn("title", {}, `warp ${warp}, cycles ${begin} to ${end}: ${estimate.reasons[reason]}\n${text}${place}`));
      if (file >= 0) rect.addEventListener("click", () => page.go("python", line, file));
      return rect;
    })));
  const picture = drawn("svg", {
    class: "timeline", viewBox: `0 0 ${estimate.blockCycles} ${estimate.warps.length * high}`, preserveAspectRatio: "none",
    height: estimate.warps.length * high, role: "img", "aria-label": "What each warp does, by cycle",
  }, ...rows);
  const legend = estimate.reasons.map((reason, number) => {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = color(number);
    return element("span", { class: "why" }, swatch, reason);
  });
  return element("article", { class: "card wide" }, element("h2", {}, "Timeline of warps"), element("p", { class: "note" }, said),
    ...(estimate.warps.length ? [picture, element("p", { class: "note" }, ...legend),
      element("p", { class: "note" }, `The first block of an SM, ${Math.round(estimate.blockCycles).toLocaleString("en")} cycles; a row a warp. A click goes to the line.`)] : []));
}

// The lines by what they cost. The column that they are sorted by is marked; a click on another sorts by that one.
function hotLinesCard(kernel, page) {
  const { lines, chip } = kernel.profile, unit = unitOf(Math.max(0, ...lines.map((one) => one.microseconds || 0)));
  const columns = [
    { title: "Line", of: (one) => -one.line, cell: (one) => cellOf(one.file < 0 ? String(one.line) : element("button", { class: "link mono", type: "button", onclick: () => page.go("python", one.line, one.file) }, `${shortName(kernel.files[one.file].path)}:${one.line}`)) },
    { title: "", cell: (one) => cellOf(element("span", {}, element("code", {}, one.text.slice(0, 72)), ...one.causes.map((cause) => element("p", { class: "note" }, cause)))) },
    { title: "Warp instructions", isNumber: true, of: (one) => one.executed, cell: (one) => cellOf(one.executed.toLocaleString("en"), true) },
    { title: "Share", isNumber: true, of: (one) => one.share, cell: (one) => cellOf(`${(100 * one.share).toFixed(1)} %`, true) },
    ...(chip ? [
      { title: `At least, ${unit.name}`, isNumber: true, of: (one) => one.microseconds || 0, cell: (one) => cellOf(unit.text(one.microseconds || 0), true) },
      { title: "Bound by", cell: (one) => cellOf(one.boundBy) },
    ] : [{ title: "", cell: (one) => meter(one.share) }]),
  ];
  const body = element("div");
  const sortBy = (chosen) => {
    const rows = [...lines].sort((a, b) => chosen.of(b) - chosen.of(a)); // stable: equal ones stay as profiles.py has them
    const heads = columns.map((column) => element("th", {
      scope: "col", class: column.isNumber ? "n" : "", "aria-sort": column === chosen ? (column.title === "Line" ? "ascending" : "descending") : null,
    }, column.of ? element("button", { class: "sort", type: "button", onclick: () => sortBy(column) }, column.title, column === chosen ? (column.title === "Line" ? " ▴" : " ▾") : "") : column.title));
    body.replaceChildren(element("table", { "aria-label": "Lines by what they execute" }, element("thead", {}, element("tr", {}, ...heads)),
      element("tbody", {}, ...rows.map((one) => element("tr", {}, ...columns.map((column) => column.cell(one)))))));
  };
  sortBy(columns[chip ? 4 : 3]);
  return element("article", { class: "card wide" }, element("h2", {}, "Lines"), body);
}

function boundsCard({ bounds, chip }) {
  if (!bounds.length) return null;
  const top = bounds[0].microseconds || 1, unit = unitOf(top);
  return element("article", { class: "card" }, element("h2", {}, `Least time on ${chip}`),
    element("p", { class: "note" }, "Bounds, not predictions: the launch is not faster, and may be much slower."),
    table(["Resource", `#${unit.name}`, ""], bounds.map((one) => {
      const name = element("span", { title: one.about }, one.name);
      return [cellOf(name), cellOf(unit.text(one.microseconds), true), meter(one.microseconds / top)];
    }), "Bounds by resource"));
}

function countersCard({ counters }) {
  return element("article", { class: "card" }, element("h2", {}, "Counters"),
    table(["", "#"], Object.entries(counters).map(([name, n]) => [cellOf(name.replaceAll("_", " ")), cellOf(n.toLocaleString("en"), true)]), "Counters"));
}
