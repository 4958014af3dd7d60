// Draws the graph of a page. The lists of the page have the same content. A click opens a node, a double click adds
// its neighbours.
"use strict";

{  // a block, because the scripts of single pages share the global scope

const FONT = 12, LINE = 16, LETTER = 7.5, GAP = 30;  // pixels
const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(name).trim();
const outline = { color: colour("--text"), "text-outline-color": colour("--ground"), "text-outline-width": 2, "font-size": FONT };
const SHEET = [
  { selector: "node", style: { ...outline, label: "data(short)", "background-color": colour("--quiet"), width: "data(size)", height: "data(size)", "text-valign": "bottom", "text-wrap": "wrap", "text-max-width": 110 } },
  { selector: ".concept", style: { shape: "diamond", "background-color": colour("--concept") } },
  { selector: ".centre", style: { "background-color": colour("--link"), "font-weight": "bold" } },
  { selector: ".unnamed", style: { label: "" } },
  { selector: "edge", style: { ...outline, "font-size": 10, width: 1.5, "line-color": colour("--quiet"), opacity: .8, "curve-style": "haystack" } },
  { selector: ".next", style: { "line-style": "dashed" } },
  { selector: ".names", style: { "line-style": "dotted" } },
  { selector: ".linked", style: { "line-color": colour("--link"), width: 4 } },
  { selector: ".says", style: { "curve-style": "bezier", "target-arrow-shape": "triangle", "target-arrow-color": colour("--quiet"), "arrow-scale": .8 } },
  { selector: "node.hovered", style: { label: "data(label)", "z-index": 9 } },
  { selector: "edge.hovered", style: { label: "data(label)", "line-color": colour("--link"), opacity: 1 } },
];

for (const box of document.querySelectorAll("[data-graph]")) draw(box);

function draw(box) {
  box.closest(".picture").hidden = false;  // hidden without JavaScript
  const graph = cytoscape({ container: box, elements: elements(box.dataset.graph), style: SHEET, layout: { name: "null" }, maxZoom: 4 });
  const centres = graph.nodes(".centre");
  if (centres.length === 1) star(graph, centres, box);
  else graph.layout(centres.length ? { name: "breadthfirst", roots: centres.first(), nodeDimensionsIncludeLabels: true } : { name: "circle" }).run();
  if (graph.zoom() > 1) { graph.zoom(1); graph.center(); }
  hideOverlaps(graph);
  for (const button of box.parentElement.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      const factor = Number(button.dataset.zoom);
      if (factor) graph.zoom({ level: graph.zoom() * factor, renderedPosition: { x: box.clientWidth / 2, y: box.clientHeight / 2 } });
      else graph.fit(GAP);
    });
  }
  // Without Ctrl, the wheel scrolls the page.
  box.parentElement.addEventListener("wheel", (event) => { if (!event.ctrlKey) event.stopPropagation(); }, true);
  graph.on("onetap", "node", ({ target }) => { location.href = target.data("href"); });
  graph.on("dbltap", "node", ({ target }) => expand(graph, target));
  graph.on("mouseover", "node", ({ target }) => target.closedNeighborhood().addClass("hovered"));
  graph.on("mouseout", "node", ({ target }) => target.closedNeighborhood().removeClass("hovered"));
  box.dataset.drawn = String(graph.nodes().length);
}

function elements(text) {
  const { nodes, edges } = JSON.parse(text);
  const all = [...nodes.map((each) => ({ ...each, short: each.label, size: 12 + 4 * Math.min(6, Math.log2(1 + each.sources)) })), ...edges];
  return all.map((data) => ({ data, classes: data.kind }));
}

// The centre, and the others in rows at both sides with outward labels, so labels do not overlap.
function star(graph, centre, { clientWidth: width, clientHeight: height }) {
  const others = graph.nodes().not(centre), rows = Math.ceil(others.length / 2), high = height / Math.max(rows, 1);
  const widest = width * .27, letters = Math.floor(widest / LETTER), lines = Math.max(1, Math.floor(high / LINE - .5));
  centre.position({ x: width / 2, y: height / 2 }).style("text-max-width", width * .25);
  others.forEach((each, at) => {
    const side = at % 2 ? -1 : 1, down = (Math.floor(at / 2) + .5) / rows;
    each.position({ x: width * (.5 + side * (.12 + .06 * Math.sin(Math.PI * down))), y: height * down });
    each.style({ "text-halign": side < 0 ? "left" : "right", "text-valign": "center", "text-margin-x": 4 * side, "text-max-width": widest });
    each.data("short", shorten(each.data("label"), letters, lines));
  });
}

// Shorten a label to the given lines and break only words that exceed a line.
function shorten(label, letters, lines) {
  const most = letters * (lines > 1 ? .75 * lines : 1);
  const short = label.length > most ? `${label.slice(0, most - 1)}…` : label;
  return short.replace(new RegExp(`\\S{${letters - 1}}(?=\\S)`, "g"), "$&\u200b");
}

// The page of a node contains its neighbours.
async function expand(graph, node) {
  const answer = await fetch(node.data("href"));
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.querySelector("[data-graph]");
  if (!found) { location.href = node.data("href"); return; }
  const added = elements(found.dataset.graph).filter(({ data }) => graph.getElementById(data.id).empty());
  graph.add(added.map(({ data, classes }) => ({ data, classes: classes.replace("centre", "") }))).nodes().position(node.position());
  graph.nodes().removeStyle().removeClass("unnamed");
  graph.layout({ name: "cose", animate: false, nodeDimensionsIncludeLabels: true, idealEdgeLength: () => 4 * GAP, padding: GAP }).run();
  hideOverlaps(graph);
  graph.container().dataset.drawn = String(graph.nodes().length);
}

// A label that would cover an earlier one is shown only under the pointer.
function hideOverlaps(graph) {
  const taken = [];
  graph.nodes().forEach((node) => {
    const own = node.boundingBox({ includeNodes: false, includeEdges: false });
    if (taken.some((each) => own.x1 < each.x2 && each.x1 < own.x2 && own.y1 < each.y2 && each.y1 < own.y2)) node.addClass("unnamed");
    else taken.push(own);
  });
}

}
