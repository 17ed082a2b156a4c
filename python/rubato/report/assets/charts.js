// The report's charts: inline SVG drawn at the width that is there, redrawn when it changes.
// No library and no network: the whole report must work from a USB stick in ten years.
// Every chart is a function (container, data) and leaves `data-rendered` on its container.
// SPDX-License-Identifier: MIT
'use strict';

const SVG = 'http://www.w3.org/2000/svg';

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'text') node.textContent = value;
    else if (key === 'style') node.setAttribute('style', value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function html(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'text') node.textContent = value;
    else if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// ---- numbers ----

function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1e12) return trim(value / 1e12) + ' T';
  if (size >= 1e9) return trim(value / 1e9) + ' G';
  if (size >= 1e6) return trim(value / 1e6) + ' M';
  if (size >= 1e4) return trim(value / 1e3) + ' k';
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en');
  return size >= 0.01 || size === 0 ? trim(value) : value.toExponential(1);
}
const trim = (value) => String(Number(value.toPrecision(3)));
const percent = (fraction) => (fraction * 100).toFixed(fraction < 0.1 ? 1 : 0) + ' %';

// ---- tooltip: one for all charts, filled with text nodes only ----

const tip = html('div', {id: 'tip', role: 'status'});
function showTip(event, heading, rows = []) {
  tip.replaceChildren(html('b', {text: heading}));
  for (const row of rows) {
    const line = html('div');
    if (row.colour) line.append(html('i', {style: `background:${row.colour}`}));
    line.append(`${row.name}${row.value === undefined ? '' : ': ' + row.value}`);
    tip.append(line);
  }
  const box = tip.getBoundingClientRect();
  let x = event.clientX + 14, y = event.clientY + 14;
  if (x + box.width > innerWidth - 8) x = Math.max(8, event.clientX - box.width - 14);
  if (y + box.height > innerHeight - 8) y = Math.max(8, event.clientY - box.height - 14);
  tip.style.left = x + 'px';
  tip.style.top = y + 'px';
  tip.style.opacity = 1;
}
function hideTip() { tip.style.opacity = 0; }
function explain(node, heading, rows) {
  node.addEventListener('pointermove', (e) => showTip(e, heading, typeof rows === 'function' ? rows() : rows));
  node.addEventListener('pointerleave', hideTip);
  return node;
}

// ---- drawing and redrawing ----

const drawn = new Map();
function draw(container, render) {
  drawn.set(container, render);
  redraw(container);
  watcher.observe(container);
}
function redraw(container) {
  const width = Math.floor(container.clientWidth);
  if (width === 0) return;
  const root = drawn.get(container)(width);
  container.replaceChildren(root, saveButton(root));
  container.dataset.rendered = width;
}
const watcher = new ResizeObserver((entries) => {
  for (const {target} of entries) {
    if (drawn.has(target) && Math.floor(target.clientWidth) !== Number(target.dataset.rendered)) redraw(target);
  }
});
function redrawAll() { for (const container of drawn.keys()) redraw(container); }

function legend(entries) {
  const box = html('div', {class: 'legend'});
  for (const entry of entries) {
    const swatch = svg('svg', {width: 16, height: 14, viewBox: '0 0 16 14', 'aria-hidden': 'true'});
    swatch.append(...filled(entry, {x: 0, y: 0, width: 16, height: 14, rx: 2}));
    box.append(html('span', {}, swatch, entry.name));
  }
  return box;
}

// ---- patterns: what neighbours are told apart by where colours look alike ----

/// Strokes within a square of 7 by 7; the first part has none.
const STROKES = ['', 'M0 7L7 0M-1 1L1 -1M6 8L8 6', 'M3.5 3v1', 'M0 0L7 7M-1 6L1 8M6 -1L8 1', 'M0 3.5H7', 'M0 0L7 7M7 0L0 7', 'M3.5 0V7'];

function definePatterns() {
  const defs = svg('defs');
  STROKES.forEach((d, i) => defs.append(svg('pattern', {id: `fill-${i}`, width: 7, height: 7, patternUnits: 'userSpaceOnUse'},
    svg('path', {d, fill: 'none', style: 'stroke:var(--ink)', 'stroke-width': i === 2 ? 2.4 : 1, opacity: 0.55}))));
  document.body.append(svg('svg', {width: 0, height: 0, 'aria-hidden': 'true', style: 'position:absolute'}, defs));
}

/// The rectangles of a part: its colour, and its pattern over it.
function filled(part, box) {
  const colour = svg('rect', {...box, style: `fill:${part.colour}`});
  return part.pattern ? [colour, svg('rect', {...box, fill: `url(#fill-${part.pattern})`, 'pointer-events': 'none'})] : [colour];
}

const shorter = (text, most) => text.length > most ? text.slice(0, Math.max(1, most - 1)) + '…' : text;

// ---- scales ----

const linear = (from, to, start, end) => (v) => start + (v - from) / (to - from || 1) * (end - start);
const log2 = (from, to, start, end) => {
  const scale = linear(Math.log2(from), Math.log2(to), start, end);
  return (v) => scale(Math.log2(v));
};
function niceTicks(from, to, count) {
  const raw = (to - from) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw) || power;
  const ticks = [];
  for (let v = Math.ceil(from / step) * step; v <= to + step * 1e-6; v += step) ticks.push(Number(v.toPrecision(12)));
  return ticks;
}
function powerTicks(from, to) {
  const ticks = [];
  for (let v = 2 ** Math.ceil(Math.log2(from) - 1e-9); v <= to * 1.0001; v *= 2) ticks.push(v);
  return ticks;
}

// ---- speed-up: lines with intervals over a logarithmic number of cores ----

const MARKS = [
  (x, y) => svg('circle', {cx: x, cy: y, r: 4}),
  (x, y) => svg('rect', {x: x - 3.8, y: y - 3.8, width: 7.6, height: 7.6}),
  (x, y) => svg('path', {d: `M${x} ${y - 5}L${x + 5} ${y + 4}L${x - 5} ${y + 4}Z`}),
  (x, y) => svg('path', {d: `M${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}L${x - 5} ${y}Z`}),
];

function speedupChart(container, data, isLinear) {
  draw(container, (width) => {
    const named = width > 560;
    const longest = Math.max(...data.series.map((s) => s.name.length));
    const m = {left: 46, right: named ? Math.min(220, 24 + longest * 6.9) : 14, top: 14, bottom: 40};
    const height = Math.min(460, Math.max(280, width * 0.52));
    const xs = [...new Set(data.series.flatMap((s) => s.points.map((p) => p.x)))].sort((a, b) => a - b);
    // Intervals widen the axis by a factor of 4 at most: those of two runs may span many powers of ten.
    const shown = data.series.flatMap((s) => s.points.map((p) => p.y)).concat(data.line ?? []);
    const most = Math.max(...shown), least = Math.min(...shown);
    const ends = (name) => data.series.flatMap((s) => s.points.map((p) => p[name])).filter(Number.isFinite);
    const highest = Math.max(most, Math.min(most * 4, ...ends('high').length ? [Math.max(...ends('high'))] : [most]));
    const lowest = Math.min(least, Math.max(least / 4, ...ends('low').length ? [Math.min(...ends('low'))] : [least]));
    const top = isLinear ? highest * 1.08 : Math.max(2, 2 ** Math.ceil(Math.log2(highest * 1.04)));
    const bottom = isLinear ? 0 : lowest > 0.7 ? 0.9 : 2 ** Math.floor(Math.log2(Math.max(lowest, 1e-3)));
    const px = (isLinear ? linear : log2)(isLinear ? 0 : xs[0], xs[xs.length - 1] === xs[0] ? xs[0] * 2 : xs[xs.length - 1],
      m.left, width - m.right);
    const scale = (isLinear ? linear : log2)(bottom, top, height - m.bottom, m.top);
    const py = (v) => scale(Math.min(top, Math.max(bottom, v)));  // an interval that leaves the chart is cut off there
    const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': data.label});
    const xticks = isLinear ? niceTicks(0, xs[xs.length - 1], width / 90) : xs;
    const yticks = isLinear ? niceTicks(0, top, 6) : powerTicks(bottom, top);
    for (const v of yticks) {
      root.append(svg('line', {class: 'grid', x1: m.left, x2: width - m.right, y1: py(v), y2: py(v)}),
        svg('text', {x: m.left - 8, y: py(v) + 4, 'text-anchor': 'end', text: number(v) + '×'}));
    }
    let lastX = -99;
    for (const v of xticks) {
      if (px(v) - lastX < 26) continue;
      lastX = px(v);
      root.append(svg('line', {class: 'grid', x1: px(v), x2: px(v), y1: m.top, y2: height - m.bottom}),
        svg('text', {x: px(v), y: height - m.bottom + 18, 'text-anchor': 'middle', text: v}));
    }
    root.append(svg('text', {x: (m.left + width - m.right) / 2, y: height - 4, 'text-anchor': 'middle', text: 'cores'}));
    drawIdeal(root, data, px, py, top, xs);
    if (data.line != null) {
      root.append(svg('line', {class: 'serial', x1: m.left, x2: width - m.right, y1: py(data.line), y2: py(data.line),
        style: 'stroke:var(--ink)', 'stroke-dasharray': '6 4'}),
      svg('text', {x: m.left + 6, y: py(data.line) - 5, text: 'serial code'}));
    }
    data.series.forEach((s, i) => drawSeries(root, s, i, px, py));
    if (named) labelEnds(root, data.series, px, py, m.top, Math.floor((m.right - 12) / 6.9));
    hoverLine(root, data, xs, px, {m, width, height});
    return root;
  });
}

/// As many times the reference, which over serial code is `data.ideal` times as fast as that, as there are cores.
function drawIdeal(root, data, px, py, top, xs) {
  const unit = (data.ideal ?? 1) / data.reference_cores;
  const from = xs[0], to = Math.min(xs[xs.length - 1], top / unit);
  if (to <= from) return;
  const steps = Array.from({length: 33}, (_, i) => from * (to / from) ** (i / 32));
  const d = steps.map((v, i) => `${i ? 'L' : 'M'}${px(v)} ${py(v * unit)}`).join('');
  root.append(svg('path', {d, fill: 'none', stroke: 'var(--faint)', 'stroke-dasharray': '3 4'}));
  const end = steps[steps.length - 4];
  root.append(svg('text', {x: px(end) - 10, y: py(end * unit) - 4, 'text-anchor': 'end', text: 'ideal'}));
}

const DASHES = ['none', '9 4', '2.5 3', '10 3 2.5 3'];  // curves that coincide are all seen, and colour is not needed

/// How line `i` looks. Neighbours differ in mark, dashes and colour.
const look = (i) => ({colour: `var(--s${i % 8})`, dashes: DASHES[(i + Math.floor(i / 4)) % 4], mark: MARKS[i % 4]});

function markOf(i, x, y) {
  const node = look(i).mark(x, y);
  node.setAttribute('style', `fill:${look(i).colour};stroke:var(--card);stroke-width:1.2`);
  return node;
}

/// A piece of the line with its mark, as it is drawn, before each name.
function lineLegend(names) {
  return names.map((name, i) => {
    const picture = svg('svg', {width: 34, height: 14, viewBox: '0 0 34 14', 'aria-hidden': 'true'},
      svg('path', {d: 'M1 7H33', fill: 'none', style: `stroke:${look(i).colour}`, 'stroke-width': 2, 'stroke-dasharray': look(i).dashes}),
      markOf(i, 17, 7));
    return html('span', {}, picture, name);
  });
}

const hasInterval = (p) => Number.isFinite(p.low) && Number.isFinite(p.high);

function drawSeries(root, s, index, px, py) {
  const {colour, dashes} = look(index);
  const banded = s.points.filter(hasInterval);
  if (banded.length > 1) {
    const up = banded.map((p) => `${px(p.x)} ${py(p.high)}`), down = banded.map((p) => `${px(p.x)} ${py(p.low)}`).reverse();
    root.append(svg('path', {d: `M${[...up, ...down].join('L')}Z`, style: `fill:${colour}`, opacity: 0.15}));
  }
  const d = s.points.map((p, i) => `${i ? 'L' : 'M'}${px(p.x)} ${py(p.y)}`).join('');
  root.append(svg('path', {d, fill: 'none', style: `stroke:${colour}`, 'stroke-width': 2.25, 'stroke-linejoin': 'round',
    'stroke-dasharray': dashes}));
  for (const p of s.points) {
    if (hasInterval(p)) {
      const x = px(p.x), a = py(p.low), b = py(p.high);
      root.append(svg('path', {d: `M${x - 4} ${a}h8M${x} ${a}V${b}M${x - 4} ${b}h8`, fill: 'none', style: `stroke:${colour}`}));
    }
    root.append(markOf(index, px(p.x), py(p.y)));
  }
}

/// `most` is how many letters there is room for.
function labelEnds(root, series, px, py, top, most) {
  const ends = series.map((s, i) => ({s, i, p: s.points[s.points.length - 1]})).sort((a, b) => b.p.y - a.p.y);
  let last = top - 20;
  for (const {s, i, p} of ends) {
    const y = Math.max(last + 15, py(p.y) + 4);
    last = y;
    root.append(svg('text', {x: px(p.x) + 11, y, style: `fill:var(--s${i % 8});font-weight:600`, text: shorter(s.name, most)},
      ...(s.name.length > most ? [svg('title', {text: s.name})] : [])));
  }
}

function hoverLine(root, data, xs, px, {m, width, height}) {
  const line = svg('line', {class: 'axis', y1: m.top, y2: height - m.bottom, opacity: 0});
  const area = svg('rect', {x: m.left - 12, y: m.top, width: width - m.left - m.right + 24,
    height: height - m.top - m.bottom, fill: 'transparent'});
  area.addEventListener('pointermove', (e) => {
    const x = e.clientX - root.getBoundingClientRect().left;
    const at = xs.reduce((a, b) => Math.abs(px(b) - x) < Math.abs(px(a) - x) ? b : a);
    line.setAttribute('x1', px(at));
    line.setAttribute('x2', px(at));
    line.setAttribute('opacity', 0.5);
    const rows = data.series.flatMap((s, i) => s.points.filter((p) => p.x === at).map((p) => ({
      name: s.name, colour: `var(--s${i % 8})`,
      value: `${p.y.toFixed(2)}×` + (p.steady ? ', the seed had no effect'
        : hasInterval(p) ? ` (${number(p.low)} to ${number(p.high)}, ${p.n} seeds)` : ''),
    })));
    showTip(e, `${at} core${at === 1 ? '' : 's'}`, rows);
  });
  area.addEventListener('pointerleave', () => { hideTip(); line.setAttribute('opacity', 0); });
  root.append(line, area);
}

// ---- stacked bars: one row a point, grouped by series ----

const HALO = 'paint-order:stroke;stroke:var(--card);stroke-width:4';  // text that a line may cross

/// Relative rows are as long as their total, but for those beyond `data.longest`, which are cut off there;
/// `data.baseline` is a length to compare with; a row's `low` and `high` are drawn as a whisker.
function stackedBars(container, data, isRelative) {
  draw(container, (width) => {
    const gap = 5, thick = 19, headings = 24;
    const longest = (text) => Math.max(0, ...data.groups.flatMap((g) => g.rows.map((r) => text(r).length)));
    const m = {left: Math.max(48, longest((r) => r.label) * 7 + 8), right: Math.max(58, longest((r) => r.note) * 6.6 + 10), top: 4};
    const totals = data.groups.flatMap((g) => g.rows.map((r) => Math.max(r.total, r.high ?? 0)));
    const most = isRelative ? Math.min(data.longest ?? Infinity, Math.max(...totals)) : 1;
    const px = linear(0, most, m.left, width - m.right);
    const root = svg('svg', {role: 'img', 'aria-label': data.label});
    const line = svg('line', {class: 'axis', 'stroke-dasharray': '3 3'});
    let y = m.top;
    for (const group of data.groups) {
      root.append(svg('text', {class: 'strong', x: 0, y: y + 16, text: shorter(group.name, Math.floor(width / 7.4)), style: HALO}));
      y += headings;
      for (const row of group.rows) {
        root.append(svg('text', {x: m.left - 8, y: y + thick / 2 + 4, 'text-anchor': 'end', text: row.label}));
        let at = 0;
        const whole = isRelative ? Math.min(row.total, most) : 1;
        for (const part of data.parts) {
          const fraction = row.fractions[part.key] || 0;
          if (fraction <= 0) continue;
          const from = px(at), to = px(at + fraction * whole);
          at += fraction * whole;
          const box = {x: from, y, width: Math.max(0.4, to - from - (to - from > 3 ? 1 : 0)), height: thick, rx: 1.5};
          const [bar, ...over] = filled(part, box);
          root.append(explain(bar, `${group.name}, ${row.label}`, data.parts.filter((p) => row.fractions[p.key] > 0)
            .map((p) => ({name: p.name, colour: p.colour, value: percent(row.fractions[p.key]) +
              (row.amounts ? `, ${number(row.amounts[p.key])} ${data.unit}` : '') + (p === part ? '  ◂' : '')}))), ...over);
        }
        if (isRelative && row.total > most) drawCut(root, px(at), y, thick);
        else if (isRelative && row.high != null) drawWhisker(root, px(row.low), px(Math.min(row.high, most)), y + thick / 2);
        const end = isRelative && row.total <= most ? Math.max(px(at), px(Math.min(row.high ?? 0, most))) : px(at);
        root.append(svg('text', {x: end + 6, y: y + thick / 2 + 4, text: row.note, style: HALO}));
        y += thick + gap;
      }
      y += 8;
    }
    if (isRelative && data.baseline) {
      for (const end of ['x1', 'x2']) line.setAttribute(end, px(data.baseline));
      line.setAttribute('y1', m.top);
      line.setAttribute('y2', y - 8);
      root.prepend(line);
    }
    root.setAttribute('viewBox', `0 0 ${width} ${y}`);
    root.setAttribute('height', y);
    return root;
  });
}

function drawWhisker(root, from, to, y) {
  root.append(svg('path', {class: 'whisker', d: `M${from} ${y - 4}v8M${from} ${y}H${to}M${to} ${y - 4}v8`, fill: 'none',
    style: 'stroke:var(--ink)', 'stroke-width': 1.3}));
}

/// Two slanted gaps near the end of a bar that goes on.
function drawCut(root, end, y, thick) {
  for (const x of [end - 16, end - 9]) {
    root.append(svg('path', {class: 'cut', d: `M${x} ${y + thick + 1}L${x + 6} ${y - 1}`, style: 'stroke:var(--card)', 'stroke-width': 3}));
  }
}

// ---- the mesh: tiles, and between them a bar a link and direction, coloured by load ----

function ramp(fraction) { // a colour between the four of the theme
  const stops = ['--ramp0', '--ramp1', '--ramp2', '--ramp3'];
  const at = Math.min(0.9999, Math.max(0, fraction)) * (stops.length - 1), i = Math.floor(at);
  return `color-mix(in oklab, var(${stops[i + 1]}) ${((at - i) * 100).toFixed(0)}%, var(${stops[i]}))`;
}

function meshChart(container, mesh) {
  draw(container, (width) => {
    const pitch = Math.min(80, Math.max(14, (Math.min(width, 680) - 8) / mesh.width));
    const side = pitch * 0.56, link = pitch - side, thick = Math.max(2.5, Math.min(8, side * 0.3));
    const w = pitch * mesh.width - link, h = pitch * mesh.height - link;
    const left = 2, top = 6;
    const root = svg('svg', {viewBox: `0 0 ${width} ${h + 58}`, height: h + 58, role: 'img', 'aria-label': 'load of the mesh links'});
    const most = Math.max(...mesh.links.map((l) => l.load), 1e-9);
    for (let t = 0; t < mesh.width * mesh.height; ++t) {
      const x = left + (t % mesh.width) * pitch, y = top + Math.floor(t / mesh.width) * pitch;
      const busy = mesh.busy ? mesh.busy[t] : null;
      const tile = svg('rect', {x, y, width: side, height: side, rx: 3, style: 'fill:var(--page);stroke:var(--line)'});
      root.append(tile);
      if (busy !== null) {
        const fill = side * busy;
        root.append(svg('rect', {x: x + 1, y: y + side - fill, width: side - 2, height: Math.max(0, fill - 1), rx: 2, style: 'fill:var(--idle)'}));
      }
      const cover = svg('rect', {x, y, width: side, height: side, fill: 'transparent'});
      root.append(explain(cover, `tile ${t}`, busy === null ? [] : [{name: 'cores busy', value: percent(busy)}]));
      if (side > 26) root.append(svg('text', {x: x + side / 2, y: y + side / 2 + 4, 'text-anchor': 'middle', text: t, 'pointer-events': 'none'}));
    }
    for (const l of mesh.links) {
      const x = left + (l.tile % mesh.width) * pitch, y = top + Math.floor(l.tile / mesh.width) * pitch;
      const middle = side / 2, off = thick * 0.65;
      const boxes = {
        east: [x + side + 1, y + middle - off - thick / 2, link - 2, thick],
        west: [x - link + 1, y + middle + off - thick / 2, link - 2, thick],
        south: [x + middle + off - thick / 2, y + side + 1, thick, link - 2],
        north: [x + middle - off - thick / 2, y - link + 1, thick, link - 2],
      };
      const [bx, by, bw, bh] = boxes[l.direction];
      const bar = svg('rect', {x: bx, y: by, width: bw, height: bh, rx: 1.5, style: `fill:${ramp(l.load / most)}`});
      root.append(explain(bar, `tile ${l.tile} to the ${l.direction}`,
        [{name: 'busy', value: percent(l.load)}, {name: mesh.unit, value: number(l.count)}]));
    }
    const scale = Math.min(220, width - 40);
    for (let i = 0; i < 44; ++i) {
      root.append(svg('rect', {x: left + i * scale / 44, y: h + 24, width: scale / 44 + 0.5, height: 9, style: `fill:${ramp(i / 43)}`}));
    }
    root.append(svg('text', {x: left, y: h + 50, text: '0'}),
      svg('text', {x: left + scale, y: h + 50, 'text-anchor': 'end', text: `${percent(most)} of cycles busy`}));
    return root;
  });
}

// ---- histograms with buckets of powers of two ----

function histogramChart(container, data) {
  draw(container, (width) => {
    const height = 190, m = {left: 44, right: 4, top: 10, bottom: 40};
    const total = data.buckets.reduce((a, b) => a + b, 0) || 1;
    let last = data.buckets.length - 1;
    while (last > 0 && data.buckets[last] === 0) --last;
    let first = 0;
    while (first < last && data.buckets[first] === 0) ++first;
    const shown = data.buckets.slice(first, last + 1);
    const most = Math.max(...shown) / total;
    const step = Math.min(64, (width - m.left - m.right) / shown.length), py = linear(0, most || 1, height - m.bottom, m.top);
    const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': data.name});
    for (const v of niceTicks(0, most, 3)) {
      root.append(svg('line', {class: 'grid', x1: m.left, x2: width - m.right, y1: py(v), y2: py(v)}),
        svg('text', {x: m.left - 6, y: py(v) + 4, 'text-anchor': 'end', text: percent(v)}));
    }
    let lastLabel = -99;
    shown.forEach((count, i) => {
      const bucket = first + i, low = bucket === 0 ? 0 : 2 ** (bucket - 1), high = bucket === 0 ? 0 : 2 ** bucket - 1;
      const x = m.left + i * step, range = low === high ? number(low) : `${number(low)} to ${number(high)}`;
      const bar = svg('rect', {x: x + 1, y: py(count / total), width: Math.max(1, step - 2),
        height: height - m.bottom - py(count / total), rx: 1.5, style: 'fill:var(--s0)'});
      const cover = svg('rect', {x, y: m.top, width: step, height: height - m.top - m.bottom, fill: 'transparent'});
      root.append(bar, explain(cover, `${range} ${data.unit}`, [{name: 'share', value: percent(count / total)}, {name: 'samples', value: number(count)}]));
      if (x - lastLabel >= 34) {
        lastLabel = x;
        root.append(svg('text', {x: x + step / 2, y: height - m.bottom + 16, 'text-anchor': 'middle', text: number(low)}));
      }
    });
    root.append(svg('text', {x: m.left + step * shown.length / 2, y: height - 6, 'text-anchor': 'middle', text: data.unit}));
    return root;
  });
}

// ---- time series ----

function seriesChart(container, data) {
  draw(container, (width) => {
    const height = 190, m = {left: 52, right: 8, top: 10, bottom: 36};
    const xs = data.cycles, values = data.values;
    const most = Math.max(...values, 0) || 1, least = Math.min(...values, 0);
    const px = linear(xs[0], xs[xs.length - 1], m.left, width - m.right), py = linear(least, most * 1.05, height - m.bottom, m.top);
    const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': data.name});
    for (const v of niceTicks(least, most, 3)) {
      root.append(svg('line', {class: 'grid', x1: m.left, x2: width - m.right, y1: py(v), y2: py(v)}),
        svg('text', {x: m.left - 6, y: py(v) + 4, 'text-anchor': 'end', text: number(v)}));
    }
    for (const v of niceTicks(xs[0], xs[xs.length - 1], width / 64)) {
      root.append(svg('text', {x: px(v), y: height - m.bottom + 16, 'text-anchor': 'middle', text: number(v)}));
    }
    const d = values.map((v, i) => `${i ? 'L' : 'M'}${px(xs[i]).toFixed(1)} ${py(v).toFixed(1)}`).join('');
    root.append(svg('path', {d: `${d}L${px(xs[xs.length - 1])} ${py(Math.max(0, least))}L${px(xs[0])} ${py(Math.max(0, least))}Z`, style: 'fill:var(--s0)', opacity: 0.13}),
      svg('path', {d, fill: 'none', style: 'stroke:var(--s0)', 'stroke-width': 1.6}),
      svg('text', {x: m.left + (width - m.left) / 2, y: height - 4, 'text-anchor': 'middle', text: 'cycle'}));
    const dot = svg('circle', {r: 3.5, style: 'fill:var(--s0)', opacity: 0});
    const area = svg('rect', {x: m.left, y: m.top, width: width - m.left - m.right, height: height - m.top - m.bottom, fill: 'transparent'});
    area.addEventListener('pointermove', (e) => {
      const x = e.clientX - root.getBoundingClientRect().left;
      const i = xs.reduce((best, v, k) => Math.abs(px(v) - x) < Math.abs(px(xs[best]) - x) ? k : best, 0);
      dot.setAttribute('cx', px(xs[i]));
      dot.setAttribute('cy', py(values[i]));
      dot.setAttribute('opacity', 1);
      showTip(e, `cycle ${xs[i].toLocaleString('en')}`, [{name: data.name, value: `${number(values[i])} ${data.unit}`}]);
    });
    area.addEventListener('pointerleave', () => { hideTip(); dot.setAttribute('opacity', 0); });
    root.append(dot, area);
    return root;
  });
}

// ---- timeline: a lane a core, a slice a task; or a lane a thread, which runs and waits ----

function timelineChart(container, data) {
  draw(container, (width) => {
    const lane = data.lanes.length > 24 ? 11 : 16, m = {left: 62, right: 8, top: 4};
    const height = m.top + data.lanes.length * lane + 36;
    const px = linear(data.from, data.to, m.left, width - m.right);
    const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': `${data.who} over time`});
    data.lanes.forEach((name, i) => {
      const y = m.top + i * lane;
      root.append(svg('rect', {x: m.left, y: y + 1, width: width - m.left - m.right, height: lane - 2, style: 'fill:var(--page)'}));
      if (lane > 12 || i % 2 === 0) root.append(svg('text', {x: m.left - 6, y: y + lane - 4, 'text-anchor': 'end', text: name}));
    });
    for (const s of data.slices) {
      const x = px(s.start), w = Math.max(0.7, px(s.start + s.length) - x - 0.4);
      const {name, colour} = data.kinds[s.kind];
      const bar = svg('rect', {x, y: m.top + s.lane * lane + 1, width: w, height: lane - 2, rx: w > 4 ? 1.5 : 0,
        style: `fill:${colour}`});
      root.append(explain(bar, data.names[s.name], [{name, colour},
        {name: 'from', value: `${number(s.start)} ${data.unit}`}, {name: 'for', value: `${number(s.length)} ${data.unit}`}]));
    }
    for (const a of data.arrows) {
      const y = (i) => m.top + i * lane + lane / 2, x = px(a.at), side = a.to > a.from ? -1 : 1;
      root.append(svg('path', {class: 'arrow', d: `M${x} ${y(a.from)}V${y(a.to)}m-2 ${3 * side}l2 ${-3 * side}l2 ${3 * side}`,
        fill: 'none', style: 'stroke:var(--ink)', 'stroke-width': 0.8, opacity: 0.6, 'pointer-events': 'none'}));
    }
    for (const v of niceTicks(data.from, data.to, width / 120)) {
      root.append(svg('text', {x: px(v), y: height - 20, 'text-anchor': 'middle', text: number(v)}));
    }
    root.append(svg('text', {x: (m.left + width) / 2, y: height - 3, 'text-anchor': 'middle', text: data.unit}));
    return root;
  });
}
