// Draws measures by rank: all of one run, or one of several runs. The table below has the same numbers.
"use strict";

const HEIGHT = 288, BANDS = 3, DASHES = [[], [8, 4], [3, 3], [10, 3, 3, 3]];

for (const box of document.querySelectorAll("[data-curves]")) draw(box);

function draw(box) {
  const { lines, ranks } = linesOf(JSON.parse(box.dataset.curves), box.dataset.family);
  if (ranks.length < 2) return; // one point is no curve
  box.hidden = false;
  let plot;
  const again = () => {
    plot?.destroy();
    plot = plotOf(box, lines, ranks);
    box.dataset.drawn = String(lines.length);
  };
  again();
  new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT })).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}

// One line per run for one measure, or one line per measure of one run.
function linesOf(answer, family) {
  const each = answer.labels
    ? answer.labels.map((label) => [label, family, answer.metrics[label], answer.intervals[label]])
    : [...new Set(Object.keys(answer.metrics).map(familyOf))].map((name) => [name, name, answer.metrics, answer.intervals]);
  const first = each[0];
  const ranks = Object.keys(first[2]).filter((name) => familyOf(name) === first[1]).map((name) => Number(name.split("@")[1])).sort((a, b) => a - b);
  return { ranks, lines: each.map(([name, of, means, intervals]) => line(name, ranks.map((rank) => `${of}@${rank}`), means, intervals)) };
}

function familyOf(metric) { return metric.split("@")[0]; }

function line(name, metrics, means, intervals) {
  return { name, mean: metrics.map((each) => means[each] ?? null), low: metrics.map((each) => intervals[each]?.[0] ?? null), high: metrics.map((each) => intervals[each]?.[1] ?? null) };
}

function plotOf(box, lines, ranks) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const places = ranks.map((_, at) => at), banded = lines.length <= BANDS;
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  const series = [{}], data = [places], bands = [];
  lines.forEach(({ mean, low, high }, at) => {
    const stroke = colour(`--group-${at % 10}`);
    series.push({ stroke, width: 2, dash: DASHES[at % DASHES.length], points: { show: true, size: 6, fill: stroke } });
    data.push(mean);
    if (!banded) return;
    bands.push({ series: [series.length + 1, series.length], fill: `${stroke}22` });
    for (const bound of [low, high]) {
      series.push({ stroke: "transparent", points: { show: false } });
      data.push(bound);
    }
  });
  const options = {
    width: box.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [-.2, places.length - .8] }, y: { range: [0, 1.02] } },
    axes: [
      { ...axis, splits: () => places, values: () => ranks.map(String), label: "rank", labelSize: 24 },
      { ...axis, size: 46 },
    ],
    series,
    bands,
  };
  return new uPlot(options, data, box);
}
