// Differences of two texts by lines. What only renumbers is no difference: SSA names and locations do not count.

const bare = (line) => line.replace(/%[\w#.$-]+/g, "%").replace(/#\w+/g, "#").trimEnd();

// [[kind, line in a or 0, line in b or 0]]: kind is "same", "removed" or "added".
function difference(a, b) {
  const ids = new Map();
  const numbered = (lines) => lines.map((line) => {
    const key = bare(line);
    if (!ids.has(key)) ids.set(key, ids.size);
    return ids.get(key);
  });
  const x = numbered(a), y = numbered(b), out = [];
  align(x, 0, x.length, y, 0, y.length, out);
  return out;
}

// Patience: lines that stand once in both texts hold them together, the rest is compared between them.
function align(x, from, to, y, start, end, out) {
  while (from < to && start < end && x[from] === y[start]) out.push(["same", ++from, ++start]);
  let tail = 0;
  while (to - tail > from && end - tail > start && x[to - tail - 1] === y[end - tail - 1]) ++tail;
  const xEnd = to - tail, yEnd = end - tail;
  if (from < xEnd || start < yEnd) {
    const anchors = from < xEnd && start < yEnd ? common(x, from, xEnd, y, start, yEnd) : [];
    if (anchors.length) {
      let i = from, j = start;
      for (const [p, q] of anchors) {
        align(x, i, p, y, j, q, out);
        out.push(["same", p + 1, q + 1]);
        i = p + 1;
        j = q + 1;
      }
      align(x, i, xEnd, y, j, yEnd, out);
    } else if ((xEnd - from) * (yEnd - start) <= 250000) {
      longest(x, from, xEnd, y, start, yEnd, out);
    } else {
      for (let i = from; i < xEnd; ++i) out.push(["removed", i + 1, 0]);
      for (let j = start; j < yEnd; ++j) out.push(["added", 0, j + 1]);
    }
  }
  for (let k = tail; k > 0; --k) out.push(["same", to - k + 1, end - k + 1]);
}

// The longest rising chain of lines that stand once in each part.
function common(x, from, to, y, start, end) {
  const seen = new Map();
  for (let i = from; i < to; ++i) seen.set(x[i], seen.has(x[i]) ? -1 : i);
  const at = new Map();
  for (let j = start; j < end; ++j) at.set(y[j], at.has(y[j]) ? -1 : j);
  const piles = [], before = new Map();
  for (let i = from; i < to; ++i) {
    const j = at.get(x[i]);
    if (seen.get(x[i]) !== i || j === undefined || j < 0) continue;
    let low = 0, high = piles.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (piles[middle][1] < j) low = middle + 1; else high = middle;
    }
    const pair = [i, j];
    before.set(pair, low ? piles[low - 1] : null);
    piles[low] = pair;
  }
  const chain = [];
  for (let pair = piles[piles.length - 1]; pair; pair = before.get(pair)) chain.push(pair);
  return chain.reverse();
}

// Small parts whose lines repeat: the longest common sequence by a table.
function longest(x, from, to, y, start, end, out) {
  const n = to - from, m = end - start, wide = m + 1, length = new Uint16Array((n + 1) * wide);
  for (let i = n - 1; i >= 0; --i)
    for (let j = m - 1; j >= 0; --j)
      length[i * wide + j] = x[from + i] === y[start + j]
        ? length[(i + 1) * wide + j + 1] + 1
        : Math.max(length[(i + 1) * wide + j], length[i * wide + j + 1]);
  let i = 0, j = 0;
  while (i < n || j < m)
    if (i < n && j < m && x[from + i] === y[start + j]) out.push(["same", from + ++i, start + ++j]);
    else if (i < n && (j === m || length[(i + 1) * wide + j] >= length[i * wide + j + 1])) out.push(["removed", from + ++i, 0]);
    else out.push(["added", 0, start + ++j]);
}

const differenceKey = () => colourKey("Colours of changes", [["var(--added)", "+ added"], ["var(--removed)", "− removed"], ["var(--hit)", "of the chosen line"]]);

// A list that shows a difference: what was there and what is there now in one column, equal stretches folded.
class DiffView {
  constructor(label, options = {}) {
    this.isFolded = true;
    this.list = new CodeList({
      label,
      ...options,
      classesOf: (line) => `${this.entries[line - 1][0]} ${options.isLit?.(this.entries[line - 1]) ? "lit" : ""}`,
      labelOf: (line) => {
        const [kind, old, now] = this.entries[line - 1];
        return kind === "fold" ? "" : `${kind === "added" ? "+" : kind === "removed" ? "−" : ""} ${now || old}`;
      },
      marks: () => [
        [this.entries.flatMap((e, i) => (e[0] === "removed" ? [i + 1] : [])), "--bad"],
        [this.entries.flatMap((e, i) => (e[0] === "added" ? [i + 1] : [])), "--good"],
      ],
      onKey: (event) => {
        if (event.key !== "n" && event.key !== "p") return false;
        const starts = this.entries.flatMap((e, i) =>
          e[0] !== "same" && e[0] !== "fold" && (!i || ["same", "fold"].includes(this.entries[i - 1][0])) ? [i + 1] : []);
        this.list.step(starts, event.key === "n");
        return true;
      },
    });
    this.entries = [];
  }

  show(a, b, known = null) {
    this.a = a;
    this.b = b;
    const all = known || difference(a, b);
    this.entries = this.isFolded ? folded(all) : all;
    this.list.current = 0;
    this.list.box.scrollTop = 0;
    this.list.fill(this.entries.map(([kind, old, now, count]) =>
      kind === "fold" ? `⋯ ${plural(count, "line")} the same` : now ? b[now - 1] : a[old - 1]));
    return all;
  }
}

// Stretches of equal lines, but for three at either end, become one entry: ["fold", 0, 0, how many].
function folded(entries, around = 3) {
  const out = [], near = new Uint8Array(entries.length);
  entries.forEach((entry, i) => {
    if (entry[0] !== "same") near.fill(1, Math.max(0, i - around), i + around + 1);
  });
  for (let i = 0; i < entries.length;) {
    if (near[i]) { out.push(entries[i++]); continue; }
    let end = i;
    while (end < entries.length && !near[end]) ++end;
    out.push(["fold", 0, 0, end - i]);
    i = end;
  }
  return out;
}

// A line of MLIR without its location, which the map shows in its own way.
const tidy = (line) => line.replace(/ loc\("[^"]*"\(#loc\w*\)\)/g, "").replace(/ loc\((?:#\w*|[^()]*|callsite\(.*\))\)$/, "");

function tally(entries) {
  const count = { added: 0, removed: 0 };
  for (const [kind] of entries) if (kind in count) ++count[kind];
  return count;
}
