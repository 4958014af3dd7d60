// Draws the neighbourhood, or the ways from concept to concept, that the list beside it tells; a node leads to its page.
"use strict";

for (const box of document.querySelectorAll("[data-graph]")) draw(box);

async function draw(box) {
  const answer = await fetch(box.dataset.graph, { headers: { Accept: "application/json" } });
  if (!answer.ok) { box.hidden = true; return; }
  const found = asGraph(await answer.json());
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const graph = cytoscape({
    container: box,
    elements: [...found.concepts.map((each) => node(each, found.centres)), ...found.steps.map(edge)],
    style: [
      { selector: "node", style: { label: "data(label)", color: colour("--text"), "background-color": colour("--quiet"), "font-size": 13, "text-wrap": "wrap", "text-max-width": 110, width: "data(size)", height: "data(size)", "text-outline-color": colour("--ground"), "text-outline-width": 2 } },
      { selector: "node.centre", style: { "background-color": colour("--link"), "font-weight": "bold" } },
      { selector: "edge", style: { width: 1.2, "line-color": colour("--line"), "curve-style": "bezier", "target-arrow-shape": "triangle", "target-arrow-color": colour("--line"), "arrow-scale": .8 } },
      { selector: "edge:selected, edge.near", style: { label: "data(label)", color: colour("--quiet"), "font-size": 9, "text-outline-color": colour("--ground"), "text-outline-width": 2 } },
    ],
    layout: found.layout,
  });
  graph.on("tap", "node", (event) => { location.href = `/ui/concepts/${encodeURIComponent(event.target.id())}`; });
  graph.on("mouseover", "node", (event) => event.target.connectedEdges().addClass("near"));
  graph.on("mouseout", "node", (event) => event.target.connectedEdges().removeClass("near"));
  box.dataset.drawn = String(graph.nodes().length);
}

const AROUND = { name: "concentric", concentric: (each) => (each.hasClass("centre") ? 1 : 0), levelWidth: () => 1, minNodeSpacing: 30, animate: false };

// A neighbourhood stands around its concept; ways go down from the first concept to the last, what they share once.
function asGraph(answer) {
  if (!answer.paths) return { ...answer, centres: [answer.centre], layout: AROUND };
  const concepts = new Map(answer.paths.flatMap((path) => path.concepts).map((each) => [each.concept_id, each]));
  const steps = new Map(answer.paths.flatMap((path) => path.steps).map((each) => [JSON.stringify([each.subject, each.type, each.object]), each]));
  const [first, last] = [answer.start.concept_id, answer.end.concept_id];
  const layout = { name: "breadthfirst", roots: [first], spacingFactor: 1.2, animate: false };
  return { concepts: [...concepts.values()], steps: [...steps.values()], centres: [first, last], layout };
}

function node(concept, centres) {
  const size = 14 + 6 * Math.log2(1 + concept.sources);
  return { data: { id: concept.concept_id, label: concept.label, size }, classes: centres.includes(concept.concept_id) ? "centre" : "" };
}

function edge(step, at) {
  return { data: { id: `step-${at}`, source: step.subject, target: step.object, label: step.type } };
}
