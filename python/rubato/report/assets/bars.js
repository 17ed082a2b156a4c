// The study's chart: a group of bars for each program, a bar for each point, relative to a point that the reader chooses.
// A bar begins at 1 where the scale has no 0, so that its length is the effect.
// SPDX-License-Identifier: MIT
'use strict';

/// How point `i` is filled: eight colours and seven patterns, so that 56 bars differ, and neighbours without colour.
const barLook = (i) => ({colour: `var(--s${i % 8})`, pattern: i % STROKES.length});

/// [mean, low, high] as times faster, or as the time relative to the base.
function measuredAs(entry, measure) {
  if (!entry || measure === 'speed') return entry;
  const inverse = (v) => v == null ? null : 1 / v;
  return [inverse(entry[0]), inverse(entry[2]), inverse(entry[1])];
}

function barScale(entries, kind) {
  const all = entries.flatMap(([mean, low, high]) => [mean, Math.max(low ?? mean, mean / 4), Math.min(high ?? mean, mean * 4)]);
  const least = Math.min(1, ...all), most = Math.max(1, ...all), room = (most - least || 0.1) * 0.06;
  if (kind === 'zero') return {from: 0, to: most * 1.06, start: 0};
  if (kind === 'near') return {from: least - room, to: most + room, start: 1};
  return {from: 2 ** Math.floor(Math.log2(least)), to: 2 ** Math.ceil(Math.log2(most * 1.001)), start: 1};
}

/// The last argument has the indices of the points to show, ratios[group][point], the base in words, and two choices.
function barChart(container, data, {points, ratios, base, measure, scale}) {
  draw(container, (width) => {
    const entryOf = (g, p) => measuredAs(ratios[g][p], measure);
    const shown = data.groups.flatMap((_, g) => points.map((p) => entryOf(g, p))).filter(Boolean);
    const m = {left: 52, right: 8, top: 30, bottom: 30}, gap = 14;
    // A group is at least as wide as its bars need; groups that have no room beside each other go to another row.
    const least = Math.max(44, points.length * 5 + gap), inner = width - m.left - m.right;
    const inRow = Math.max(1, Math.min(data.groups.length, Math.floor(inner / least)));
    const rows = Math.ceil(data.groups.length / inRow), tall = 240 + m.top + m.bottom, height = rows * tall;
    const room = inner / inRow, thick = Math.min(34, (room - gap) / points.length);
    const span = barScale(shown, scale), isLog = scale === 'log';
    const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': data.label});
    const title = `${measure === 'speed' ? 'times faster than at' : 'time relative to'} ${base}`;
    root.append(svg('text', {x: 0, y: 14, text: shorter(title, Math.floor(width / 6.4))}));
    for (let row = 0; row < rows; ++row) {
      const top = row * tall + m.top, bottom = (row + 1) * tall - m.bottom;
      const py = (isLog ? log2 : linear)(span.from, span.to, bottom, top);
      const clamp = (v) => py(Math.min(span.to, Math.max(span.from, v)));
      for (const v of isLog ? sparseTicks(span.from, span.to, 6) : niceTicks(span.from, span.to, 5)) {
        root.append(svg('line', {class: 'grid', x1: m.left, x2: width - m.right, y1: py(v), y2: py(v)}),
          svg('text', {x: m.left - 6, y: py(v) + 4, 'text-anchor': 'end', text: `${Number(v.toPrecision(4))}×`}));
      }
      data.groups.slice(row * inRow, (row + 1) * inRow).forEach((name, k) => {
        const g = row * inRow + k, left = m.left + k * room, middle = left + room / 2;
        const at = middle - thick * points.length / 2;
        points.forEach((p, i) => drawBar(root, data, {name, p, x: at + i * thick, thick}, entryOf(g, p), clamp, span.start));
        const text = shorter(name, Math.max(3, Math.floor(room / 6.8)));
        root.append(svg('text', {class: 'strong', x: middle, y: bottom + 18, 'text-anchor': 'middle', text},
          ...(text === name ? [] : [svg('title', {text: name})])));
      });
      root.append(svg('line', {class: 'axis', x1: m.left, x2: width - m.right, y1: clamp(1), y2: clamp(1)}));
    }
    return root;
  });
}

function drawBar(root, data, {name, p, x, thick}, entry, py, start) {
  if (!entry) return;
  const [mean, low, high] = entry, from = py(start), to = py(mean);
  const box = {x: x + 0.5, y: Math.min(from, to), width: Math.max(1, thick - 1), height: Math.max(0.7, Math.abs(to - from))};
  const [bar, ...over] = filled(barLook(p), box);
  bar.setAttribute('class', 'bar');
  const value = `${mean.toPrecision(4)}×` + (low == null ? '' : ` (${low.toPrecision(4)} to ${high.toPrecision(4)})`);
  root.append(explain(bar, name, [{name: data.points[p], colour: barLook(p).colour, value}]), ...over);
  if (low == null || low === high) return;
  const middle = x + thick / 2, half = Math.min(4, thick / 3), a = py(low), b = py(high);
  root.append(svg('path', {class: 'whisker', d: `M${middle - half} ${a}h${2 * half}M${middle} ${a}V${b}M${middle - half} ${b}h${2 * half}`,
    fill: 'none', style: 'stroke:var(--ink)', 'stroke-width': 1.2}));
}

/// Wires the choices of card `id` to its chart.
function showBars(id, data) {
  const chosen = (name) => at(`${id}-${name}`).value;
  const show = () => {
    const {points} = data.sets[chosen('points')];
    at(`${id}-legend`).replaceChildren(...legend(points.map((p) => ({name: data.points[p], ...barLook(p)}))).children);
    barChart(at(`${id}-chart`), data, {points, ratios: data.ratios[chosen('base')],
      base: data.points[data.bases[chosen('base')]], measure: chosen('measure'), scale: chosen('scale')});
  };
  for (const name of ['points', 'base', 'measure', 'scale']) at(`${id}-${name}`).addEventListener('change', show);
  show();
}
