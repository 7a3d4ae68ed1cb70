// Pictures of rectangles of elements, with what the pointer is at; layouts, element by element.

function numbers(text, Kind) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  return new Kind(bytes.buffer);
}

// Viridis, by seven of its colours.
const VIRIDIS = [[68, 1, 84], [70, 50, 127], [54, 92, 141], [39, 127, 142], [31, 161, 135], [74, 194, 109], [253, 231, 37]];
function viridis(t) {
  const at = Math.min(0.9999, Math.max(0, t)) * (VIRIDIS.length - 1), i = Math.floor(at), f = at - i;
  return VIRIDIS[i].map((c, k) => Math.round(c + (VIRIDIS[i + 1][k] - c) * f));
}

// A picture of rows x columns; colourOf(i) gives [r, g, b] of cell i, textOf(i) what stands under the pointer,
// and marksOf(i) a sign for a cell that is large enough to carry one: "x", "+" or "-".
function picture(rows, columns, colourOf, textOf, told, label, markOf = () => "") {
  const scale = Math.max(1, Math.min(12, Math.floor(512 / Math.max(rows, columns))));
  const size = Math.max(rows, columns) <= 32 ? 9 : 1; // pixels of a cell
  const canvas = element("canvas", { class: "picture", role: "img", "aria-label": label, width: columns * size, height: rows * size });
  const high = Math.max(rows, columns / 8);  // a row of elements is drawn as a band
  canvas.style.aspectRatio = `${columns} / ${high}`;
  canvas.style.maxWidth = `${Math.max(40, Math.min(columns * scale, (400 * columns) / high))}px`;
  const pen = canvas.getContext("2d");
  const draw = (colour) => {
    for (let i = 0; i < rows * columns; ++i) {
      const x = (i % columns) * size, y = Math.floor(i / columns) * size, mark = size > 1 ? markOf(i) : "";
      pen.fillStyle = `rgb(${colour(i)})`;
      pen.fillRect(x, y, size, size);
      pen.fillStyle = "#000";
      if (mark === "+" || mark === "-") pen.fillRect(x + 2, y + 4, 5, 1);
      if (mark === "+") pen.fillRect(x + 4, y + 2, 1, 5);
      for (let k = 2; mark === "x" && k < 7; ++k) [k, 8 - k].forEach((down) => pen.fillRect(x + k, y + down, 1, 1));
    }
  };
  draw(colourOf);
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns));
    const row = Math.min(rows - 1, Math.floor(((event.clientY - box.top) / box.height) * rows));
    if (row >= 0 && column >= 0) told.textContent = textOf(row * columns + column, row, column);
  });
  return { canvas, draw };
}

// A scale of colours between two texts.
function ramp(from, colours, to) {
  const bar = element("span", { class: "scale" });
  bar.style.background = `linear-gradient(90deg, ${colours.join(",")})`;
  return element("span", { class: "ramp" }, element("span", {}, from), bar, element("span", {}, to));
}

const hsl = (h, s, l) => {
  const a = s * Math.min(l, 1 - l), f = (n) => l - a * Math.max(-1, Math.min((n + h / 30) % 12 - 3, 9 - (n + h / 30) % 12, 1));
  return [f(0), f(8), f(4)].map((c) => Math.round(c * 255));
};
const WAYS = {
  lane: { title: "Thread", of: (c) => hsl((c[1] * 360) / 32, 0.6, 0.46 + 0.22 * ((c[2] % 4) / 4)) },
  warp: { title: "Warp", of: (c) => hsl((c[2] * 137) % 360, 0.58, 0.58) },
  register: { title: "Register", of: (c, most) => viridis(c[0] / Math.max(1, most)) },
};

function layoutCard(layout, page) {
  const cells = numbers(layout.cells, Int32Array), told = element("p", { class: "note", "aria-live": "polite" }, "Point at an element.");
  const cell = (i) => (layout.shared ? cells[i] : cells.subarray(i * 4, i * 4 + 4));
  const bank = (i) => Math.floor(cells[i] / 4) % 32;
  let most = 0;
  if (!layout.shared) for (let i = 0; i < cells.length; i += 4) most = Math.max(most, cells[i]);
  const text = (i, row, column) => layout.shared
    ? `[${row}, ${column}] byte ${cells[i]}, bank ${bank(i)}`
    : `[${row}, ${column}] warp ${cell(i)[2]}, lane ${cell(i)[1]}, register ${cell(i)[0]}${cell(i)[3] > 1 ? `; ${cell(i)[3]} hold it` : ""}`;
  const colour = (way) => (i) => (layout.shared ? hsl((bank(i) * 360) / 32, 0.58, 0.56) : WAYS[way].of(cell(i), most));
  const { canvas, draw } = picture(layout.rows, layout.columns, colour("lane"), text, told, `Layout ${layout.name}`);
  const legend = element("div");
  const explain = (way) => legend.replaceChildren(layoutKey(layout, way, cells, most));
  explain("lane");
  const ways = Object.entries(layout.shared ? {} : WAYS).map(([way, { title }]) =>
    element("button", {
      class: "chip", type: "button", "aria-pressed": String(way === "lane"),
      onclick: (event) => {
        draw(colour(way));
        explain(way);
        for (const other of event.currentTarget.parentNode.children) other.setAttribute("aria-pressed", String(other === event.currentTarget));
      },
    }, title));
  const whole = layout.shape.slice(-2).join("x") === `${layout.rows}x${layout.columns}` || (layout.shape.length === 1 && layout.shape[0] === layout.columns);
  return element("article", { class: "card" },
    element("h3", {}, `${layout.name}  ${layout.shape.join("×")}`),
    element("p", { class: "note" }, `${layout.shared ? "shared memory, coloured by bank" : "registers"}; ${layout.type}; ${plural(layout.count, "value")}${whole ? "" : `; the first ${layout.rows} x ${layout.columns} of it`}  `,
      element("button", { class: "link", type: "button", onclick: () => page.go("ttgir", layout.line) }, `TTGIR ${layout.line}`)),
    ways.length ? element("div", { class: "chips", role: "group", "aria-label": "Coloured by" }, ...ways) : null,
    canvas, legend, told,
    element("p", { class: "note mono" }, layout.encoding));
}

// What the colours of a layout mean: banks of shared memory, or threads, warps or registers of a block.
function layoutKey(layout, way, cells, most) {
  const wheel = (count, s, l) => Array.from({ length: count }, (_, i) => `rgb(${hsl((i * 360) / count, s, l)})`);
  if (layout.shared) return colourKey("Colours", [], ramp("bank 0", wheel(32, 0.58, 0.56), "31"));
  if (way === "lane") return colourKey("Colours", [], ramp("lane 0", wheel(32, 0.6, 0.57), "31; warps differ in brightness"));
  if (way === "register") return colourKey("Colours", [], ramp("register 0", VIRIDIS.map((c) => `rgb(${c})`), String(most)));
  const warps = [...new Set(cells.filter((_, i) => i % 4 === 2))].sort((a, b) => a - b);
  return colourKey("Colours", warps.map((warp) => [`rgb(${WAYS.warp.of([0, 0, warp])})`, `warp ${warp}`]));
}

function layoutsPanel(kernel, page) {
  return element("div", { class: "scroll" }, element("div", { class: "masonry" }, ...kernel.layouts.map((layout) => layoutCard(layout, page))));
}
