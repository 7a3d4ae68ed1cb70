// The page put together: tabs, search, theme, keys.

class Page {
  // data: labels of the kernels, launches, tunings. A kernel is unpacked when it is first opened.
  constructor(data) {
    this.data = data;
    for (const [language, grammar] of Object.entries(data.grammars)) grammars[language] = new Grammar(grammar);
    this.kernels = data.labels.map(() => null);
    this.detail = document.getElementById("detail");
    this.main = document.getElementById("main");
    this.tabs = document.getElementById("tabs");
    const pick = document.getElementById("pick");
    data.labels.forEach((label, i) => pick.append(element("option", { value: i }, `${{ wrong: "● ", note: "○ " }[this.kindOf(i)] || ""}${label}`)));
    document.getElementById("pick-label").hidden = data.labels.length < 2;
    pick.addEventListener("change", () => this.open(Number(pick.value)));
    this.search = document.getElementById("search");
    this.search.addEventListener("input", () => this.find());
    document.getElementById("search-form").addEventListener("submit", (event) => { event.preventDefault(); this.find(true); });
    this.search.addEventListener("focus", (event) => { this.before = event.relatedTarget; });
    this.search.addEventListener("keydown", (event) => { if (event.key === "Escape") this.leaveSearch(event); });
    this.place = new Place(this);
    printsInFull(this);
    const keys = document.getElementById("keys");
    document.getElementById("help").addEventListener("click", () => keys.showModal());
    document.getElementById("theme").addEventListener("click", () => this.theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    this.theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "/" && !typing) { this.search.focus(); event.preventDefault(); }
      if (event.key === "?" && !typing) keys.showModal();
    });
    this.tabs.addEventListener("keydown", (event) => this.tabKey(event));
  }

  // "wrong": a kernel has faults; "note": it has only notes; "": nothing was found.
  kindOf(number) {
    const { wrong, notes } = this.data.found[number];
    return wrong ? "wrong" : notes ? "note" : "";
  }

  // Shows what the address names, or else the first kernel that has a fault, or a note.
  async start() {
    const kinds = this.data.labels.map((_, i) => this.kindOf(i));
    const first = ["wrong", "note"].map((kind) => kinds.indexOf(kind)).find((at) => at >= 0) ?? 0;
    await this.open(this.place.kernel ?? first);
    await this.place.follow();
  }

  // A search that is given up: nothing is found any more, and the focus is where it was.
  leaveSearch(event) {
    event.preventDefault();
    this.search.value = "";
    this.find();
    const back = this.before?.isConnected && this.before.checkVisibility() ? this.before : this.main;
    back.focus();
  }

  // A promise of a kernel.
  kernelAt(number) {
    return (this.kernels[number] ??= unpack(`kernel-${number}`).then((data) => new Kernel(data, number, this.data.labels[number])));
  }

  theme(name) {
    document.documentElement.dataset.theme = name;
    this.levels?.panes.forEach((pane) => pane.list.drawRuler());
  }

  // Shows a kernel, in the part that was shown of the one before.
  async open(number, part = this.shown) {
    this.wanted = number;
    const kernel = await this.kernelAt(number);
    if (this.wanted !== number) return; // another was chosen meanwhile
    this.kernel = kernel;
    document.getElementById("pick").value = number;
    this.pinnedChanged = null;
    this.main.replaceChildren();
    this.tabs.replaceChildren();
    this.detail.replaceChildren("Point at a line, or choose one with the arrow keys.");
    document.getElementById("kernel-name").textContent = kernel.name;
    document.getElementById("kernel-facts").textContent = kernel.facts.join("  ·  ");
    this.parts = [];
    this.levels = new Levels(kernel, this);
    this.add("Levels", this.levels.node, () => this.levels.start());
    if (kernel.passes.length) {
      this.passes = new Passes(kernel, this);
      this.pinnedChanged = (lines) => this.passes.pinned(lines);
      this.add("Passes", this.passes.node, () => this.passes.start(), String(kernel.passes.length));
    }
    const { launches, tunings } = this.data;
    if (launches.length || tunings.length)
      this.add("Launches", null, () => launchesPanel(this.data, this), launches.length ? String(launches.length) : "");
    this.add("Resources", resourcesPanel(kernel, this), () => {});
    if (kernel.profile) this.add("Profile", null, () => profilePanel(kernel, this));
    if (kernel.values.length) {
      const values = new Values(kernel, this);
      this.add("Values", values.node, () => values.start(), String(kernel.values.length));
    }
    if (kernel.layouts.length) this.add("Layouts", null, () => layoutsPanel(kernel, this), String(kernel.layouts.length));
    if (kernel.findings.length) this.add("Findings", findingsPanel(kernel, this), () => {}, String(kernel.findings.length), this.kindOf(number));
    if (this.kernels.length > 1) {
      const compare = new Compare(this, number);
      this.add("Compare", compare.node, () => compare.open());
    }
    await this.show(Math.max(0, this.parts.findIndex((one) => one.title === part)));
  }

  // Shows a kernel's levels.
  async openAt(number) {
    await this.open(number, "Levels");
  }

  // A part: its node, or what `start` returns when it is first opened.
  add(title, node, start, badge = "", kind = "") {
    const number = this.parts.length, id = title.toLowerCase();
    const tab = element("button", {
      role: "tab", type: "button", id: `tab-${id}`, "aria-controls": `panel-${id}`, "aria-selected": "false", tabindex: -1,
      onclick: () => this.show(number),
    }, title, badge ? element("span", { class: `badge ${kind}` }, badge) : null);
    const panel = element("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, hidden: true }, node);
    this.tabs.append(tab);
    this.main.append(panel);
    this.parts.push({ title, tab, panel, start, isFresh: true });
  }

  // A promise: the part is filled.
  async show(number) {
    this.shown = this.parts[number].title;
    this.parts.forEach(({ tab, panel }, i) => {
      tab.setAttribute("aria-selected", String(i === number));
      tab.tabIndex = i === number ? 0 : -1;
      panel.hidden = i !== number;
    });
    const part = this.parts[number];
    if (part.isFresh) {
      part.isFresh = false;
      const made = part.start();
      if (made instanceof Node) part.panel.append(made);
      else await made;
    }
    this.place.note();
  }

  tabKey(event) {
    const now = this.parts.findIndex(({ tab }) => tab.getAttribute("aria-selected") === "true"), count = this.parts.length;
    const to = { ArrowRight: (now + 1) % count, ArrowLeft: (now + count - 1) % count, Home: 0, End: count - 1 }[event.key];
    if (to === undefined) return;
    this.show(to);
    this.parts[to].tab.focus();
    event.preventDefault();
  }

  find(isEntered = false) {
    const text = this.search.value;
    if (text) this.show(0);
    const count = this.levels.search(text);
    document.getElementById("search-count").textContent = text ? count.toLocaleString("en") : "";
    if (isEntered && count) {
      const pane = [...this.levels.panes.values()].find((one) => this.levels.found[one.name]?.size);
      pane.list.box.focus();
      pane.list.step(this.levels.found[pane.name], true);
    }
  }

  go(level, line, file = null) {
    this.show(0);
    this.levels.go(level, line, file);
  }

  async goPass(name) {
    this.show(this.parts.findIndex(({ tab }) => tab.id === "tab-passes"));
    await this.passes.start();
    const at = this.kernel.passes.findIndex((pass) => pass.name === name);
    if (at >= 0) this.passes.show(at);
  }
}

(async () => {
  try {
    window.page = new Page(await unpack("page"));
    await window.page.start();
    performance.mark("ready");
    document.getElementById("main").removeAttribute("aria-busy");
  } catch (error) {
    const said = `This page could not be opened; it needs a browser of 2023 or later: ${error.message}`;
    document.getElementById("main").replaceChildren(element("p", { class: "empty" }, said));
    throw error;
  }
})();
