// Panels of lines over anything that was varied: numbers or words, side by side, with one legend.
// A line is told by its mark and its dashes as by its colour: 16 of them before both repeat together.
// SPDX-License-Identifier: MIT
'use strict';

/// The scale of values: from 0, unless they span more than `kLogarithmic` times, which only a logarithmic one shows.
const kLogarithmic = 30;
function valueScale(lines) {
  const points = lines.flatMap((l) => l.points), values = points.map((p) => p.y);
  const most = Math.max(...values), least = Math.min(...values);
  const highest = Math.max(most, ...points.filter(hasInterval).map((p) => Math.min(p.high, most * 2)));
  if (least > 0 && most / least > kLogarithmic) {
    return {isLog: true, from: 2 ** Math.floor(Math.log2(least)), to: 2 ** Math.ceil(Math.log2(highest * 1.02))};
  }
  return {isLog: false, from: Math.min(0, least), to: highest * 1.08 || 1};
}

/// Every power of two, or of four and so on where there is no room.
function sparseTicks(from, to, most) {
  const all = powerTicks(from, to), step = Math.ceil(all.length / most);
  return all.filter((_, i) => i % step === 0);
}

/// One panel. `data` is {label, unit, lines: [{name, points: [{x, y, low, high, n, steady}]}]}, `axis` is {title, kind,
/// ticks: [{at, label}]}, `scale` that of values.
function linePanel(container, axis, data, scale) {
  draw(container, (width) => {
    const ticks = axis.ticks, isWords = axis.kind === 'words';
    const most = isWords ? 22 : 12, names = ticks.map((t) => shorter(t.label, most));
    const m = {left: 52, right: 12, top: 12}, room = (width - m.left - m.right) / ticks.length;
    const longest = Math.max(...names.map((n) => n.length)) * 6.8;
    const isTilted = longest > room && (isWords || axis.kind === 'linear' && ticks.length < 9);
    m.bottom = (isTilted ? 12 + longest * 0.62 : 20) + 22;
    const height = 190 + m.bottom;
    const from = ticks[0].at, to = ticks[ticks.length - 1].at;
    const along = isWords ? linear(-0.5, ticks.length - 0.5, m.left, width - m.right)
      : (axis.kind === 'linear' ? linear : log2)(from, to, m.left + 14, width - m.right - 14);
    const py = (scale.isLog ? log2 : linear)(scale.from, scale.to, height - m.bottom, m.top);
    const clamp = (v) => py(Math.min(scale.to, Math.max(scale.from, v)));
    // Marks over words stand beside each other.
    const count = data.lines.length, apart = isWords && count > 1 ? Math.min(12, room * 0.7 / count) : 0;
    const px = (x, i) => along(x) + (i - (count - 1) / 2) * apart;
    const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': data.label});
    for (const v of scale.isLog ? sparseTicks(scale.from, scale.to, 6) : niceTicks(scale.from, scale.to, 4)) {
      root.append(svg('line', {class: 'grid', x1: m.left, x2: width - m.right, y1: py(v), y2: py(v)}),
        svg('text', {x: m.left - 6, y: py(v) + 4, 'text-anchor': 'end', text: number(v) + (data.suffix ?? '')}));
    }
    if (data.baseline != null) {
      root.append(svg('line', {class: 'axis', x1: m.left, x2: width - m.right, y1: clamp(data.baseline), y2: clamp(data.baseline),
        'stroke-dasharray': '3 4'}));
    }
    let last = -99;
    ticks.forEach((t, k) => {
      const x = along(t.at), wide = names[k].length * 6.8;
      root.append(svg('line', {class: 'axis', x1: x, x2: x, y1: height - m.bottom, y2: height - m.bottom + 4}));
      if (!isTilted && x - wide / 2 < last + 4) return;
      last = x + wide / 2;
      const y = height - m.bottom + (isTilted ? 14 : 18), turn = isTilted ? {transform: `rotate(-38 ${x} ${y})`} : {};
      root.append(svg('text', {x: isTilted ? x + 4 : x, y, 'text-anchor': isTilted ? 'end' : 'middle', text: names[k], ...turn},
        ...(names[k] === t.label ? [] : [svg('title', {text: t.label})])));
    });
    root.append(svg('text', {x: (m.left + width - m.right) / 2, y: height - 4, 'text-anchor': 'middle', text: axis.title}));
    data.lines.forEach((line, i) => panelLine(root, line, i, {px: (x) => px(x, i), py: clamp, isWords}));
    hoverValues(root, axis, data, along, {m, width, height});
    return root;
  });
}

function panelLine(root, line, i, {px, py, isWords}) {
  const {colour, dashes} = look(i);
  const d = line.points.map((p, k) => `${k ? 'L' : 'M'}${px(p.x)} ${py(p.y)}`).join('');
  // There is nothing between two words that a line could mean.
  if (!isWords) {
    root.append(svg('path', {d, class: 'line', fill: 'none', style: `stroke:${colour}`, 'stroke-width': 2, 'stroke-linejoin': 'round',
      'stroke-dasharray': dashes}));
  }
  for (const p of line.points) {
    const x = px(p.x);
    if (hasInterval(p)) {
      const a = py(p.low), b = py(p.high);
      root.append(svg('path', {class: 'whisker', d: `M${x - 4} ${a}h8M${x} ${a}V${b}M${x - 4} ${b}h8`, fill: 'none', style: `stroke:${colour}`}));
    }
    root.append(markOf(i, x, py(p.y)));
  }
}

function hoverValues(root, axis, data, along, {m, width, height}) {
  const area = svg('rect', {x: m.left, y: m.top, width: width - m.left - m.right, height: height - m.top - m.bottom, fill: 'transparent'});
  const shown = (v) => number(v) + (data.suffix ?? '');
  area.addEventListener('pointermove', (e) => {
    const x = e.clientX - root.getBoundingClientRect().left;
    const tick = axis.ticks.reduce((a, b) => Math.abs(along(b.at) - x) < Math.abs(along(a.at) - x) ? b : a);
    const rows = data.lines.flatMap((line, i) => line.points.filter((p) => p.x === tick.at).map((p) => ({
      name: line.name, colour: look(i).colour,
      value: shown(p.y) + (p.steady ? ', the seed had no effect'
        : hasInterval(p) ? ` (${shown(p.low)} to ${shown(p.high)}, ${p.n} seeds)` : ''),
    })));
    showTip(e, `${axis.title}: ${tick.label}; ${data.unit}`, rows);
  });
  area.addEventListener('pointerleave', hideTip);
  root.append(area);
}

/// The card `id`: its legend and its panels over the chosen axis. Panels share a scale where the entry says so.
function showPanels(id, {axis, panels, shared}) {
  const names = [...new Set(panels.flatMap((p) => p.lines.map((l) => l.name)))];
  at(`${id}-legend`).replaceChildren(...(names.length > 1 ? lineLegend(names) : []));
  const grid = at(`${id}-panels`);
  for (const old of grid.querySelectorAll('.chart')) {
    watcher.unobserve(old);
    drawn.delete(old);
  }
  grid.replaceChildren();
  const all = panels.flatMap((p) => p.lines);
  for (const panel of panels) {
    const lines = names.map((name) => panel.lines.find((l) => l.name === name) ?? {name, points: []});
    const box = html('div', {class: 'chart'});
    grid.append(html('div', {}, html('h3', {text: panel.title}), html('p', {class: 'explain', text: panel.unit}), box));
    linePanel(box, axis, {...panel, lines}, valueScale(shared ? all : panel.lines));
  }
}
