// Pictures: dumped tensors as heat maps with histograms, and layouts element by element.

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

// A picture of rows x columns; colourOf(i) gives [r, g, b] of cell i, textOf(i) what stands under the pointer.
function picture(rows, columns, colourOf, textOf, told, label) {
  const scale = Math.max(1, Math.min(12, Math.floor(512 / Math.max(rows, columns))));
  const canvas = element("canvas", { class: "picture", role: "img", "aria-label": label, width: columns, height: rows });
  const high = Math.max(rows, columns / 8);  // a row of elements is drawn as a band
  canvas.style.aspectRatio = `${columns} / ${high}`;
  canvas.style.maxWidth = `${Math.max(40, Math.min(columns * scale, (400 * columns) / high))}px`;
  const pen = canvas.getContext("2d");
  const draw = (colour) => {
    const image = pen.createImageData(columns, rows);
    for (let i = 0; i < rows * columns; ++i) image.data.set([...colour(i), 255], i * 4);
    pen.putImageData(image, 0, 0);
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

const NAN = [226, 40, 60], INF = [255, 196, 0], ABSENT = [170, 178, 190];

// A value with one of its records, chosen by program and iteration. records: their pictures.
function valueCard(value, records, page) {
  const { stats, programs, iterations } = value;
  const body = element("div"), names = [...new Set(programs.map((program) => program.join(", ")))];
  const within = (program) => programs.flatMap((one, i) => (one.join(", ") === program ? [i] : []));
  const start = programs[value.first].join(", ");
  const program = element("select", { "aria-label": `Program of ${value.name}`, onchange: () => fill(within(program.value)[0]) },
    ...names.map((name) => element("option", { value: name, selected: name === start }, name)));
  const iteration = element("select", { "aria-label": `Iteration of ${value.name}`, onchange: () => draw(Number(iteration.value)) });
  const draw = (record) => body.replaceChildren(...recordOf(value, records[record]));
  const fill = (record) => {
    const all = within(program.value);
    iteration.replaceChildren(...all.map((i) => element("option", { value: i, selected: i === record }, iterations[i].join(", ") || "–")));
    iteration.parentNode.hidden = all.length < 2 && !iterations[record].length;
    draw(record);
  };
  const kept = records.length < stats.records ? `${plural(stats.records, "record")}, of which the page has ${records.length.toLocaleString("en")}` : plural(stats.records, "record");
  const card = element("article", { class: "card" },
    element("h3", {}, `${value.variable ? `${value.variable}: ` : ""}${value.name} = ${value.op}`),
    element("p", { class: "note" }, `${value.type}[${value.shape.join(", ")}] at ${value.level}, ${kept}  `,
      value.at ? element("button", { class: "link", type: "button", onclick: () => page.go(...value.at) }, value.where) : null),
    element("div", { class: "chips" }, element("label", { class: "pick" }, "Program ", program), element("label", { class: "pick" }, "Iteration ", iteration)),
    body);
  fill(value.first);
  return card;
}

// The picture of a record, its scale and its histogram.
function recordOf(value, record) {
  const cells = numbers(record.cells, Float32Array), marks = numbers(record.marks, Uint8Array);
  const span = record.high > record.low ? record.high - record.low : 1;
  const told = element("p", { class: "note", "aria-live": "polite" }, value.thinned ? "Each cell is the mean of several elements; a NaN or Inf among them is kept." : "\u00a0");
  const { canvas } = picture(value.rows, value.columns,
    (i) => (marks[i] & 1 ? NAN : marks[i] & 2 ? INF : marks[i] & 4 ? ABSENT : viridis((cells[i] - record.low) / span)),
    (i, row, column) => `[${row * value.step[0]}, ${column * value.step[1]}] ${marks[i] & 1 ? "NaN" : marks[i] & 2 ? "Inf" : cells[i].toPrecision(6)}`,
    told, `Heat map of ${value.name}`);
  const ramp = element("span", { class: "scale" });
  ramp.style.background = `linear-gradient(90deg, ${VIRIDIS.map((c) => `rgb(${c})`).join(",")})`;
  const swatch = (colour, text) => {
    const box = element("i");
    box.style.background = `rgb(${colour})`;
    return element("span", {}, box, ` ${text}`);
  };
  const { stats } = value;
  return [canvas,
    element("div", { class: "legend" }, element("span", {}, show(record.low)), ramp, element("span", {}, show(record.high)),
      stats.nan ? swatch(NAN, `${stats.nan.toLocaleString("en")} NaN`) : null, stats.inf ? swatch(INF, `${stats.inf.toLocaleString("en")} Inf`) : null),
    told, histogram(record)];
}

const show = (number) => (number == null ? "–" : Number(number.toPrecision(4)).toString());

function histogram(record) {
  const canvas = element("canvas", { class: "histogram", width: 480, height: 70, role: "img",
    "aria-label": `Histogram: ${record.histogram.join(", ")} elements from ${show(record.low)} to ${show(record.high)}` });
  const pen = canvas.getContext("2d"), most = Math.max(1, ...record.histogram), wide = 480 / record.histogram.length;
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  record.histogram.forEach((count, i) => {
    const high = count ? Math.max(1.5, 66 * Math.sqrt(count / most)) : 0;
    pen.fillRect(i * wide + 0.5, 70 - high, wide - 1, high);
  });
  return canvas;
}

function valuesPanel(kernel, page) {
  const cards = element("div", { class: "masonry" }, element("p", { class: "note" }, "Unpacking…"));
  unpack(`values-${kernel.number}`).then((records) =>
    cards.replaceChildren(...kernel.values.map((value, i) => valueCard(value, records[i], page))));
  return element("div", { class: "scroll" }, cards);
}

// --- layouts ---------------------------------------------------------------------------------------------

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
  const ways = Object.entries(layout.shared ? {} : WAYS).map(([way, { title }]) =>
    element("button", {
      class: "chip", type: "button", "aria-pressed": String(way === "lane"),
      onclick: (event) => {
        draw(colour(way));
        for (const other of event.currentTarget.parentNode.children) other.setAttribute("aria-pressed", String(other === event.currentTarget));
      },
    }, title));
  const whole = layout.shape.slice(-2).join("x") === `${layout.rows}x${layout.columns}` || (layout.shape.length === 1 && layout.shape[0] === layout.columns);
  return element("article", { class: "card" },
    element("h3", {}, `${layout.name}  ${layout.shape.join("×")}`),
    element("p", { class: "note" }, `${layout.shared ? "shared memory, coloured by bank" : "registers"}; ${layout.type}; ${plural(layout.count, "value")}${whole ? "" : `; the first ${layout.rows} x ${layout.columns} of it`}  `,
      element("button", { class: "link", type: "button", onclick: () => page.go("ttgir", layout.line) }, `TTGIR ${layout.line}`)),
    ways.length ? element("div", { class: "chips", role: "group", "aria-label": "Coloured by" }, ...ways) : null,
    canvas, told,
    element("p", { class: "note mono" }, layout.encoding));
}

function layoutsPanel(kernel, page) {
  return element("div", { class: "scroll" }, element("div", { class: "masonry" }, ...kernel.layouts.map((layout) => layoutCard(layout, page))));
}
