// Draws passages and what ties them; the lists of the page tell the same. A node leads to what is around it.
"use strict";

const ROUNDS = 120, MANY = 150;

for (const box of document.querySelectorAll("[data-source-graph]")) draw(box);

function draw(box) {
  const began = performance.now();
  const { nodes, edges } = read(box.dataset.sourceGraph);
  const places = spread(nodes, edges);
  const many = nodes.length > MANY;
  box.closest(".picture").hidden = false;  // without scripts there is none
  const graph = cytoscape({
    container: box,
    elements: [...nodes.map((each, at) => ({ data: each, classes: each.shape, position: places[at] })), ...edges.map((each) => ({ data: each, classes: each.shape }))],
    style: sheet(many),
    layout: { name: "preset", padding: 20 },
    hideEdgesOnViewport: many,
    maxZoom: 4,
  });
  if (graph.zoom() > 1) {  // a few nodes need not fill the picture
    graph.zoom(1);
    graph.center();
  }
  graph.on("tap", "node", (event) => { location.href = event.target.data("href"); });
  graph.on("mouseover", "node", (event) => event.target.closedNeighborhood().addClass("hovered"));
  graph.on("mouseout", "node", (event) => event.target.closedNeighborhood().removeClass("hovered"));
  box.dataset.took = String(Math.round(performance.now() - began));
  box.dataset.drawn = String(graph.nodes().length);
}

function read(text) {
  const [nodes, edges] = JSON.parse(text);
  return {
    nodes: nodes.map(([id, label, shape, href]) => ({ id, label, shape, href })),
    edges: edges.map(([source, target, shape], at) => ({ id: `edge-${at}`, source, target, shape })),
  };
}

function sheet(many) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const size = many ? 10 : 18;
  return [
    { selector: "node", style: { label: "data(label)", color: colour("--text"), "background-color": colour("--quiet"), width: size, height: size, "font-size": many ? 6 : 11, "min-zoomed-font-size": 8, "text-wrap": "wrap", "text-max-width": 110, "text-outline-color": colour("--ground"), "text-outline-width": 1.5 } },
    { selector: "node.concept", style: { shape: "diamond", "background-color": colour("--mark"), "border-width": 1, "border-color": colour("--quiet") } },
    { selector: "node.centre", style: { "background-color": colour("--link"), width: 2 * size, height: 2 * size, "font-weight": "bold" } },
    { selector: "node.hovered", style: { "min-zoomed-font-size": 0, "font-size": many ? 24 : 13, "z-index": 9 } },
    { selector: "edge", style: { width: 1, "line-color": colour("--line"), "curve-style": "haystack" } },
    { selector: "edge.near", style: { "line-color": colour("--quiet"), opacity: many ? .4 : .8 } },
    { selector: "edge.next", style: { "line-style": many ? "solid" : "dashed", width: 1.5 } },
    { selector: "edge.names", style: { "line-style": "dotted" } },
    { selector: "edge.linked", style: { "line-color": colour("--link"), width: 4 } },
    { selector: "edge.hovered", style: { "line-color": colour("--link"), opacity: 1 } },
  ];
}

// Fruchterman and Reingold (1991): what is tied draws together, all push each other away, less with each round.
// It begins with a spiral in the order given, so the same graph looks the same each time.
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
      dx[at] -= .3 * x[at]; dy[at] -= .3 * y[at];  // so that what nothing ties stays near
      const far = Math.hypot(dx[at], dy[at]) || 1, step = Math.min(far, furthest) / far;
      x[at] += dx[at] * step;
      y[at] += dy[at] * step;
    }
  }
  return nodes.map((_, at) => ({ x: x[at], y: y[at] }));
}
