// What a program launched, and what autotuning chose for it.

function launchesCard(data, page) {
  const rows = data.launches.map((launch) => [
    cellOf(element("span", { class: "nowrap" }, launch.trap || launch.faults.length ? markOf({ wrong: 1 }) : null,
      element("button", { class: "link mono", type: "button", onclick: () => page.openAt(launch.kernel) }, data.labels[launch.kernel]))),
    cellOf(launch.grid.join(" × ")), cellOf(element("code", {}, launch.arguments.join(", "))),
    cellOf(launch.count.toLocaleString("en"), true),
    cellOf([launch.trap && `stopped by ${launch.trap}`, ...launch.faults].filter(Boolean).join("; ")),
  ]);
  return element("article", { class: "card wide" }, element("h2", {}, "Launches"),
    element("p", { class: "note" }, "In the order in which each was made first. Launches with equal grids and arguments are one row; those by which autotuning times a configuration count."),
    table(["Kernel", "Grid", "Arguments", "#Times", "Found"], rows, "Launches"));
}

function tuningCard(tuning) {
  const most = Math.max(...tuning.configs.map((config) => config.ms || 0)) || 1;
  const rows = [...tuning.configs].sort((a, b) => (a.ms ?? Infinity) - (b.ms ?? Infinity)).map((config) => [
    cellOf(element("code", {}, `${config.isChosen ? "✓ " : ""}${config.config || "the only one"}`)),
    cellOf(config.ms == null ? "–" : `${config.ms.toPrecision(4)} ms`, true), config.ms == null ? cellOf("") : meter(config.ms / most),
  ]);
  return element("article", { class: "card wide" }, element("h2", {}, `Autotuning of ${tuning.kernel}`),
    table(["For", "Chosen"], tuning.chosen.map(({ key, config }) => [cellOf(element("code", {}, key || "any arguments")), cellOf(element("code", {}, config))]), "Chosen configurations"),
    element("p", { class: "note" }, `All configurations, as timed on this machine for ${tuning.timed || "any arguments"}:`),
    table(["Configuration", "#Time", ""], rows, "Times of the configurations"));
}

function launchesPanel(data, page) {
  return element("div", { class: "scroll" }, element("div", { class: "grid" },
    data.launches.length ? launchesCard(data, page) : null, ...data.tunings.map(tuningCard)));
}
