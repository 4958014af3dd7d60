// Draws passages and their relations. The lists of the page have the same content. A node links to its own graph.
"use strict";

const ROUNDS = 120, MANY = 150, FONT = 13;

for (const box of document.querySelectorAll("[data-source-graph]")) draw(box);

function draw(box) {
  const began = performance.now();
  const { nodes, edges } = read(box.dataset.sourceGraph);
  const places = spread(nodes, edges);
  const many = nodes.length > MANY;
  box.closest(".picture").hidden = false;  // hidden without JavaScript
  const graph = cytoscape({
    container: box,
    elements: [...nodes.map((each, at) => ({ data: each, classes: `${each.shape}${each.isNamed ? " named" : ""}`, position: places[at] })), ...edges.map((each) => ({ data: each, classes: each.shape }))],
    style: sheet(many),
    layout: { name: "preset", padding: 20 },
    hideEdgesOnViewport: many,
    maxZoom: 4,
  });
  if (graph.zoom() > 1) {  // few nodes need not fill the frame
    graph.zoom(1);
    graph.center();
  }
  for (const button of box.parentElement.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      const factor = Number(button.dataset.zoom);
      if (factor) graph.zoom({ level: graph.zoom() * factor, renderedPosition: { x: box.clientWidth / 2, y: box.clientHeight / 2 } });
      else graph.fit(20);
    });
  }
  const label = () => nameWithoutOverlap(graph);
  label();
  graph.on("zoom", label);
  graph.on("tap", "node", (event) => { location.href = event.target.data("href"); });
  graph.on("mouseover", "node", (event) => event.target.closedNeighborhood().addClass("hovered"));
  graph.on("mouseout", "node", (event) => event.target.closedNeighborhood().removeClass("hovered"));
  box.dataset.took = String(Math.round(performance.now() - began));
  box.dataset.drawn = String(graph.nodes().length);
}

// Labels keep their size at each zoom. A label that would cover an earlier one waits until there is space.
function nameWithoutOverlap(graph) {
  const zoom = graph.zoom(), taken = [];
  graph.batch(() => graph.nodes(".named").removeClass("shown").style({ "font-size": FONT / zoom, "text-max-width": 130 / zoom }));
  for (const node of graph.nodes(".named").sort((a, b) => b.hasClass("centre") - a.hasClass("centre"))) {
    node.addClass("shown");
    const own = node.renderedBoundingBox({ includeNodes: false, includeEdges: false });
    const covers = taken.some((each) => own.x1 < each.x2 && each.x1 < own.x2 && own.y1 < each.y2 && each.y1 < own.y2);
    if (covers) node.removeClass("shown");
    else taken.push(own);
  }
}

function read(text) {
  const [nodes, edges] = JSON.parse(text);
  return {
    nodes: nodes.map(([id, label, shape, href, isNamed]) => ({ id, label, shape, href, isNamed })),
    edges: edges.map(([source, target, shape], at) => ({ id: `edge-${at}`, source, target, shape })),
  };
}

function sheet(many) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const size = many ? 10 : 18;
  return [
    { selector: "node", style: { color: colour("--text"), "background-color": colour("--quiet"), width: size, height: size, "font-size": many ? 6 : 11, "text-wrap": "wrap", "text-max-width": 110, "text-outline-color": colour("--ground"), "text-outline-width": 1.5 } },
    { selector: "node.concept", style: { shape: "diamond", "background-color": colour("--mark"), "border-width": 1, "border-color": colour("--quiet") } },
    { selector: "node.centre", style: { "background-color": colour("--link"), width: 2 * size, height: 2 * size, "font-weight": "bold" } },
    { selector: "node.shown", style: { label: "data(label)" } },
    { selector: "node.hovered", style: { label: "data(label)", "font-size": many ? 24 : 15, "z-index": 9 } },
    { selector: "edge", style: { width: 1.2, "line-color": colour("--quiet"), opacity: many ? .4 : .7, "curve-style": "haystack" } },
    { selector: "edge.next", style: { "line-style": many ? "solid" : "dashed", width: 1.5 } },
    { selector: "edge.names", style: { "line-style": "dotted" } },
    { selector: "edge.linked", style: { "line-color": colour("--link"), width: 4 } },
    { selector: "edge.hovered", style: { "line-color": colour("--link"), opacity: 1 } },
  ];
}

// Layout by Fruchterman and Reingold (1991): edges attract, nodes repel, less in each round. It starts with a spiral
// in the given order, so the same graph always looks the same.
function spread(nodes, edges) {
  const count = nodes.length, apart = count > MANY ? 40 : 90, ideal = apart * apart;
  const x = new Float64Array(count), y = new Float64Array(count), dx = new Float64Array(count), dy = new Float64Array(count);
  for (let at = 0; at < count; at++) {
    const far = apart * Math.sqrt(at), turn = at * 2.399963;  // the golden angle
    x[at] = far * Math.cos(turn);
    y[at] = far * Math.sin(turn);
  }
  const number = new Map(nodes.map((each, at) => [each.id, at]));
  const ties = edges.map((each) => [number.get(each.source), number.get(each.target)]).filter(([a, b]) => a !== b);
  for (let round = 0; round < ROUNDS; round++) {
    dx.fill(0);
    dy.fill(0);
    for (let a = 0; a < count; a++) {
      for (let b = a + 1; b < count; b++) {
        const right = x[a] - x[b], down = y[a] - y[b], push = ideal / (right * right + down * down + .01);
        dx[a] += right * push; dy[a] += down * push;
        dx[b] -= right * push; dy[b] -= down * push;
      }
    }
    for (const [a, b] of ties) {
      const right = x[a] - x[b], down = y[a] - y[b], pull = Math.hypot(right, down) / apart;
      dx[a] -= right * pull; dy[a] -= down * pull;
      dx[b] += right * pull; dy[b] += down * pull;
    }
    const furthest = apart * Math.sqrt(count) * .1 * (1 - round / ROUNDS) + 1;
    for (let at = 0; at < count; at++) {
      dx[at] -= .3 * x[at]; dy[at] -= .3 * y[at];  // so that unconnected nodes stay near
      const far = Math.hypot(dx[at], dy[at]) || 1, step = Math.min(far, furthest) / far;
      x[at] += dx[at] * step;
      y[at] += dy[at] * step;
    }
  }
  return nodes.map((_, at) => ({ x: x[at], y: y[at] }));
}
