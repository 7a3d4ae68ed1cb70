// What a kernel needs and consists of in numbers, what was found wrong, and two kernels beside each other.

const cellOf = (content, isNumber = false) => element("td", isNumber ? { class: "n" } : {}, content);

function table(heads, rows, label) {
  return element("table", { "aria-label": label },
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col", class: head.startsWith("#") ? "n" : "" }, head.replace("#", ""))))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row))));
}

function meter(share) {
  const bar = element("span", { class: "meter" });
  bar.style.width = `${Math.max(0.5, share * 100)}%`;
  return element("td", { class: "meter-cell" }, bar);
}

// {op: count} of a level, most frequent first; PTX and SASS by their first word.
function mixOf(level) {
  const counts = new Map();
  for (const [, op] of level.rows) counts.set(op, (counts.get(op) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function mixCard(kernel) {
  const pick = element("select", { "aria-label": "Level" }, ...kernel.levels.map((level) =>
    element("option", { value: level.name, selected: level.name === kernel.lowest }, TITLES[level.name])));
  const body = element("div");
  const fill = () => {
    const level = kernel.levelNamed.get(pick.value), mix = mixOf(level), top = mix[0]?.[1] || 1;
    body.replaceChildren(
      element("p", { class: "note" }, `${plural(level.rows.length, "instruction")}, ${plural(mix.length, "kind")}`),
      table(["Instruction", "#Count", ""], mix.slice(0, 24).map(([op, n]) =>
        [cellOf(element("code", {}, op)), cellOf(n.toLocaleString("en"), true), meter(n / top)]), "Instruction mix"));
  };
  pick.addEventListener("change", fill);
  fill();
  return element("article", { class: "card" }, element("h2", {}, "Instruction mix ", pick), body);
}

function costCard(kernel, page) {
  const costs = [...kernel.costs(kernel.lowest, kernel.mainFile)].sort((a, b) => b[1] - a[1]).slice(0, 24);
  const lines = kernel.files[kernel.mainFile]?.text?.split("\n") || [], top = costs[0]?.[1] || 1;
  return element("article", { class: "card" }, element("h2", {}, `Lines of the source by ${TITLES[kernel.lowest] || ""} instructions`),
    table(["Line", "", "#Count", ""], costs.map(([line, n]) => [
      cellOf(element("button", { class: "link", type: "button", onclick: () => page.go("python", line, kernel.mainFile) }, String(line))),
      cellOf(element("code", {}, (lines[line - 1] || "").trim().slice(0, 52))), cellOf(n.toLocaleString("en"), true), meter(n / top)]), "Cost of lines"));
}

function resourcesPanel(kernel, page) {
  const tiles = kernel.resources.filter(([, , big]) => big).map(([label, value]) =>
    element("div", { class: "tile" }, element("b", {}, value), element("span", {}, label)));
  const cards = ledgerCards(kernel, page);
  const rest = kernel.resources.filter(([, , big]) => !big);
  if (rest.length)
    cards.push(element("article", { class: "card" }, element("h2", {}, "Resources"),
      table(["", ""], rest.map(([label, value]) => [cellOf(label), cellOf(value)]), "Resources")));
  if (kernel.levels.length) cards.push(costCard(kernel, page), mixCard(kernel));
  const notes = kernel.notes.map((note) => element("p", { class: "note" }, note));
  return element("div", { class: "scroll" }, element("div", { class: "tiles" }, ...tiles),
    element("p", {}, "\u00a0"), element("div", { class: "grid" }, ...cards), ...notes);
}

// The line of the source, or of a level, that a finding is about.
function sourceLine(kernel, { file, line, level, levelLine }) {
  const text = (file != null ? kernel.lineOf("python", line, file) : level ? kernel.lineOf(level, levelLine) : "").trim();
  return text ? element("code", { class: "source" }, coloured(text, file != null ? "python" : level)) : null;
}

function findingsPanel(kernel, page) {
  return element("div", { class: "scroll" }, element("div", { class: "grid" }, ...kernel.findings.map((finding) =>
    element("article", { class: `card finding ${finding.kind}` },
      element("h2", {}, markOf({ wrong: finding.kind !== "note", notes: true }), finding.title),
      finding.where ? element("button", {
        class: "link mono", type: "button",
        onclick: () => (finding.file != null ? page.go("python", finding.line, finding.file) : finding.level ? page.go(finding.level, finding.levelLine) : page.goPass(finding.pass)),
      }, finding.where) : null,
      sourceLine(kernel, finding),
      element("pre", {}, finding.text)))));
}

// --- two kernels -----------------------------------------------------------------------------------------

class Compare {
  // number: the kernel that is shown. It is compared with the last on the page, or the first if it is the last.
  constructor(page, number) {
    this.page = page;
    const { labels } = page.data, last = labels.length - 1;
    const kernelPick = (label, chosen) => element("select", { "aria-label": label, onchange: () => this.open() },
      ...labels.map((text, i) => element("option", { value: i, selected: i === chosen }, text)));
    this.picks = [kernelPick("From", number === last ? 0 : number), kernelPick("To", last)];
    this.pick = element("select", { "aria-label": "Level", onchange: () => this.start() });
    this.counts = element("span", { class: "note" });
    this.view = new DiffView("What differs between two kernels");
    const fold = element("button", {
      class: "chip", type: "button", "aria-pressed": "true",
      onclick: () => {
        this.view.isFolded = !this.view.isFolded;
        fold.setAttribute("aria-pressed", String(this.view.isFolded));
        this.start();
      },
    }, "Changes only");
    this.numbers = element("div", { class: "card" });
    this.mix = element("div", { class: "card" });
    this.node = element("div", { class: "part" },
      element("div", { class: "bar" }, this.picks[0], "→", this.picks[1], this.pick, fold, this.counts, differenceKey()),
      element("div", { class: "passes" }, element("div", { class: "pass-list" }, this.numbers, this.mix),
        element("section", { class: "pane", "aria-label": "Difference" }, this.view.list.box, this.view.list.ruler)));
  }

  // The two kernels that are picked, from their level that was compared before.
  async open() {
    const level = this.pick.value || "ttgir";
    const [a, b] = (this.kernels = await Promise.all(this.picks.map((pick) => this.page.kernelAt(Number(pick.value)))));
    const both = a.levels.map((one) => one.name).filter((name) => b.levelNamed.has(name));
    this.pick.replaceChildren(...both.map((name) => element("option", { value: name, selected: name === level }, TITLES[name])));
    this.numbers.replaceChildren(...this.resources());
    this.start();
  }

  resources() {
    const [a, b] = this.kernels.map((kernel) => new Map(kernel.resources.map(([label, value]) => [label, value])));
    const rows = [...new Set([...a.keys(), ...b.keys()])].map((label) => {
      const [x, y] = [a.get(label) ?? "–", b.get(label) ?? "–"];
      return [cellOf(label), cellOf(x, true), cellOf(x === y ? y : element("b", {}, y), true)];
    });
    return [element("h2", {}, "Resources"), table(["", `#${this.kernels[0].label}`, `#${this.kernels[1].label}`], rows, "Resources of both")];
  }

  start() {
    const [a, b] = this.kernels.map((kernel) => kernel.levelNamed.get(this.pick.value));
    if (!a || !b) return;
    this.view.list.options.language = a.name;
    const clean = (level) => level.lines.filter((line, i) => level.rowAt.has(i + 1) || !NOISE[level.name].test(line)).map(tidy);
    const count = tally(this.view.show(clean(a), clean(b)));
    this.counts.textContent = `+${count.added.toLocaleString("en")} −${count.removed.toLocaleString("en")}`;
    const [x, y] = [new Map(mixOf(a)), new Map(mixOf(b))];
    const moved = [...new Set([...x.keys(), ...y.keys()])].map((op) => [op, x.get(op) || 0, y.get(op) || 0])
      .filter(([, n, m]) => n !== m).sort((p, q) => Math.abs(q[2] - q[1]) - Math.abs(p[2] - p[1])).slice(0, 16);
    this.mix.replaceChildren(element("h2", {}, "Instructions"), moved.length
      ? table(["", "#", "#", "#Δ"], moved.map(([op, n, m]) => [cellOf(element("code", {}, op)), cellOf(n, true), cellOf(m, true), cellOf(m > n ? `+${m - n}` : `−${n - m}`, true)]), "Instructions that differ")
      : element("p", { class: "note" }, "as many of each kind"));
  }
}
