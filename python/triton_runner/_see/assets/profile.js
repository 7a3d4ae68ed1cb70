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
    element("div", { class: "grid" }, hotLinesCard(kernel, page), boundsCard(profile), countersCard(profile)));
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
