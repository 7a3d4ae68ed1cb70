// A list of code lines of which only those in sight are in the document, so that its length costs nothing.

const ROW = 19, LONGEST = 400;

class CodeList {
  // options: label; language; hueOf(line), heatOf(line), costOf(line), classesOf(line), labelOf(line); onCurrent(line, how), onHover(line).
  constructor(options) {
    this.options = options;
    this.current = 0; // a line from 1; 0: none
    this.rows = new Map();
    this.space = element("div", { class: "space", role: "presentation" });
    this.box = element("div", {
      class: "code", tabindex: 0, role: "listbox", "aria-label": options.label,
      onkeydown: (event) => this.key(event), onscroll: () => this.draw(),
    }, this.space);
    this.ruler = element("canvas", { class: "ruler", "aria-hidden": "true" });
    this.space.addEventListener("click", (event) => this.pointed(event, (line) => this.choose(line, "click")));
    this.space.addEventListener("mousemove", (event) => this.pointed(event, (line) => {
      if (line !== this.hovered) options.onHover?.((this.hovered = line));
    }));
    this.box.addEventListener("mouseleave", () => { this.hovered = 0; options.onHover?.(0); });
    new ResizeObserver(() => { this.draw(); this.drawRuler(); }).observe(this.box);
  }

  // lines: texts; shown: indices of those that are in view, or null for all.
  fill(lines, shown = null) {
    this.lines = lines;
    this.opened = grammars[this.options.language]?.opened(lines);
    this.shown = shown || lines.map((_, i) => i);
    this.position = new Map(this.shown.map((line, i) => [line + 1, i]));
    const longest = this.shown.reduce((most, i) => Math.max(most, Math.min(LONGEST, lines[i].length)), 0);
    this.space.style.height = `${this.shown.length * ROW + 8}px`;
    this.space.style.width = `calc(${longest}ch + 130px)`;
    this.refresh();
  }

  refresh() {
    this.rows.forEach((row) => row.remove());
    this.rows.clear();
    this.draw();
    this.drawRuler();
  }

  draw() {
    if (!this.lines || !this.box.clientHeight) return;
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 6);
    const last = Math.min(this.shown.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 6);
    for (const [at, row] of this.rows)
      if (at < first || at >= last) { row.remove(); this.rows.delete(at); }
    for (let at = first; at < last; ++at)
      if (!this.rows.has(at)) {
        const row = this.make(at);
        this.rows.set(at, row);
        this.space.append(row);
      }
  }

  make(at) {
    const line = this.shown[at] + 1, { hueOf, heatOf, costOf, labelOf } = this.options;
    const row = element("div", {
      role: "option", id: `${this.id}-${line}`, "aria-posinset": at + 1, "aria-setsize": this.shown.length,
      "aria-selected": String(line === this.current),
    });
    row.dataset.line = line;
    const hue = hueOf?.(line), text = this.lines[line - 1];
    const mark = element("span", { class: "hue" });
    if (hue != null) mark.style.background = `hsl(${hue} 62% 58%)`;
    const number = element("span", { class: "number" }, String(labelOf ? labelOf(line) : line));
    const heat = heatOf?.(line);
    if (heat) {
      number.classList.add("heat");
      number.style.setProperty("--heat", heat);
    }
    row.append(number, mark);
    if (costOf) row.append(element("span", { class: "cost" }, costOf(line)));
    row.append(element("span", { class: "text" }, coloured(text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text, this.options.language, this.opened?.[line - 1])));
    row.style.top = `${at * ROW}px`;
    this.dress(row, line);
    return row;
  }

  dress(row, line) {
    const chosen = line === this.current;
    row.className = `row ${this.options.classesOf?.(line) || ""}${chosen ? " cur" : ""}`;
    row.setAttribute("aria-selected", String(chosen));
  }

  // What is lit has changed, the text has not.
  relight() {
    for (const row of this.rows.values()) this.dress(row, Number(row.dataset.line));
    this.drawRuler();
  }

  drawRuler() {
    const height = this.box.clientHeight, marks = this.options.marks?.() || [];
    this.ruler.width = 12;
    this.ruler.height = height || 1;
    this.ruler.style.height = `${height}px`;
    if (!height || !this.lines) return;
    const pen = this.ruler.getContext("2d"), style = getComputedStyle(document.documentElement);
    for (const [lines, colour] of marks) {
      pen.fillStyle = style.getPropertyValue(colour);
      for (const line of lines) {
        const at = this.position.get(line);
        if (at !== undefined) pen.fillRect(2, (at / this.shown.length) * (height - 3), 8, 3);
      }
    }
  }

  pointed(event, then) {
    const row = event.target.closest(".row");
    if (row) then(Number(row.dataset.line));
  }

  // Makes a line the current one, in sight.
  choose(line, how = "key") {
    if (!this.position.has(line)) return;
    this.current = line;
    this.show(line);
    this.box.setAttribute("aria-activedescendant", `${this.id}-${line}`);
    this.options.onCurrent?.(line, how);
    this.relight();
  }

  show(line, atTop = false) {
    const at = this.position.get(line);
    if (at === undefined) return;
    const top = at * ROW, view = this.box.clientHeight;
    if (atTop || top < this.box.scrollTop || top > this.box.scrollTop + view - 2 * ROW)
      this.box.scrollTop = Math.max(0, top - view / 3);
    this.draw();
  }

  // The next line of a set after the current one (or before it), in a circle.
  step(lines, forward) {
    const sorted = [...lines].filter((line) => this.position.has(line)).sort((a, b) => a - b);
    if (!sorted.length) return;
    const from = this.current || 0;
    const next = forward
      ? sorted.find((line) => line > from) ?? sorted[0]
      : sorted.findLast((line) => line < from) ?? sorted[sorted.length - 1];
    this.choose(next, "step");
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 2), at = this.position.get(this.current) ?? -1;
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: Infinity };
    if (event.key in moves) {
      const to = Math.min(this.shown.length - 1, Math.max(0, moves[event.key]));
      this.choose(this.shown[to] + 1);
    } else if (event.key === "Enter") {
      if (this.current) this.options.onCurrent?.(this.current, "click");
    } else if (!this.options.onKey?.(event)) return;
    event.preventDefault();
  }
}

let lists = 0;
Object.defineProperty(CodeList.prototype, "id", {
  get() { return (this.own ??= `list${++lists}`); },
});
