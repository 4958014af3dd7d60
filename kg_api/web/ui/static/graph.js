// Draws a concept with its related concepts, or paths between two. The list has the same content. A node links to its page.
"use strict";

const FONT = 12, LINE = 16, LETTER = 7.5;  // pixels

for (const box of document.querySelectorAll("[data-graph]")) draw(box);

function draw(box) {
  const [concepts, steps] = JSON.parse(box.dataset.graph);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  box.closest(".picture").hidden = false;  // hidden without JavaScript
  const graph = cytoscape({
    container: box,
    elements: [...concepts.map(node), ...steps.map(edge)],
    style: [
      { selector: "node", style: { label: "data(label)", color: colour("--text"), "background-color": colour("--quiet"), "font-size": FONT, "text-wrap": "wrap", "text-max-width": "110px", width: "data(size)", height: "data(size)", "text-outline-color": colour("--ground"), "text-outline-width": 2 } },
      { selector: "node.centre", style: { "background-color": colour("--link"), "font-weight": "bold", "text-valign": "bottom" } },
      { selector: "edge", style: { width: 1.2, "line-color": colour("--line"), "curve-style": "bezier", "target-arrow-shape": "triangle", "target-arrow-color": colour("--line"), "arrow-scale": .8 } },
      { selector: "edge:selected, edge.near", style: { label: "data(label)", color: colour("--quiet"), "font-size": 10, "text-outline-color": colour("--ground"), "text-outline-width": 2 } },
    ],
    layout: { name: "null" },
  });
  const ends = concepts.filter((each) => each[3]);
  if (ends.length > 1) downwards(graph, ends[0][0]);
  else sidewards(graph, box);
  graph.on("tap", "node", (event) => { location.href = `${box.dataset.below}/${encodeURIComponent(event.target.id())}`; });
  graph.on("mouseover", "node", (event) => event.target.connectedEdges().addClass("near"));
  graph.on("mouseout", "node", (event) => event.target.connectedEdges().removeClass("near"));
  box.dataset.drawn = String(graph.nodes().length);
}

function node([id, label, sources, isEnd]) {
  return { data: { id, label, size: 14 + 4 * Math.min(6, Math.log2(1 + sources)) }, classes: isEnd ? "centre" : "" };
}

function edge([source, label, target], at) {
  return { data: { id: `step-${at}`, source, target, label } };
}

// Paths go down from the first concept to the last, so labels do not overlap.
function downwards(graph, first) {
  graph.nodes().style("text-valign", "bottom");
  graph.layout({ name: "breadthfirst", roots: [first], nodeDimensionsIncludeLabels: true, spacingFactor: 1.3, animate: false }).run();
  if (graph.zoom() > 1) { graph.zoom(1); graph.center(); }
}

// The concept is in the centre, the others in rows at both sides with outward labels, so labels do not overlap.
function sidewards(graph, box) {
  const { clientWidth: width, clientHeight: height } = box;
  const others = graph.nodes().not(".centre"), rows = Math.ceil(others.length / 2), high = height / Math.max(rows, 1);
  const widest = width * .27, letters = Math.floor(widest / LETTER), lines = Math.max(1, Math.floor(high / LINE - .5));
  graph.nodes(".centre").position({ x: width / 2, y: height / 2 }).style("text-max-width", `${width * .25}px`);
  others.forEach((each, at) => {
    const right = at % 2 === 0, down = (Math.floor(at / 2) + .5) / Math.max(rows, 1);
    each.position({ x: width * (.5 + (right ? 1 : -1) * (.12 + .06 * Math.sin(Math.PI * down))), y: height * down });
    each.style({ "text-halign": right ? "right" : "left", "text-valign": "center", "text-margin-x": right ? 4 : -4, "text-max-width": `${widest}px` });
    each.data("label", shorten(each.data("label"), letters, lines));
  });
}

// Shorten a label to the given lines and break only words that exceed a line.
function shorten(label, letters, lines) {
  const most = letters * (lines > 1 ? .75 * lines : 1);
  const short = label.length > most ? `${label.slice(0, most - 1)}…` : label;
  return short.replace(new RegExp(`\\S{${letters - 1}}(?=\\S)`, "g"), "$&\u200b");
}
