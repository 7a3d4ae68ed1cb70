// All passes in their order, with what each changed.

class Passes {
  constructor(kernel, page) {
    this.kernel = kernel;
    this.page = page;
    this.at = 0;
    this.texts = null; // of each pass its lines, unpacked when the panel is first opened
    this.lit = new Set();
    this.view = new DiffView("What the pass changed", { language: "ttgir", isLit: (entry) => this.isLit(entry) });
    this.slider = element("input", {
      type: "range", min: 0, max: kernel.passes.length - 1, value: 0, "aria-label": "Pass",
      oninput: (event) => this.show(Number(event.target.value)),
    });
    this.title = element("h2", { class: "mono" });
    this.counts = element("span");
    this.items = kernel.passes.map((pass, i) => this.item(pass, i));
    this.listed = element("ol", { class: "pass-list", "aria-label": "Passes" });
    let stage = "";
    kernel.passes.forEach((pass, i) => {
      if (pass.stage !== stage) this.listed.append(element("li", { class: "stage" }, (stage = pass.stage)));
      this.listed.append(element("li", {}, this.items[i]));
    });
    const fold = element("button", {
      class: "chip", type: "button", "aria-pressed": "true",
      onclick: () => {
        this.view.isFolded = !this.view.isFolded;
        fold.setAttribute("aria-pressed", String(this.view.isFolded));
        this.show(this.at);
      },
    }, "Changes only");
    const step = (by, label, sign) => element("button", {
      class: "chip", type: "button", "aria-label": label, onclick: () => this.toChange(by),
    }, sign);
    this.node = element("div", { class: "part" },
      element("div", { class: "bar" }, step(-1, "The change before", "◂"), this.slider, step(1, "The next change", "▸"), fold, differenceKey()),
      element("div", { class: "passes" }, this.listed,
        element("section", { class: "pane", "aria-label": "What the pass changed" },
          element("header", {}, this.title, this.counts), this.view.list.box, this.view.list.ruler)));
  }

  item(pass, i) {
    return element("button", { type: "button", class: pass.changed ? "" : "still", onclick: () => this.show(i) },
      element("span", { class: "nr" }, String(pass.number)), element("span", { class: "what", title: pass.name }, pass.name),
      element("span", { class: "plus" }), element("span", { class: "minus" }));
  }

  async start() {
    if (this.texts) return;
    this.title.textContent = "Unpacking…";
    const kept = await unpack(`passes-${this.kernel.number}`);
    let last = { lines: [], at: [] };
    this.texts = this.kernel.passes.map((pass) => {
      const own = kept[pass.number];
      if (own) {
        const lines = own.text.split("\n"), kept = lines.flatMap((line, i) => (/^#loc|^\s*$/.test(line) ? [] : [i]));
        last = { lines: kept.map((i) => tidy(lines[i])), at: kept.map((i) => own.at[i]) };
      }
      return last;
    });
    this.differences = new Map();
    const first = this.kernel.passes.findIndex((pass, i) => i > 0 && pass.changed);
    this.show(first > 0 ? first : 0);
    this.countIdly(1);
  }

  entries(i) {
    if (!this.differences.has(i))
      this.differences.set(i, difference(i ? this.texts[i - 1].lines : [], this.texts[i].lines));
    return this.differences.get(i);
  }

  // The changes of each pass for the list, when there is time.
  countIdly(i) {
    if (i >= this.texts.length) return;
    (window.requestIdleCallback || setTimeout)(() => {
      if (this.kernel.passes[i].changed) this.tallyOf(i);
      this.countIdly(i + 1);
    });
  }

  tallyOf(i) {
    const count = tally(this.entries(i)), [, , plus, minus] = this.items[i].children;
    plus.textContent = count.added ? `+${count.added}` : "";
    minus.textContent = count.removed ? `−${count.removed}` : "";
    return count;
  }

  show(i) {
    this.at = i;
    this.slider.value = i;
    this.page.place.note();
    const pass = this.kernel.passes[i];
    this.slider.setAttribute("aria-valuetext", `${pass.number} ${pass.name}${pass.changed ? ", changed" : ""}`);
    this.items.forEach((item, k) => item.toggleAttribute("aria-current", false) || (k === i && item.setAttribute("aria-current", "true")));
    this.items[i].scrollIntoView({ block: "nearest" });
    if (!this.texts) return;
    const before = i ? this.texts[i - 1].lines : [], now = this.texts[i].lines;
    const known = !i || !pass.changed ? now.map((_, k) => ["same", k + 1, k + 1]) : this.entries(i);
    this.view.show(i && pass.changed ? before : now, now, known);
    const count = i && pass.changed ? this.tallyOf(i) : { added: 0, removed: 0 };
    this.title.textContent = `${pass.number} ${pass.name}`;
    const facts = [pass.stage, pass.seconds != null ? `${(pass.seconds * 1e3).toFixed(2)} ms` : "", plural(now.length, "line")];
    this.counts.textContent = [...facts.filter(Boolean), !i ? "" : pass.changed ? `+${count.added} −${count.removed}` : "changed nothing"].filter(Boolean).join("  ·  ");
  }

  // Shows the pass of a number, where there is one.
  showNumber(number) {
    const at = this.kernel.passes.findIndex((pass) => pass.number === number);
    if (at >= 0) this.show(at);
  }

  toChange(by) {
    let i = this.at + by;
    while (i > 0 && i < this.kernel.passes.length && !this.kernel.passes[i].changed) i += by;
    if (i >= 0 && i < this.kernel.passes.length) this.show(i);
  }

  // Lines of the source that are pinned among the levels are lit here too.
  isLit([kind, old, now]) {
    if (!this.lit.size || kind === "fold") return false;
    const text = now ? this.texts[this.at] : this.texts[this.at - 1];
    const place = text.at[(now || old) - 1];
    return place >= 0 && this.lit.has(this.kernel.places[place].slice(0, 2).join(":"));
  }

  pinned(lines) {
    this.lit = lines;
    if (this.texts) this.view.list.relight();
  }
}
