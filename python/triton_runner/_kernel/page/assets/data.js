// The kernel as the page holds it, and how rows of different levels find each other. The rules of matching are
// those of SourceMap (source_map.py): a test compares what both say.

async function unpack(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

// The mark of a kernel, a launch or a line that has findings: wrong ones, or only notes.
const markOf = ({ wrong, notes }) => (wrong || notes
  ? element("span", { class: `mark ${wrong ? "wrong" : "note"}`, role: "img", "aria-label": wrong ? "It has a fault." : "It has a note." }) : null);

// A key of colours: pairs of a style or class of a swatch, and what it means.
function colourKey(label, entries, ...more) {
  return element("div", { class: "key", role: "group", "aria-label": label }, ...entries.map(([style, text]) => {
    const swatch = element("i", style.startsWith(".") ? { class: style.slice(1) } : {});
    if (!style.startsWith(".")) swatch.style.background = style;
    return element("span", {}, swatch, text);
  }), ...more);
}

const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const shortName = (path) => path.slice(path.lastIndexOf("/") + 1);

class Kernel {
  // number: that of its blobs on the page; label: what tells it from the other kernels.
  constructor(data, number, label) {
    Object.assign(this, data, { number, label });
    this.levelNamed = new Map();
    const keys = this.places.map((_, place) => this.keys(place));
    for (const level of this.levels) {
      level.lines = level.text.split("\n");
      level.rowAt = new Map();
      level.index = [new Map(), new Map(), new Map(), new Map()];
      level.madeFromPtx = new Map();
      for (const [line, op, places, ptxLine] of level.rows) {
        level.rowAt.set(line, { line, op, places, ptxLine });
        if (ptxLine) put(level.madeFromPtx, ptxLine, line);
        for (const place of places) level.index.forEach((map, kind) => put(map, keys[place][kind], line));
      }
      this.levelNamed.set(level.name, level);
    }
    this.placeKeys = keys;
  }

  // The frames of a place, innermost first: [file, line, column].
  stack(place) {
    const frames = [];
    for (let at = place; at >= 0; at = this.places[at][3]) frames.push(this.places[at]);
    return frames;
  }

  keys(place) {
    const [file, line, column] = this.places[place];
    const lines = this.stack(place).map((frame) => `${frame[0]}:${frame[1]}`).join("<");
    return [place, lines, `${file}:${line}:${column}`, `${file}:${line}`];
  }

  // {level: Set of lines} that belong to a line of a level.
  counterparts(own, line) {
    const row = this.levelNamed.get(own).rowAt.get(line);
    const found = {};
    for (const level of this.levels) {
      const lines = row ? this.matching(level, own, row) : new Set();
      if (level.name === own) lines.delete(line);
      found[level.name] = lines;
    }
    return found;
  }

  matching(level, own, row) {
    if (own === "sass" && level.name === "ptx" && row.ptxLine)
      return new Set(level.rowAt.has(row.ptxLine) ? [row.ptxLine] : []);
    if (own === "ptx" && level.name === "sass" && level.madeFromPtx.has(row.line))
      return new Set(level.madeFromPtx.get(row.line));
    const lines = new Set();
    for (const place of row.places) {
      const kind = level.index.findIndex((map, i) => map.has(this.placeKeys[place][i]));
      if (kind >= 0) for (const line of level.index[kind].get(this.placeKeys[place][kind])) lines.add(line);
    }
    return lines;
  }

  // {level: Set of lines} that a line of the source became, through calls as well.
  ofSource(file, line) {
    const hit = new Set();
    this.places.forEach((_, place) => {
      if (this.stack(place).some((frame) => frame[0] === file && frame[1] === line)) hit.add(place);
    });
    const found = {};
    for (const level of this.levels)
      found[level.name] = new Set(level.rows.filter((row) => row[2].some((p) => hit.has(p))).map((row) => row[0]));
    return found;
  }

  // How many rows of a level each line of a file became, calls included.
  costs(levelName, file) {
    const counts = new Map(), level = this.levelNamed.get(levelName);
    for (const row of level ? level.rows : []) {
      const lines = new Set();
      for (const place of row[2]) for (const frame of this.stack(place)) if (frame[0] === file) lines.add(frame[1]);
      for (const line of lines) counts.set(line, (counts.get(line) || 0) + 1);
    }
    return counts;
  }

  // The text of a line that a finding, or a dumped value, names; "" where it is not on the page.
  lineOf(name, line, file = null) {
    const text = name === "python" ? this.files[file]?.text : this.levelNamed.get(name)?.text;
    return text?.split("\n")[line - 1] ?? "";
  }

  // The machine's level if it is there, else the lowest.
  get lowest() {
    return this.levels.length ? this.levels[this.levels.length - 1].name : "";
  }
}

function put(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
