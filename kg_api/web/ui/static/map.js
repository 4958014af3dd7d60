// Draws the passages of an ontology as points. Without JavaScript, the list below shows the same groups.
"use strict";

const COLOURS = 10, NEAR = 10, SHOWN = 200, STEP = 60, EDGE = 12, FURTHEST = .5, NEAREST = 200;

const section = document.getElementById("map");
const canvas = document.getElementById("points");
const pen = canvas?.getContext("2d");
let found, groups = [], groupOf, view, lit = -1, line = [], selecting = false;

if (section) begin();

async function begin() {
  const asked = performance.now();
  section.hidden = false;
  const about = document.getElementById("about");
  try {
    const answer = await fetch(section.dataset.map, { headers: { Accept: "application/json" } });
    found = await answer.json();
    if (!answer.ok) throw new Error(found.detail);
  } catch (error) {
    about.textContent = `The map failed: ${error.message}. Reload the page to retry.`;
    return;
  }
  const came = performance.now();
  divide(section.dataset.colour);
  showLegend();
  about.textContent = tell();
  listen();
  resize();
  new ResizeObserver(resize).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  canvas.dataset.answered = String(Math.round(came - asked));
  canvas.dataset.took = String(Math.round(performance.now() - came));
  canvas.dataset.drawn = String(found.source_ids.length);
}

function tell() {
  const told = [`${found.source_ids.length.toLocaleString("en")} of ${found.total.toLocaleString("en")} passages. Distances on this map are approximate.`];
  return [...told, ...found.degraded.map((each) => `${each.effect}.`)].join(" ");
}

// Groups, largest first, years in order. Points without an own colour belong to the last group.
function divide(colour) {
  const keys = found.source_ids.map((_, at) => keyOf(colour, at));
  const counts = new Map();
  for (const key of keys) if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  let largest = [...counts].sort((a, b) => b[1] - a[1]).slice(0, COLOURS);
  if (colour === "date") largest = largest.sort((a, b) => (a[0] < b[0] ? -1 : 1));
  const places = new Map(largest.map(([key], at) => [key, at]));
  groups = largest.map(([key, count]) => ({ name: nameOf(colour, key), count }));
  groupOf = keys.map((key) => places.get(key) ?? groups.length);
  const rest = keys.length - groups.reduce((sum, each) => sum + each.count, 0);
  if (rest) groups.push({ name: { document: "other documents", date: "other years or no date" }[colour], count: rest, rest: true });
}

function keyOf(colour, at) {
  if (colour === "date") return found.documents[found.document[at]].date?.slice(0, 4) ?? null;
  return found.document[at];
}

function nameOf(colour, key) {
  return colour === "date" ? key : found.documents[key].title;
}

function colourOf(group) {
  const style = getComputedStyle(document.documentElement);
  return style.getPropertyValue(groups[group].rest ? "--quiet" : `--group-${group}`).trim();
}

function showLegend() {
  const legend = document.getElementById("legend");
  legend.replaceChildren();
  lit = -1;
  groups.forEach((group, at) => {
    const button = legend.appendChild(document.createElement("li")).appendChild(document.createElement("button"));
    const name = document.createElement("span"), count = document.createElement("span");
    name.textContent = group.name;
    count.textContent = group.count.toLocaleString("en");
    count.className = "number";
    button.type = "button";
    button.append(swatch(at), name, count);
    button.addEventListener("click", () => choose(numbers((each) => groupOf[each] === at)));
    for (const [event, which] of [["mouseenter", at], ["focus", at], ["mouseleave", -1], ["blur", -1]]) button.addEventListener(event, () => { lit = which; draw(); });
  });
}

function swatch(at) {
  const box = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const square = box.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
  box.setAttribute("aria-hidden", "true");
  square.setAttribute("width", "100%");
  square.setAttribute("height", "100%");
  square.setAttribute("fill", groups[at].rest ? "var(--quiet)" : `var(--group-${at})`);
  return box;
}

// The view, in CSS pixels: its centre, and the number of pixels per unit.
function resize() {
  const { clientWidth: width, clientHeight: height } = canvas, sharp = devicePixelRatio || 1;
  canvas.width = width * sharp;
  canvas.height = height * sharp;
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  const whole = Math.min(width, height) / 2 - EDGE;
  view = { x: view?.x ?? 0, y: view?.y ?? 0, scale: view ? view.scale * whole / view.whole : whole, whole, width, height };
  draw();
}

function across(at) { return view.width / 2 + (found.x[at] - view.x) * view.scale; }
function down(at) { return view.height / 2 - (found.y[at] - view.y) * view.scale; }

function draw() {
  if (!view) return;
  pen.clearRect(0, 0, view.width, view.height);
  const size = Math.min(7, Math.max(2, 2.2 * Math.sqrt(view.scale / view.whole) * (found.source_ids.length > 5000 ? 1 : 1.6)));
  for (const at of groups.keys()) if (at !== lit) fill(at, size, lit < 0 ? .75 : .12);
  if (lit >= 0) fill(lit, size + 1, 1);
  if (line.length > 1) outline();
}

function fill(group, size, opacity) {
  pen.fillStyle = colourOf(group);
  pen.globalAlpha = opacity;
  for (let at = 0; at < groupOf.length; at++) if (groupOf[at] === group) pen.fillRect(across(at) - size / 2, down(at) - size / 2, size, size);
  pen.globalAlpha = 1;
}

function outline() {
  pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--link").trim();
  pen.lineWidth = 2;
  pen.beginPath();
  line.forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.closePath();
  pen.stroke();
}

function zoom(factor, x = view.width / 2, y = view.height / 2) {
  const scale = Math.min(NEAREST * view.whole, Math.max(FURTHEST * view.whole, view.scale * factor));
  view.x += (x - view.width / 2) * (1 / view.scale - 1 / scale);
  view.y -= (y - view.height / 2) * (1 / view.scale - 1 / scale);
  view.scale = scale;
  draw();
}

function move(x, y) {
  view.x -= x / view.scale;
  view.y += y / view.scale;
  draw();
}

function showAll() {
  view = { ...view, x: 0, y: 0, scale: view.whole };
  draw();
}

// Selected passages
function numbers(holds) {
  return [...found.source_ids.keys()].filter(holds);
}

function choose(chosen) {
  const ids = chosen.sort((a, b) => found.document[a] - found.document[b]).map((at) => found.source_ids[at]);
  canvas.dataset.chosen = String(ids.length);
  load("chosen", ids);
}

function load(target, ids) {
  const asked = new URLSearchParams({ ids: ids.slice(0, SHOWN).join(","), of: ids.length });
  const place = document.getElementById(target);
  // hx-sync cancels an older request of the same element, so a late response never replaces a newer one.
  htmx.ajax("GET", `${section.dataset.passages}?${asked}`, { source: place, target: place }).catch(() => {});
}

function inView() {
  choose(numbers((at) => across(at) >= 0 && across(at) <= view.width && down(at) >= 0 && down(at) <= view.height));
}

// A point is inside a closed line if a ray from it crosses the line an odd number of times.
function within(x, y) {
  let odd = false;
  for (let at = 0, last = line.length - 1; at < line.length; last = at++) {
    const [x1, y1] = line[at], [x2, y2] = line[last];
    if (y1 > y !== y2 > y && x < (x2 - x1) * (y - y1) / (y2 - y1) + x1) odd = !odd;
  }
  return odd;
}

function nearest(x, y) {
  let best = -1, least = NEAR * NEAR;
  for (let at = 0; at < found.source_ids.length; at++) {
    const right = across(at) - x, below = down(at) - y, far = right * right + below * below;
    if (far < least) [best, least] = [at, far];
  }
  return best;
}

function listen() {
  document.getElementById("chosen").addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) event.currentTarget.focus();  // after a failure, the focus stays
  });
  let held = null, moved = false, pointed = -1, waiting;
  const place = (event) => [event.offsetX, event.offsetY];
  const point = (event) => {
    const at = nearest(...place(event));
    if (at === pointed) return;
    pointed = at;
    clearTimeout(waiting);
    if (at >= 0) waiting = setTimeout(() => load("pointed", [found.source_ids[at]]), 150);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    [held, moved] = [place(event), false];
    line = selecting || event.shiftKey ? [held] : [];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return point(event);
    const [x, y] = place(event);
    moved ||= Math.hypot(x - held[0], y - held[1]) > 3;
    if (line.length) { line.push([x, y]); draw(); return; }
    if (!moved) return;
    move(x - held[0], y - held[1]);
    held = [x, y];
  });
  canvas.addEventListener("pointerup", (event) => {
    const at = moved ? -1 : nearest(...place(event));
    if (line.length > 2) choose(numbers((each) => within(across(each), down(each))));
    else if (at >= 0) choose([at]);
    [held, line] = [null, []];
    draw();
  });
  canvas.addEventListener("pointercancel", () => { [held, line] = [null, []]; draw(); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return; // otherwise the page could not scroll past the map
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...place(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const does = { ArrowLeft: () => move(STEP, 0), ArrowRight: () => move(-STEP, 0), ArrowUp: () => move(0, STEP), ArrowDown: () => move(0, -STEP), "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: showAll, Enter: inView }[event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does();
  });
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => (Number(button.dataset.zoom) ? zoom(Number(button.dataset.zoom)) : showAll()));
  document.getElementById("in-view").addEventListener("click", inView);
  document.getElementById("select").addEventListener("click", (event) => {
    selecting = !selecting;
    event.currentTarget.setAttribute("aria-pressed", String(selecting));
    canvas.classList.toggle("selecting", selecting);
  });
}
