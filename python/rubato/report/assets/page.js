// Puts the charts into the page and wires its switches.
// SPDX-License-Identifier: MIT
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
document.body.append(tip);
definePatterns();
const at = (id) => document.getElementById(id);

/// A row of buttons of which one is pressed: `kind` names the attribute that carries the workload's number.
function switches(kind, option, apply) {
  for (const button of document.querySelectorAll(`button[data-${kind}]`)) {
    button.addEventListener('click', () => {
      for (const other of button.parentNode.children) other.setAttribute('aria-pressed', other === button);
      apply(Number(button.dataset[kind]), Boolean(button.dataset[option]));
    });
  }
}

const used = (chart) => chart.parts.filter((p) => chart.groups.some((g) => g.rows.some((r) => r.fractions[p.key] > 0)));

function showModes({time, traffic}) {
  at('modes-time-legend').replaceChildren(...legend(used(time)).children);
  stackedBars(at('modes-time-chart'), time, true);
  if (!at('modes-traffic')) return;
  at('modes-traffic').hidden = !traffic.groups.length;
  if (!traffic.groups.length) return;
  at('modes-traffic-legend').replaceChildren(...legend(used(traffic)).children);
  stackedBars(at('modes-traffic-chart'), traffic, true);
}

function showWorkload(workload, i) {
  if (at(`speedup-chart-${i}`)) {
    at(`speedup-legend-${i}`).replaceChildren(...lineLegend(workload.speedup.series.map((s) => s.name)));
    speedupChart(at(`speedup-chart-${i}`), workload.speedup, false);
  }
  if (workload.cycles) {  // of a simulated chip
    at(`cycles-legend-${i}`).replaceChildren(...legend(used(workload.cycles)).children);
    stackedBars(at(`cycles-chart-${i}`), workload.cycles, false);
  }
  if (at(`traffic-chart-${i}`)) {
    at(`traffic-legend-${i}`).replaceChildren(...legend(used(workload.traffic)).children);
    stackedBars(at(`traffic-chart-${i}`), workload.traffic, false);
  }
  if (workload.energy) {
    at(`energy-legend-${i}`).replaceChildren(...legend(used(workload.energy)).children);
    stackedBars(at(`energy-chart-${i}`), workload.energy, false);
  }
  if (workload.aborts) {
    at(`aborts-legend-${i}`).replaceChildren(...legend(used(workload.aborts)).children);
    stackedBars(at(`aborts-chart-${i}`), workload.aborts, false);
  }
  const select = at(`parts-class-${i}`);
  if (!select) return;
  const named = {busy: 'all busy cycles', ...data.class_names};
  for (const name of ['busy', ...Object.keys(data.class_names)]) {
    if (workload.parts.classes[name]) select.append(html('option', {value: name, text: named[name]}));
  }
  const show = () => {
    const chart = {...workload.parts, groups: workload.parts.classes[select.value]};
    at(`parts-legend-${i}`).replaceChildren(...legend(used(chart)).children);
    stackedBars(at(`parts-chart-${i}`), chart, false);
  };
  select.addEventListener('change', show);
  show();
}

if (data.modes.length) {
  at('modes-cores').addEventListener('change', () => showModes(data.modes[at('modes-cores').value]));
  showModes(data.modes[0]);
}
data.workloads.forEach(showWorkload);
for (const [id, axes] of Object.entries(data.panels)) {
  const select = at(`${id}-axis`);
  if (select) select.addEventListener('change', () => showPanels(id, axes[select.value]));
  showPanels(id, axes[0]);
}
for (const [id, bars] of Object.entries(data.bars)) showBars(`${id}-bars`, bars);
const speedups = data.workloads.map(({speedup}) => ({chart: speedup, isLinear: false}));
const showSpeedup = (i) => speedupChart(at(`speedup-chart-${i}`), speedups[i].chart, speedups[i].isLinear);
switches('speedup', 'linear', (i, isLinear) => { speedups[i].isLinear = isLinear; showSpeedup(i); });
switches('base', 'serial', (i, isSerial) => {
  const {speedup} = data.workloads[i];
  speedups[i].chart = isSerial ? speedup.serial : speedup;
  showSpeedup(i);
});
switches('cycles', 'relative', (i, relative) => stackedBars(at(`cycles-chart-${i}`), data.workloads[i].cycles, relative));
switches('traffic', 'relative', (i, relative) => stackedBars(at(`traffic-chart-${i}`), data.workloads[i].traffic, relative));
switches('energy', 'relative', (i, relative) => stackedBars(at(`energy-chart-${i}`), data.workloads[i].energy, relative));
switches('aborts', 'relative', (i, relative) => stackedBars(at(`aborts-chart-${i}`), data.workloads[i].aborts, relative));

// ---- inside one run ----

function chartUnder(body, heading, text, className = 'chart', attributes = {}) {
  body.append(html('h3', {text: heading}));
  if (text) body.append(html('p', {class: 'explain', text}));
  const box = html('div', {class: className, ...attributes});
  body.append(box);
  return box;
}

function showInside(run) {
  const body = at('inside-body');
  for (const old of body.querySelectorAll('.chart')) {
    watcher.unobserve(old);
    drawn.delete(old);
  }
  body.replaceChildren();
  if (run.mesh) {
    meshChart(chartUnder(body, 'Load of the mesh', 'Squares are tiles, filled as far as their cores were busy. Between ' +
      'neighbours there is a link in each direction: the stronger its colour, the more of the time it was carrying something.'), run.mesh);
  }
  if (run.functions.length) functionTable(body, run.functions);
  if (run.conflicts) conflictTables(body, run.conflicts);
  multiples(body, run.histograms, 'Queues and delays', 'How often each value was seen, over all tiles; buckets double in width.',
    (box, h) => histogramChart(box, h), (h) => `mean ${number(h.mean)} ${h.unit}`);
  multiples(body, run.series, 'Over time', 'Sampled every interval of simulated time; of very many samples, means of several.',
    (box, s) => seriesChart(box, s), (s) => s.unit);
  if (run.timeline) showTimeline(body, run.timeline);
  if (!body.children.length) body.append(html('p', {class: 'explain', text: 'This run recorded no more than its totals.'}));
}

function multiples(body, entries, heading, text, render, note) {
  if (!entries.length) return;
  const grid = chartUnder(body, heading, text, 'multiples');
  for (const entry of entries) {
    const box = html('div', {class: 'chart'});
    grid.append(html('div', {}, html('p', {class: 'explain'}, html('code', {text: entry.name}), html('br'),
      [entry.description.replace(/\.$/, ''), note(entry)].filter(Boolean).join('; ')), box));
    render(box, entry);
  }
}

function functionTable(body, rows) {
  const parts = Object.keys(data.part_names).filter((p) => rows.some((r) => r.parts[p]));
  const classes = Object.keys(data.class_names).filter((c) => rows.some((r) => r.classes[c]));
  const busy = rows.reduce((sum, r) => sum + Object.values(r.parts).reduce((a, b) => a + b, 0), 0) || 1;
  const names = new Map();
  for (const r of rows) names.set(r.short, (names.get(r.short) || 0) + 1);
  const cell = (name, text) => html(name, {class: 'n', text});
  const head = html('tr', {}, html('th', {text: 'function'}), cell('th', 'share of work'),
    ...classes.map((c) => cell('th', data.class_names[c])), ...parts.map((p) => cell('th', `in ${data.part_names[p]}`)));
  const lines = rows.map((r) => {
    const work = Object.values(r.parts).reduce((a, b) => a + b, 0);
    return html('tr', {}, html('td', {class: 'wrap'}, html('code', {text: names.get(r.short) > 1 ? r.function : r.short, title: r.function})), cell('td', percent(work / busy)),
      ...classes.map((c) => cell('td', number(r.classes[c] ?? 0))), ...parts.map((p) => cell('td', number(r.parts[p]))));
  });
  chartUnder(body, 'Task functions', 'Core cycles by what the cores worked for: each function by class, then all its work by ' +
    'the part of the machine it waited for.', 'scroll', {tabindex: 0})
    .append(html('table', {}, html('thead', {}, head), html('tbody', {}, ...lines)));
}

function conflictTables(body, conflicts) {
  const box = chartUnder(body, 'Who aborts whom, and where', 'Aborted attempts by task function, by what aborted them and by ' +
    `cause; below, of ${number(conflicts.line_count)} lines of memory in which attempts met, those that cost most core cycles.`, '');
  const numbers = ['aborts', 'lost_cycles'];
  const tableOf = (columns, rows) => html('div', {class: 'scroll', tabindex: 0}, html('table', {},
    html('thead', {}, html('tr', {}, ...Object.entries(columns).map(([key, name]) => html('th', numbers.includes(key) ? {class: 'n', text: name} : {text: name})))),
    html('tbody', {}, ...rows.map((r) => html('tr', {}, ...Object.keys(columns).map((key) =>
      numbers.includes(key) ? html('td', {class: 'n', text: r[key].toLocaleString('en')})
        : html('td', key === 'symbol' ? {class: 'wrap', text: r[key]} : {text: r[key]})))))));
  const shared = {victim: 'aborted', by: 'by'}, cost = {aborts: 'aborts', lost_cycles: 'lost cycles'};
  box.append(tableOf({...shared, cause: 'cause', ...cost}, conflicts.functions));
  const {lines} = conflicts, first = 12, named = lines.some((l) => l.symbol) ? {symbol: 'symbol'} : {};
  const columns = {line: 'line', ...named, ...shared, ...cost};
  if (lines.length) box.append(tableOf(columns, lines.slice(0, first)));
  if (lines.length > first) box.append(html('details', {}, html('summary', {text: `${lines.length - first} more`}), tableOf(columns, lines.slice(first))));
}

function showTimeline(body, timeline) {
  const classes = Object.fromEntries(Object.entries(data.class_names).map(([k, name]) => [k, {name, colour: k}]));
  timeline.kinds = Object.fromEntries(Object.entries(timeline.kinds || classes)
    .filter(([kind]) => timeline.slices.some((s) => s.kind === kind))
    .map(([kind, {name, colour}]) => [kind, {name, colour: `var(--${colour})`}]));
  const what = timeline.who === 'threads' ? 'Threads on cores, and their waits; a line goes from the thread that ended a wait'
    : `Tasks on the first ${timeline.who}`;
  const box = chartUnder(body, 'A piece of the timeline', `${what}, from the middle of the trace; ` +
    `the whole of it is in ${timeline.file} of the run directory and opens in ui.perfetto.dev.`);
  box.before(legend(Object.values(timeline.kinds)));
  timelineChart(box, timeline);
}

for (const [name, chart] of Object.entries(data.threads)) {
  at(`${name}-legend`).replaceChildren(...legend(used(chart)).children);
  stackedBars(at(`${name}-chart`), chart, true);
}

const picker = at('inside-run');
if (picker) {
  data.inside.forEach((run, i) => picker.append(html('option', {value: i, text: run.label})));
  picker.addEventListener('change', () => showInside(data.inside[picker.value]));
  if (data.inside.length) showInside(data.inside[0]);
}

// ---- flame graphs ----

/// A click makes a frame as wide as the page: what is beside it and its callers goes away.
for (const box of document.querySelectorAll('.flame .box')) {
  box.addEventListener('click', () => {
    const graph = box.closest('.flame');
    for (const node of graph.querySelectorAll('.away')) node.classList.remove('away');
    for (let node = box.parentElement; node !== graph; node = node.parentElement) {
      for (const other of node.parentElement.children) {
        if (other !== node && !other.matches('.box, .inner')) other.classList.add('away');
      }
    }
  });
}

// ---- folds ----

/// A link to what is folded unfolds it.
function unfold() {
  const target = location.hash && at(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target && target.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
  if (target) target.scrollIntoView();
}
addEventListener('hashchange', unfold);
unfold();

// ---- theme ----

at('theme').addEventListener('click', () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
});

addEventListener('scroll', hideTip, {passive: true});
document.documentElement.dataset.ready = 'yes';
