// Saves a chart as an SVG file of its own: colours, fonts and patterns of the page become attributes.
// SPDX-License-Identifier: MIT
'use strict';

const KEPT = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'opacity', 'font-family',
  'font-size', 'font-weight', 'text-anchor', 'paint-order'];

/// A copy of `node` that looks as it does, without the page's style sheet.
function styled(node) {
  const copy = node.cloneNode(false);
  if (node.nodeType !== Node.ELEMENT_NODE) return copy;
  const look = getComputedStyle(node);
  for (const name of ['class', 'style']) copy.removeAttribute(name);
  for (const name of KEPT) copy.setAttribute(name, look.getPropertyValue(name).replaceAll('"', '\''));
  for (const child of node.childNodes) {
    // Areas for the pointer are not seen.
    if (child.nodeType !== Node.ELEMENT_NODE || child.getAttribute('fill') !== 'transparent') copy.append(styled(child));
  }
  return copy;
}

/// The legend above a chart, or above the panels that it is one of.
function legendOf(root) {
  const place = root.closest('.multiples') ?? root.parentElement, before = place.previousElementSibling;
  return before && before.matches('.legend') ? [...before.children] : [];
}

/// The entries of a legend in rows of `width`, and the height that they take.
function drawnLegend(entries, width) {
  const group = svg('g'), line = 20;
  let x = 0, y = 0;
  for (const entry of entries) {
    const box = entry.getBoundingClientRect(), swatch = styled(entry.querySelector('svg')), text = svg('text');
    if (x > 0 && x + box.width > width) [x, y] = [0, y + line];
    for (const [name, value] of Object.entries({x, y: y + 3})) swatch.setAttribute(name, value);
    const look = getComputedStyle(entry);
    const shown = {x: x + Number(swatch.getAttribute('width')) + 6, y: y + 14, fill: look.color, 'font-family': look.fontFamily.replaceAll('"', '\''),
      'font-size': look.fontSize};
    for (const [name, value] of Object.entries(shown)) text.setAttribute(name, value);
    text.textContent = entry.textContent;
    group.append(swatch, text);
    x += box.width + 16;
  }
  return {group, height: entries.length ? y + line + 8 : 0};
}

/// The text of a file that needs nothing else: the chart below its legend, on the background of the page's cards.
function standalone(root) {
  const [, , width, tall] = root.getAttribute('viewBox').split(' ').map(Number);
  const above = drawnLegend(legendOf(root), width), height = tall + above.height;
  const chart = styled(root), copy = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img'});
  for (const [name, value] of Object.entries({y: above.height, width})) chart.setAttribute(name, value);
  copy.append(above.group, chart);
  const defs = svg('defs'), used = new Set();
  for (const node of copy.querySelectorAll('[fill*="#fill-"]')) {
    const [, id] = node.getAttribute('fill').match(/#(fill-\d+)/);
    node.setAttribute('fill', `url(#${id})`);
    used.add(id);
  }
  for (const id of used) defs.append(styled(document.getElementById(id)));
  const card = getComputedStyle(document.documentElement).getPropertyValue('--card').trim();
  copy.prepend(svg('title', {text: root.getAttribute('aria-label')}), defs, svg('rect', {width, height, fill: card}));
  return new XMLSerializer().serializeToString(copy);
}

/// The button below a chart. The file is named after what the chart shows.
function saveButton(root) {
  const name = root.getAttribute('aria-label') || 'chart';
  return html('button', {type: 'button', class: 'save', 'aria-label': `save as SVG: ${name}`, text: 'SVG', onclick: () => {
    const address = URL.createObjectURL(new Blob([standalone(root)], {type: 'image/svg+xml'}));
    html('a', {href: address, download: `${name.replace(/[^\w.=-]+/g, '-')}.svg`}).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }});
}
