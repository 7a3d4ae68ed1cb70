// The ledger: which op takes which bytes of shared memory from when to when, drawn and listed, and what pins
// registers where PTX has most of them.

const MAP_WIDTH = 1000, MAP_HEIGHT = 300; // in units of the drawing, which is as wide as its card

function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A button that goes to a place of the source ("matmul.py:31"), where the page has that file.
function placeLink(kernel, page, place) {
  const [name, line] = [place.slice(0, place.lastIndexOf(":")), Number(place.slice(place.lastIndexOf(":") + 1))];
  const file = kernel.files.findIndex((one) => shortName(one.path) === name);
  if (file < 0 || !line) return place;
  return element("button", { class: "link mono", type: "button", onclick: () => page.go("python", line, file) }, place);
}

const bytesOf = (entry) => entry.bytes ?? entry.room;
const hueOf = (i) => `hsl(${(i * 67 + 212) % 360} 62% 55%)`;

function ledgerCards(kernel, page) {
  const cards = [];
  if (kernel.ledger?.allocations.length) cards.push(sharedCard(kernel, page));
  if (kernel.ledger?.registers) cards.push(registersCard(kernel, page));
  return cards;
}

// Bytes from left to right, the lines of the IR from top to bottom.
function lifetimes(ledger, end) {
  const x = (at) => (at / end) * MAP_WIDTH;
  const first = Math.min(...ledger.allocations.map((entry) => entry.first));
  const last = Math.max(...ledger.allocations.map((entry) => entry.last));
  const y = (line) => ((line - first) / Math.max(1, last - first + 1)) * MAP_HEIGHT;
  const boxes = ledger.allocations.map((entry, i) => drawn("rect", {
    x: x(entry.offset), width: Math.max(2, x(bytesOf(entry))), y: y(entry.first),
    height: Math.max(3, y(entry.last + 1) - y(entry.first)), fill: hueOf(i), "fill-opacity": 0.75, rx: 2,
  }, drawn("title", {}, `${entry.op} ${entry.value}, ${entry.place}: ${bytesOf(entry).toLocaleString("en")} bytes, lines ${entry.first} to ${entry.last}`)));
  const peak = drawn("line", { x1: 0, x2: MAP_WIDTH, y1: y(ledger.at) + 1, y2: y(ledger.at) + 1, class: "peak" });
  return drawn("svg", {
    class: "lifetimes", viewBox: `0 0 ${MAP_WIDTH} ${MAP_HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${plural(ledger.allocations.length, "buffer")}: bytes from left to right, the course of the program from top to bottom`,
  }, ...boxes, peak);
}

function sharedCard(kernel, page) {
  const ledger = kernel.ledger;
  const end = Math.max(1, ledger.shared || 0, ...ledger.allocations.map((entry) => entry.offset + bytesOf(entry)));
  const rows = ledger.allocations.map((entry, i) => {
    const dot = element("span", { class: "dot" });
    dot.style.background = hueOf(i);
    const name = `${entry.op} ${entry.value}`.trim();
    return [
      cellOf(element("span", {}, dot, entry.ttgir ? element("button", { class: "link mono", type: "button", onclick: () => page.go("ttgir", entry.ttgir) }, name) : name)),
      cellOf(placeLink(kernel, page, entry.place)), cellOf(entry.offset.toLocaleString("en"), true),
      cellOf(`${entry.bytes == null ? "≤ " : ""}${bytesOf(entry).toLocaleString("en")}`, true),
      cellOf(placeLink(kernel, page, entry.until)), cellOf(entry.made_by),
    ];
  });
  return element("article", { class: "card wide" }, element("h2", {}, "Shared memory"),
    element("p", { class: "note" }, `${end.toLocaleString("en")} bytes of a block, at most ${ledger.peak.toLocaleString("en")} needed at once (dashed). From left to right its bytes, from top to bottom the course of the program: buffers whose lives do not meet may share bytes.`),
    lifetimes(ledger, end),
    table(["What", "Line", "#Offset", "#Bytes", "Needed until", "Made by"], rows, "Shared memory"));
}

function registersCard(kernel, page) {
  const { words, at, place, byPlace } = kernel.ledger.registers, top = byPlace[0]?.[1] || 1;
  return element("article", { class: "card" }, element("h2", {}, "What pins registers"),
    element("p", { class: "note" }, `PTX has at most ${plural(words, "word")} live at once, before `, element("code", {}, at), " of ", placeLink(kernel, page, place), ". ptxas reorders before it allocates."),
    table(["Given by line", "#Words", ""], byPlace.slice(0, 24).map(([from, count]) => [cellOf(placeLink(kernel, page, from)), cellOf(count.toLocaleString("en"), true), meter(count / top)]), "Registers"));
}
