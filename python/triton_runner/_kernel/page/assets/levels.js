// The levels side by side. What is under the pointer, or chosen by key, lights its counterparts everywhere.

const TITLES = { ttir: "TTIR", ttgir: "TTGIR", llir: "LLIR", ptx: "PTX", sass: "SASS", amdgcn: "AMDGCN" };
// Lines that say nothing of what runs: shown on demand.
const NOISE = {
  ttir: /^#loc|^\s*$/, ttgir: /^#loc|^\s*$/,
  llir: /^![\d\w.]+ = |^\s*$|^;|^attributes |^source_filename/,
  ptx: /^\s*\.(loc|file|section|b8|b16|b32|b64)\b|^\s*\/\/|^\s*$|^\s*[{}]\s*$|^\$L__(tmp|func|info|debug)/,
  amdgcn: /^\s*(\.loc|\.file|\.cfi|\.p2align|\.ident|\.section|\.byte|\.long|\.short|\.asciz|\.quad)|^\s*;|^\s*$|^\.L(tmp|func|info|debug|Linfo|Lfunc|Ltmp)/,
  sass: /^\s*$/,
};
const SHOWN_FIRST = ["python", "ttgir", "ptx", "sass", "amdgcn"];

class Levels {
  constructor(kernel, page) {
    this.kernel = kernel;
    this.page = page;
    this.pinned = null;
    this.lit = {}; // level: Set of lines; python: Map of line to 1 (through a call) or 2
    this.found = {};
    this.blamed = blame(kernel);
    this.valued = valued(kernel);
    this.showsAll = false;
    this.file = kernel.mainFile;
    this.panes = new Map();
    this.wrap = element("div", { class: "panes" });
    this.chips = element("div", { class: "bar", role: "group", "aria-label": "Which levels are shown" });
    const names = ["python", ...kernel.levels.map((level) => level.name)];
    const shown = names.length <= 4 ? names : names.filter((name) => SHOWN_FIRST.includes(name));
    for (const name of names) this.addPane(name, shown.includes(name));
    this.chips.append(element("span", { class: "gap" }), this.legend(), this.toggle("Debug information", false, (on) => {
      this.showsAll = on;
      this.panes.forEach((pane) => this.fill(pane));
    }));
    this.node = element("div", { class: "part", role: "presentation" }, this.chips, this.wrap);
  }

  // What the colours beside and under lines mean, of those that this kernel has.
  legend() {
    const { kernel } = this, kinds = new Set(kernel.findings.map(({ kind }) => (kind === "note" ? "note" : "wrong")));
    const entries = [["var(--lit)", "belongs to it"], ["var(--lit-soft)", "calls it"], ["var(--cur)", "chosen"], ["var(--hit)", "found"]];
    if (kinds.has("wrong")) entries.push([".mark wrong", "fault"]);
    if (kinds.has("note")) entries.push([".mark note", "note"]);
    if (kernel.values.length) entries.push([".valued", "dumped value"]);
    return colourKey("Colours of lines", entries, kernel.profile ? heatKey(kernel.profile) : null);
  }

  toggle(text, on, then) {
    return element("button", {
      class: "chip", type: "button", "aria-pressed": String(on),
      onclick: (event) => {
        const now = event.currentTarget.getAttribute("aria-pressed") !== "true";
        event.currentTarget.setAttribute("aria-pressed", String(now));
        then(now);
      },
    }, text);
  }

  addPane(name, isShown) {
    const title = name === "python" ? "Python" : TITLES[name], level = this.kernel.levelNamed.get(name);
    const count = element("span", { class: "lit-count" });
    const list = new CodeList({
      label: `${title} of ${this.kernel.name}`, language: name,
      hueOf: (line) => this.hue(name, line),
      heatOf: (line) => heatOf(this.kernel, name, line, this.file),
      costOf: name === "python" ? (line) => this.costs?.get(line)?.toLocaleString("en") || "" : null,
      classesOf: (line) => this.classes(name, line),
      marks: () => [
        [this.found[name] || [], "--hit"], [name === "python" ? (this.lit.python || new Map()).keys() : this.lit[name] || [], "--accent"],
        ...["note", "wrong"].map((kind) => [this.blamedLines(name, kind), kind === "wrong" ? "--bad" : "--note"]),
      ],
      onCurrent: (line, how) => this.select(name, line, how),
      onHover: (line) => this.hover(name, line),
      onKey: (event) => this.key(name, event),
    });
    const step = (forward) => element("button", {
      class: "step", type: "button", "aria-label": `${forward ? "Next" : "Previous"} lit line of ${title}`,
      onclick: () => this.step(name, forward),
    }, forward ? "▾" : "▴");
    const head = element("header", {}, name === "python" ? this.filePicker() : element("h2", {}, title),
      level ? element("span", {}, plural(level.rows.length, "row")) : element("span", { title: `rows of ${this.kernel.lowest} that a line became` }),
      count, step(false), step(true));
    const node = element("section", { class: "pane", "aria-label": title, "data-level": name, hidden: !isShown }, head, list.box, list.ruler);
    const pane = { name, title, list, node, count, level };
    const grip = this.grip(node, title);
    grip.hidden = !isShown;
    this.panes.set(name, pane);
    this.wrap.append(node, grip);
    this.chips.append(this.toggle(title, isShown, (on) => {
      node.hidden = grip.hidden = !on;
      if (on) this.fill(pane);
    }));
  }

  // The gap to the right of a pane: dragged, or moved by arrow keys, it makes the pane wider or narrower; a
  // double click lets the pane share the width with the others again.
  grip(node, title) {
    const resize = (width) => { node.style.flex = `0 0 ${Math.max(120, Math.round(width))}px`; };
    return element("div", {
      class: "grip", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": `Width of ${title}`,
      ondblclick: () => { node.style.flex = ""; },
      onkeydown: (event) => {
        const by = { ArrowLeft: -40, ArrowRight: 40 }[event.key];
        if (by) { resize(node.offsetWidth + by); event.preventDefault(); }
      },
      onpointerdown: (event) => {
        const start = event.clientX - node.offsetWidth, grip = event.currentTarget;
        grip.setPointerCapture(event.pointerId);
        grip.onpointermove = (move) => resize(move.clientX - start);
        grip.onpointerup = grip.onpointercancel = () => { grip.onpointermove = null; };
        event.preventDefault();
      },
    });
  }

  filePicker() {
    return element("select", {
      "aria-label": "Source file",
      onchange: (event) => { this.file = Number(event.target.value); this.fill(this.panes.get("python")); this.light(this.pinned); },
    }, ...this.kernel.files.map((file, i) =>
      element("option", { value: i, selected: i === this.kernel.mainFile, title: file.path }, shortName(file.path))));
  }

  // When the panel is first in sight.
  start() {
    this.panes.forEach((pane) => this.fill(pane));
    const first = this.firstLine();
    const python = this.panes.get("python").list;
    if (first && python.position) python.show(first, true);
    const finding = this.kernel.findings.find(({ kind }) => kind !== "note");
    if (finding?.file != null) this.choose("python", finding.line, finding.file);
    else if (finding?.level) this.choose(finding.level, finding.levelLine);
  }

  firstLine() {
    const own = this.kernel.places.filter((place) => place[0] === this.kernel.mainFile).map((place) => place[1]);
    return own.length ? Math.min(...own) : 0;
  }

  fill(pane) {
    if (pane.node.hidden) return;
    if (pane.name === "python") {
      this.costs = this.kernel.costs(this.kernel.lowest, this.file);
      const file = this.kernel.files[this.file];
      return pane.list.fill(file?.text != null ? file.text.split("\n") : this.unreadable(file));
    }
    const lines = pane.level.lines, noise = NOISE[pane.name];
    if (this.showsAll) return pane.list.fill(lines);
    const shown = lines.flatMap((line, i) => (noise.test(line) && !pane.level.rowAt.has(i + 1) ? [] : [i]));
    pane.list.fill(lines.map(tidy), shown);
  }

  unreadable(file) {
    const most = Math.max(1, ...this.kernel.places.filter((p) => p[0] === this.file).map((p) => p[1]));
    return Array.from({ length: most }, (_, i) => (i ? "" : `# ${file ? file.path : "no source"}: this file was not there when the page was made`));
  }

  // A colour for each line of the source; rows have that of the outermost place.
  hue(name, line) {
    if (name === "python") return this.costs?.get(line) ? (line * 47) % 360 : null;
    const place = this.panes.get(name).level.rowAt.get(line)?.places[0];
    if (place === undefined) return null;
    const frames = this.kernel.stack(place), frame = frames.find((f) => f[0] === this.kernel.mainFile) || frames[0];
    return (frame[1] * 47) % 360;
  }

  classes(name, line) {
    const lit = this.lit[name];
    const how = name === "python" ? { 1: "lit2", 2: "lit" }[lit?.get(line)] || "" : lit?.has(line) ? "lit" : "";
    const findings = this.findingsAt(name, line);
    const blamed = findings.length ? ` blame ${findings.some(({ kind }) => kind !== "note") ? "wrong" : "note"}` : "";
    return `${how}${this.found[name]?.has(line) ? " hit" : ""}${blamed}${this.valued[name]?.has(line) ? " valued" : ""}`;
  }

  blameOf(name) {
    return this.blamed[name === "python" ? `python:${this.file}` : name] || new Map();
  }

  findingsAt(name, line) {
    return this.blameOf(name).get(line) || [];
  }

  // The lines of a level with faults ("wrong"), or with notes ("note").
  blamedLines(name, kind) {
    return [...this.blameOf(name)].filter(([, all]) => all.some((one) => (one.kind === "note") === (kind === "note"))).map(([line]) => line);
  }

  // What belongs to a line: {level: Set}, and of Python {line: 1 or 2}.
  related(name, line) {
    const { kernel } = this;
    if (name === "python") return { ...kernel.ofSource(this.file, line), python: new Map([[line, 2]]) };
    const found = kernel.counterparts(name, line), python = new Map();
    for (const place of kernel.levelNamed.get(name).rowAt.get(line)?.places || [])
      kernel.stack(place).forEach((frame, depth) => {
        if (frame[0] === this.file) python.set(frame[1], Math.max(python.get(frame[1]) || 0, depth ? 1 : 2));
      });
    found[name].add(line);
    return { ...found, python };
  }

  light(at) {
    this.lit = at ? this.related(at.name, at.line) : {};
    for (const pane of this.panes.values()) {
      const count = this.lit[pane.name]?.size || 0;
      pane.count.textContent = count ? `${count.toLocaleString("en")} lit` : "";
      if (!pane.node.hidden) pane.list.relight();
    }
  }

  hover(name, line) {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => {
      this.light(line ? { name, line } : this.pinned);
      if (line) this.tell(name, line);
      else if (this.pinned) this.tell(this.pinned.name, this.pinned.line);
    });
  }

  select(name, line, how) {
    this.pinned = { name, line };
    this.light(this.pinned);
    this.tell(name, line);
    for (const pane of this.panes.values())
      if (pane.name !== name) { pane.list.current = 0; pane.list.relight(); }
    if (how === "click")
      for (const pane of this.panes.values()) {
        const lines = this.lit[pane.name];
        if (pane.name === name || pane.node.hidden || !lines?.size) continue;
        const first = Math.min(...(pane.name === "python" ? [...lines.keys()] : lines));
        pane.list.show(first, true);
      }
    this.page.pinnedChanged?.(this.pinnedLines());
    this.page.place.note();
  }

  // The lines of the source that the pinned line belongs to: ["file:line"].
  pinnedLines() {
    if (!this.pinned) return new Set();
    const { name, line } = this.pinned;
    if (name === "python") return new Set([`${this.file}:${line}`]);
    const places = this.kernel.levelNamed.get(name).rowAt.get(line)?.places || [];
    return new Set(places.map((place) => this.kernel.places[place].slice(0, 2).join(":")));
  }

  tell(name, line) {
    const detail = this.page.detail, { kernel } = this, parts = [];
    if (name === "python") {
      const at = kernel.files[this.file];
      parts.push(element("span", { class: "frame" }, `${at ? shortName(at.path) : ""}:${line} `));
    } else {
      const places = kernel.levelNamed.get(name).rowAt.get(line)?.places || [];
      parts.push(element("span", { class: "frame" }, `${TITLES[name]} ${line} ← ${places.map((place) =>
        kernel.stack(place).map((f) => `${shortName(kernel.files[f[0]].path)}:${f[1]}`).join(", called at ")).join(" and ") || "nothing says from where"} `));
      parts.push(element("code", {}, kernel.levelNamed.get(name).lines[line - 1].trim().slice(0, 1200)));
    }
    const counts = Object.entries(this.lit).filter(([level, lines]) => level !== "python" && level !== name && lines.size)
      .map(([level, lines]) => `${TITLES[level]} ${lines.size.toLocaleString("en")}`);
    if (counts.length) parts.push(element("span", {}, `  ·  ${counts.join(", ")}`));
    const said = kernel.opcodes[name]?.[kernel.levelNamed.get(name).rowAt.get(line)?.op];
    if (said) parts.push(element("div", { class: "opcode" }, said));
    for (const [value, register] of this.valued[name]?.get(line) || [])
      parts.push(element("div", { class: "held" }, `${register ? `${register}: ` : ""}${value.variable ? `${value.variable}, ` : ""}${value.name} `,
        `from ${show(value.stats.min)} to ${show(value.stats.max)}${marksIn(value.stats) && `, ${marksIn(value.stats)}`}`));
    for (const finding of this.findingsAt(name, line)) parts.push(element("div", {}, markOf({ wrong: finding.kind !== "note", notes: true }), finding.title));
    detail.replaceChildren(...parts);
  }

  step(name, forward) {
    const pane = this.panes.get(name), lines = this.found[name]?.size ? this.found[name] : this.lit[name];
    if (!lines?.size) return;
    const keep = this.lit, pinned = this.pinned;
    pane.list.options.onCurrent = () => {}; // what is lit stays
    pane.list.step(name === "python" && lines === this.lit.python ? lines.keys() : lines, forward);
    pane.list.options.onCurrent = (line, how) => this.select(name, line, how);
    this.lit = keep;
    this.pinned = pinned;
    this.tell(name, pane.list.current);
  }

  key(name, event) {
    if (event.key === "n" || event.key === "p") this.step(name, event.key === "n");
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const shown = [...this.panes.values()].filter((pane) => !pane.node.hidden);
      const next = shown[shown.findIndex((pane) => pane.name === name) + (event.key === "ArrowLeft" ? -1 : 1)];
      if (!next) return false;
      next.list.box.focus();
      next.node.scrollIntoView({ block: "nearest", inline: "nearest" });
      if (!next.list.current && this.lit[next.name]?.size) this.step(next.name, true);
    } else if (event.key === "Escape") {
      this.pinned = null;
      for (const pane of this.panes.values()) pane.list.current = 0;
      this.light(null);
      this.page.pinnedChanged?.(new Set());
      this.page.place.note();
    } else return false;
    return true;
  }

  search(text) {
    this.found = {};
    let count = 0;
    const wanted = text.toLowerCase();
    for (const pane of this.panes.values()) {
      if (pane.node.hidden) continue;
      if (wanted) {
        const hits = pane.list.shown.filter((i) => pane.list.lines[i].toLowerCase().includes(wanted)).map((i) => i + 1);
        this.found[pane.name] = new Set(hits);
        count += hits.length;
        if (hits.length) pane.list.show(hits[0]);
      }
      pane.list.relight();
    }
    return count;
  }

  // Shows a line of a level, or of a source file ("python", with its number), and moves the focus there.
  go(name, line, file = null) {
    this.choose(name, line, file);
    this.panes.get(name)?.list.box.focus();
  }

  choose(name, line, file = null) {
    if (name === "python" && file !== null && file !== this.file) {
      this.file = file;
      this.panes.get("python").node.querySelector("select").value = file;
      this.fill(this.panes.get("python"));
    }
    const pane = this.panes.get(name);
    if (!pane) return;
    if (pane.node.hidden) [...this.chips.children].find((chip) => chip.textContent === pane.title)?.click();
    if (!pane.list.position?.has(line) && pane.level) this.showDebug();
    pane.list.choose(line, "click");
  }

  // Lines that are hidden at first are shown too.
  showDebug() {
    if (!this.showsAll) [...this.chips.children].find((chip) => chip.textContent === "Debug information")?.click();
  }
}

// {level: Map of line to [dumped value, the register that holds it or a part of it; "" of other levels]}
function valued(kernel) {
  const out = {};
  const add = (name, line, value, register) => {
    const lines = (out[name] ??= new Map());
    lines.set(line, [...(lines.get(line) || []), [value, register]]);
  };
  for (const value of kernel.values) {
    for (const [line, register] of value.held) add("sass", line, value, register);
    if (value.at && value.at[0] !== "python" && !value.held.length) add(value.at[0], value.at[1], value, "");
  }
  return out;
}

// {level or "python:file": Map of line to findings}
function blame(kernel) {
  const out = {};
  const add = (name, line, finding) => {
    const lines = (out[name] ??= new Map());
    lines.set(line, [...(lines.get(line) || []), finding]);
  };
  for (const finding of kernel.findings) {
    if (finding.file != null) add(`python:${finding.file}`, finding.line, finding);
    if (finding.level && finding.levelLine) add(finding.level, finding.levelLine, finding);
  }
  return out;
}
