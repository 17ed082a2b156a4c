// SPDX-License-Identifier: MIT
// Timestamps are 2 * time for changes of pins and 2 * time + 1 for evaluations, which so see all changes of
// their time. A flip-flop is a gate whose evaluation waits for the clock edge: its timestamp is just below
// that of changes at the edge's time. A gate is one cache line and one locale: a task writes only its own
// gate's line (and row of samples), whatever its type.
#include "apps/des/des_tasks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "apps/common/task_type.hpp"

namespace rubato::apps {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::uint32_t kNoSamples = ~std::uint32_t{0};
constexpr std::uint32_t kLogs = 256;  // as many as the largest chip has cores

struct alignas(kLineBytes) Gate {
  tracked<std::uint64_t> pins = 0;
  tracked<std::uint64_t> evaluation = 0;  // timestamp of the last evaluation created; 0: none
  tracked<std::uint64_t> waveform = 0;
  tracked<std::uint32_t> pin_events = 0;
  tracked<std::uint32_t> toggles = 0;
  tracked<std::uint8_t> value = 0;  // as evaluated: the net shows it one delay later
  GateKind kind = GateKind::input;
  std::uint16_t fan_in = 0;
  std::uint32_t delay = 0;
  std::uint32_t first_sink = 0;
  std::uint32_t sink_count = 0;
  std::uint32_t sample_row = kNoSamples;
};
static_assert(sizeof(Gate) == kLineBytes);

/// A pin that a net drives.
struct Sink {
  std::uint32_t gate;
  std::uint32_t pin;
};

struct LogEntry {
  tracked<std::uint64_t> time_and_value = 0;  // 2 * time + value
  tracked<std::uint32_t> net = 0;
};

struct alignas(kLineBytes) Log {
  tracked<std::uint64_t> used = 0;
  std::uint64_t capacity = 0;
  LogEntry* entries = nullptr;
};

/// A pin that will take a value: the event of a change.
struct PinEvent {
  Gate* gate;
  std::uint32_t pin;
  std::uint32_t value;
};

/// Values of an output after the vectors: 0 no change since the vector before, 2 settled 0, 3 settled 1.
struct alignas(kLineBytes) SampleLine {
  tracked<std::uint8_t> samples[kLineBytes];
};

// The circuit, as the tasks see it. Inside run() only gates, logs and samples change.
Gate* gates = nullptr;
std::uint32_t gate_count = 0;
const Sink* sinks = nullptr;
const std::uint64_t* input_changes =
    nullptr;  // times at which an input changes, input after input, each 0-ended
SampleLine* sample_lines = nullptr;
std::uint32_t lines_per_row = 0;
std::uint64_t vector_period = 1;
std::uint64_t last_edge = 0;  // of the clock
LogTasks log_tasks = LogTasks::none;
bool on_heap = false;  // events are
Log* logs = nullptr;

Locale locale_of(const Gate* gate) { return static_cast<std::uint64_t>(gate - gates); }

std::uint64_t edge_timestamp(std::uint64_t time) { return 2 * time - 1; }

// When a gate whose pin changes is evaluated.

/// Circuits without flip-flops: at the pins' time.
struct Combinational {
  static std::uint64_t evaluation_after(const Gate*, std::uint64_t change) { return change + 1; }
};

/// Circuits with flip-flops, each of which waits for the next clock edge. After the last edge there is no
/// further evaluation: it is the one created before.
struct Clocked {
  static std::uint64_t evaluation_after(const Gate* gate, std::uint64_t change) {
    if (gate->kind != GateKind::dff) return change + 1;
    const std::uint64_t edge = (change / 2 / vector_period + 1) * vector_period;
    return edge <= last_edge ? edge_timestamp(edge) : gate->evaluation.get();
  }
};

void append(Log* log, std::uint32_t net, std::uint64_t time_and_value) {
  const std::uint64_t index = log->used;
  log->used = index + 1;
  if (index >= log->capacity) return;
  log->entries[index].time_and_value = time_and_value;
  log->entries[index].net = net;
}

/// Each log is a locale, numbered after the gates.
void create_log_task(std::uint32_t net, std::uint64_t time_and_value) {
  const std::uint32_t index = net % kLogs;
  const Locale locale = std::uint64_t{gate_count} + index;
  if (log_tasks == LogTasks::spec) {
    create<spec>(append, {.at = timestamp()}, logs + index, net, time_and_value);
  } else if (log_tasks == LogTasks::spec_at_log) {
    create<spec>(append, {.at = timestamp(), .on = locale}, logs + index, net, time_and_value);
  } else {
    create<nonspec>(append, {.on = locale}, logs + index, net, time_and_value);
  }
}

template <TaskType type, class Clock>
void evaluate(Gate* gate);

/// A pin takes a value. The first one of a time has the gate evaluated.
template <TaskType type, class Clock>
void change_pin(Gate* gate, std::uint32_t pin, std::uint32_t value) {
  const std::uint64_t next = Clock::evaluation_after(gate, timestamp());
  const std::uint64_t bit = std::uint64_t{1} << pin;
  gate->pin_events += 1;
  gate->pins = value != 0 ? gate->pins | bit : gate->pins & ~bit;
  if (gate->evaluation == next) return;
  gate->evaluation = next;
  create<type>(evaluate<type, Clock>, {.at = next, .on = locale_of(gate)}, gate);
}

template <TaskType type, class Clock>
void apply(PinEvent* event) {
  change_pin<type, Clock>(event->gate, event->pin, event->value);
  std::free(event);
}

template <TaskType type, class Clock>
void create_change(Gate* gate, std::uint32_t pin, std::uint64_t at, std::uint32_t value) {
  if (!on_heap)
    return create<type>(change_pin<type, Clock>, {.at = at, .on = locale_of(gate)}, gate, pin, value);
  auto* const event = static_cast<PinEvent*>(std::malloc(sizeof(PinEvent)));
  *event = {gate, pin, value};
  create<type>(apply<type, Clock>, {.at = at, .on = locale_of(gate)}, event);
}

template <TaskType type, class Clock>
void create_changes(const Sink* first, const Sink* last, std::uint64_t when, std::uint32_t value) {
  create_all<type>(
      first, last,
      [](const Sink* sink, std::uint64_t at, std::uint32_t v) {
        create_change<type, Clock>(gates + sink->gate, sink->pin, at, v);
      },
      when, value);
}

/// The gate's net will show `value` from `time` on. `others`: children that the task creates besides.
template <TaskType type, class Clock>
void drive(Gate* gate, std::uint64_t time, bool value, std::uint32_t others) {
  gate->toggles += 1;
  gate->waveform = next_waveform(gate->waveform, time, value);
  if (gate->sample_row != kNoSamples) {
    const std::uint64_t vector = time / vector_period - 1;
    SampleLine& line = sample_lines[std::uint64_t{gate->sample_row} * lines_per_row + vector / kLineBytes];
    line.samples[vector % kLineBytes] = static_cast<std::uint8_t>(value ? 3 : 2);
  }
  const std::uint64_t bit = value ? 1 : 0;
  if (log_tasks != LogTasks::none) {
    create_log_task(static_cast<std::uint32_t>(gate - gates), time << 1 | bit);
    ++others;
  }
  const Sink* const first = sinks + gate->first_sink;
  const Sink* const last = first + gate->sink_count;
  if (gate->sink_count + others <= static_cast<std::uint32_t>(kMaxTrackedChildren)) {
    create_changes<type, Clock>(first, last, time << 1, static_cast<std::uint32_t>(bit));
  } else {
    create<type>(create_changes<type, Clock>, {.at = timestamp()}, first, last, time << 1,
                 static_cast<std::uint32_t>(bit));
  }
}

template <TaskType type, class Clock>
void evaluate(Gate* gate) {
  const bool value = gate_value(gate->kind, gate->pins, gate->fan_in);
  if (value == (gate->value != 0)) return;
  gate->value = static_cast<std::uint8_t>(value ? 1 : 0);
  drive<type, Clock>(gate, timestamp() / 2 + gate->delay, value, 0);
}

/// A primary input changes now, and then at the times that follow `change`.
template <TaskType type, class Clock>
void change_input(Gate* gate, const std::uint64_t* change) {
  const bool value = gate->value == 0;
  gate->value = static_cast<std::uint8_t>(value ? 1 : 0);
  const std::uint64_t next = change[1];
  if (next != 0) {
    create<type>(change_input<type, Clock>, {.at = next << 1, .on = locale_of(gate)}, gate, change + 1);
  }
  drive<type, Clock>(gate, change[0], value, next != 0 ? 1 : 0);
}

template <TaskType type, class Clock>
void run_tasks(const Circuit& circuit, const std::vector<std::size_t>& first_change) {
  for (std::size_t i = 0; i < circuit.inputs.size(); ++i) {
    const std::uint64_t* const change = input_changes + first_change[i];
    Gate* const gate = gates + circuit.inputs[i];
    if (*change == 0) continue;
    create<type>(change_input<type, Clock>, {.at = *change << 1, .on = locale_of(gate)}, gate, change);
  }
  // Flip-flops that the first edge changes even if their D pin does not change before.
  for (const std::uint32_t f : circuit.flip_flops) {
    Gate* const gate = gates + f;
    const std::uint64_t edge = gate->evaluation;
    if (edge != 0) create<type>(evaluate<type, Clock>, {.at = edge, .on = locale_of(gate)}, gate);
  }
  run();
}

std::vector<Gate> make_gates(const Circuit& circuit, const Stimulus& stimulus, std::vector<Sink>& all_sinks) {
  std::vector<Gate> made(circuit.gates());
  const auto settled = settle_initially(circuit);
  std::vector<std::vector<Sink>> by_net(circuit.gates());
  for (std::uint32_t g = 0; g < circuit.gates(); ++g) {
    std::uint64_t word = 0;
    for (std::uint32_t p = 0; p < circuit.pins[g].size(); ++p) {
      const std::uint32_t net = circuit.pins[g][p];
      word |= std::uint64_t{settled[net]} << p;
      by_net[net].push_back({g, p});
    }
    made[g].pins = word;
    made[g].value = settled[g];
    made[g].kind = circuit.kinds[g];
    made[g].fan_in = static_cast<std::uint16_t>(circuit.pins[g].size());
    made[g].delay = circuit.delays[g];
  }
  for (std::uint32_t g = 0; g < circuit.gates(); ++g) {
    made[g].first_sink = static_cast<std::uint32_t>(all_sinks.size());
    made[g].sink_count = static_cast<std::uint32_t>(by_net[g].size());
    all_sinks.insert(all_sinks.end(), by_net[g].begin(), by_net[g].end());
  }
  for (std::uint32_t row = 0; row < circuit.outputs.size(); ++row)
    made[circuit.outputs[row]].sample_row = row;
  for (const std::uint32_t f : circuit.flip_flops) {
    made[f].delay += 1;  // evaluated one unit of time before the edge
    if (stimulus.has_edges() && settled[circuit.pins[f].front()] != settled[f])
      made[f].evaluation = edge_timestamp(stimulus.vector_time(1));
  }
  return made;
}

std::vector<std::vector<std::uint8_t>> read_samples(const Circuit& circuit, std::size_t vectors) {
  std::vector<std::uint8_t> current;
  const auto before = settle_initially(circuit);
  for (const std::uint32_t net : circuit.outputs) current.push_back(before[net]);
  std::vector<std::vector<std::uint8_t>> settled;
  for (std::size_t k = 0; k < vectors; ++k) {
    for (std::size_t row = 0; row < current.size(); ++row) {
      const SampleLine& line = sample_lines[row * lines_per_row + k / kLineBytes];
      const std::uint8_t sample = line.samples[k % kLineBytes];
      if (sample != 0) current[row] = sample & 1;
    }
    settled.push_back(current);
  }
  return settled;
}

}  // namespace

SimulationResult simulate(const Circuit& circuit, const Stimulus& stimulus, TaskType type, LogTasks log,
                          Events events, const SimulationResult* expected) {
  std::vector<Sink> all_sinks;
  std::vector<Gate> all_gates = make_gates(circuit, stimulus, all_sinks);
  std::vector<std::uint64_t> changes;
  std::vector<std::size_t> first_change;
  for (std::size_t i = 0; i < circuit.inputs.size(); ++i) {
    first_change.push_back(changes.size());
    std::uint8_t driven = 0;
    for (std::size_t k = 0; k < stimulus.vectors.size(); ++k) {
      if (stimulus.vectors[k][i] == driven) continue;
      driven ^= 1;
      changes.push_back(stimulus.vector_time(k));
    }
    changes.push_back(0);
  }
  lines_per_row = static_cast<std::uint32_t>((stimulus.vectors.size() + kLineBytes - 1) / kLineBytes);
  std::vector<SampleLine> all_samples(circuit.outputs.size() * lines_per_row);
  std::vector<Log> all_logs(log == LogTasks::none ? 0 : kLogs);
  std::vector<std::vector<LogEntry>> entries(all_logs.size());
  for (std::uint32_t g = 0; g < circuit.gates() && log != LogTasks::none; ++g) {
    all_logs[g % kLogs].capacity += expected->toggles[g];
  }
  for (std::size_t l = 0; l < all_logs.size(); ++l) {
    entries[l].resize(all_logs[l].capacity);
    all_logs[l].entries = entries[l].data();
  }
  gates = all_gates.data();
  gate_count = circuit.gates();
  sinks = all_sinks.data();
  input_changes = changes.data();
  sample_lines = all_samples.data();
  vector_period = stimulus.period;
  last_edge = stimulus.has_edges() ? stimulus.last_time() : 0;
  log_tasks = log;
  on_heap = events == Events::heap;
  logs = all_logs.data();

  with_type(type, [&]<TaskType chosen> {
    if (circuit.flip_flops.empty()) {
      run_tasks<chosen, Combinational>(circuit, first_change);
    } else {
      run_tasks<chosen, Clocked>(circuit, first_change);
    }
  });

  SimulationResult result;
  for (const Gate& gate : all_gates) {
    result.pin_events += gate.pin_events;
    result.toggles.push_back(gate.toggles);
    result.waveforms.push_back(gate.waveform);
    result.values.push_back(gate.value);
  }
  result.settled = read_samples(circuit, stimulus.vectors.size());
  for (const Log& l : all_logs) {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(l.used, l.capacity); ++i) {
      const std::uint64_t word = l.entries[i].time_and_value;
      result.log.push_back({word >> 1, l.entries[i].net, static_cast<std::uint32_t>(word & 1)});
    }
  }
  std::sort(result.log.begin(), result.log.end(), [](const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time : a.net < b.net;
  });
  return result;
}

}  // namespace rubato::apps
