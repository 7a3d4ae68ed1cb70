// What a launch executed: its counters, the least time by each resource, and its lines, the hottest first.

// How hot a line of a level is: 0 to 1.
function heatOf(kernel, level, line, file) {
  const heat = kernel.profile?.heat[level];
  return (level === "python" ? heat?.[file]?.[line] : heat?.[line]) || 0;
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
  const said = `${estimate.microseconds.toFixed(2)} µs on ${estimate.chip} (${estimate.kind}: ${error}), bound by ${estimate.boundBy}.`;
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

function hotLinesCard(kernel, page) {
  const { lines, chip } = kernel.profile;
  const rows = lines.map((one) => [
    cellOf(one.file < 0 ? String(one.line) : element("button", { class: "link mono", type: "button", onclick: () => page.go("python", one.line, one.file) }, `${shortName(kernel.files[one.file].path)}:${one.line}`)),
    cellOf(element("span", {}, element("code", {}, one.text.slice(0, 72)), ...one.causes.map((cause) => element("p", { class: "note" }, cause)))),
    cellOf(one.executed.toLocaleString("en"), true), cellOf(`${(100 * one.share).toFixed(1)} %`, true),
    ...(chip ? [cellOf(one.microseconds.toFixed(2), true), cellOf(one.boundBy)] : [meter(one.share)]),
  ]);
  const heads = ["Line", "", "#Warp instructions", "#Share", ...(chip ? ["#At least µs", "Bound by"] : [""])];
  return element("article", { class: "card wide" }, element("h2", {}, "Lines"), table(heads, rows, "Lines by what they execute"));
}

function boundsCard({ bounds, chip }) {
  if (!bounds.length) return null;
  const top = bounds[0].microseconds || 1;
  return element("article", { class: "card" }, element("h2", {}, `Least time on ${chip}`),
    element("p", { class: "note" }, "Bounds, not predictions: the launch is not faster, and may be much slower."),
    table(["Resource", "#µs", ""], bounds.map((one) => {
      const name = element("span", { title: one.about }, one.name);
      return [cellOf(name), cellOf(one.microseconds.toFixed(3), true), meter(one.microseconds / top)];
    }), "Bounds by resource"));
}

function countersCard({ counters }) {
  return element("article", { class: "card" }, element("h2", {}, "Counters"),
    table(["", "#"], Object.entries(counters).map(([name, n]) => [cellOf(name.replaceAll("_", " ")), cellOf(n.toLocaleString("en"), true)]), "Counters"));
}
