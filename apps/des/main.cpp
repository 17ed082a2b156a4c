// SPDX-License-Identifier: MIT
// des: options, input, checks. `des --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or input.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "apps/common/input_error.hpp"
#include "apps/common/options.hpp"
#include "apps/common/output_file.hpp"
#include "apps/common/thread_options.hpp"
#include "apps/des/bench_reader.hpp"
#include "apps/des/circuit.hpp"
#include "apps/des/des_tasks.hpp"
#include "apps/des/des_threads.hpp"
#include "apps/des/generated.hpp"
#include "apps/des/simulation.hpp"
#include "apps/des/vcd.hpp"

namespace rubato::apps {
namespace {

struct Options {
  std::string netlist;
  std::string generate;
  InitialState initial_state = InitialState::zeros;
  std::uint32_t vectors = 10;
  std::uint64_t seed = 1;
  std::uint64_t period = 0;
  unsigned delay_variation = 25;
  bool unit_delays = false;
  Resolution resolution = Resolution::ps;
  Events events = Events::arguments;
  TaskOptions tasks;
  bool has_log = false;
  LogTasks log_type = LogTasks::nonspec;
  std::string vcd;
  ThreadOptions threads;
};

void declare(CommandLine& line, Options& o) {
  const auto file = line.add_option("--netlist", o.netlist,
                                    "Circuit to read: an ISCAS-85 or ISCAS-89 .bench file, plain or gzip")
                        .type_name("FILE");
  line.add_option("--generate", o.generate,
                  "Circuit to make instead: csa:WIDTH, a carry-save array multiplier (default csa:8), "
                  "counter:WIDTH, or lfsr:WIDTH, a linear feedback shift register")
      .excludes(file)
      .type_name("WHAT");
  line.add_choice<InitialState>(
          "--initial-state", o.initial_state,
          {{"0", InitialState::zeros}, {"1", InitialState::ones}, {"random", InitialState::random}},
          "Flip-flops of a netlist before the first vector (default 0); DFF0 and DFF1 have their own")
      .needs(file);
  add_number(
      line, "--vectors", o.vectors, 0, UINT32_MAX,
      "How many random input vectors are put on, one a period (default 10); flip-flops are clocked with "
      "each but the first");
  line.add_option("--seed", o.seed, "Seed of the vectors and of the delays' variation (default 1)")
      .check(whole_number)
      .type_name("N");
  line.add_option("--period", o.period,
                  "Time from one vector to the next (default, and least: the critical path and 1)")
      .check(whole_number)
      .type_name("N");
  line.add_option("--delay-variation", o.delay_variation,
                  "Percent by which a gate's delay differs from its type's, at most (0 to 90, default 25)")
      .check(whole_number)
      .range(0, 90)
      .type_name("PERCENT");
  const auto unit = line.add_flag("--unit-delays", o.unit_delays, "Every gate has delay 1 instead");
  line.add_choice<Resolution>(
          "--resolution", o.resolution, {{"ps", Resolution::ps}, {"fs", Resolution::fs}},
          "Unit of times: picoseconds (default), or femtoseconds, in which hardly two events "
          "have the same time")
      .excludes(unit);
  line.add_choice<Events>(
      "--events", o.events, {{"arguments", Events::arguments}, {"heap", Events::heap}},
      "Where an event's record is: in its task's arguments (default), or in a block that its "
      "creator allocates and its task frees");
  add_task_type(line, o.tasks.type, "Type of the tasks that simulate (default mayspec)");
  line.add_flag("--log", o.has_log, "Log every change of a net, each by a task of its own");
  line.add_choice<LogTasks>(
          "--log-type", o.log_type,
          {{"nonspec", LogTasks::nonspec}, {"spec", LogTasks::spec}, {"spec-at-log", LogTasks::spec_at_log}},
          "Logging tasks: without timestamp and speculation (default), or speculative and in order, "
          "anywhere or at the log's tile; implies --log")
      .marks(o.has_log);
  line.add_option("--vcd", o.vcd, "Write the waveforms as a VCD, for GTKWave; implies --log")
      .marks(o.has_log)
      .type_name("FILE");
  add_verify_and_serial(
      line, o.tasks,
      {.verify =
           "Compare outputs with the settled values of every vector (of a generated circuit also with its "
           "product, count or state), and all waveforms with a serial simulation; exit 1 if anything differs",
       .serial = "Run only the serial simulation, no tasks, for comparison"});
  add_thread_options(line, o.threads);
  line.footer(
      "Examples:\n"
      "  des --generate csa:16 --vectors 20 --verify\n"
      "  des --netlist c6288.bench --type spec --vcd c6288.vcd\n"
      "  des --netlist s27.bench --initial-state random --vectors 100 --verify\n"
      "Prints the number of pin changes and of net changes, and a checksum of all waveforms.");
}

/// The settled outputs of every vector, against one levelized pass each.
bool check_settled(const Circuit& circuit, const Stimulus& stimulus, const SimulationResult& result) {
  std::vector<std::uint8_t> state = circuit.initial_state;
  for (std::size_t k = 0; k < stimulus.vectors.size(); ++k) {
    const auto values = settle(circuit, stimulus.vectors[k], state);
    state = next_state(circuit, values);
    for (std::size_t o = 0; o < circuit.outputs.size(); ++o) {
      const std::uint32_t net = circuit.outputs[o];
      if (result.settled[k][o] == values[net]) continue;
      std::printf("vector %zu: output %s settled at %u, but %u was expected\n", k + 1,
                  circuit.names[net].c_str(), result.settled[k][o], values[net]);
      return false;
    }
    if (k + 1 < stimulus.vectors.size()) continue;
    for (std::uint32_t g = 0; g < circuit.gates(); ++g) {
      if (result.values[g] == values[g]) continue;
      std::printf("net %s ends at %u, but %u was expected\n", circuit.names[g].c_str(), result.values[g],
                  values[g]);
      return false;
    }
  }
  return true;
}

/// The same against what a generated circuit must compute; one that was read has no such answers.
bool check_known(const GeneratedCircuit& made, const Stimulus& stimulus, const SimulationResult& result) {
  if (made.known == nullptr) return true;
  const KnownOutputs known = made.known(made.circuit, stimulus);
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (result.settled[k] == known[k]) continue;
    std::printf("vector %zu: the outputs are not %s\n", k + 1, made.meaning);
    return false;
  }
  return true;
}

bool check_waveforms(const Circuit& circuit, const SimulationResult& result,
                     const SimulationResult& expected) {
  for (std::uint32_t g = 0; g < circuit.gates(); ++g) {
    if (result.toggles[g] == expected.toggles[g] && result.waveforms[g] == expected.waveforms[g]) continue;
    std::printf("net %s: %" PRIu32 " changes, waveform %016" PRIx64 ", but %" PRIu32 " and %016" PRIx64
                " were expected\n",
                circuit.names[g].c_str(), result.toggles[g], result.waveforms[g], expected.toggles[g],
                expected.waveforms[g]);
    return false;
  }
  if (result.pin_events != expected.pin_events) {
    std::printf("%" PRIu64 " pin changes, but %" PRIu64 " were expected\n", result.pin_events,
                expected.pin_events);
    return false;
  }
  if (result.log != expected.log) {
    std::printf("the log differs: %zu changes, %zu were expected\n", result.log.size(), expected.log.size());
    return false;
  }
  return true;
}

void print_size(const Circuit& circuit, std::uint64_t critical) {
  const std::size_t gates = circuit.gates() - circuit.inputs.size() - circuit.flip_flops.size();
  std::printf("circuit: %zu gates, ", gates);
  if (!circuit.flip_flops.empty()) std::printf("%zu flip-flops, ", circuit.flip_flops.size());
  std::printf("%zu inputs, %zu outputs, critical path %" PRIu64 "\n", circuit.inputs.size(),
              circuit.outputs.size(), critical);
}

int run_des(const Options& o) {
  if (!o.vcd.empty()) OutputFile::check(o.vcd);
  GeneratedCircuit made;
  if (o.netlist.empty()) {
    made = generate_circuit(o.generate.empty() ? "csa:8" : o.generate);
  } else {
    made.circuit = read_bench(o.netlist, o.initial_state, o.seed);
  }
  Circuit& circuit = made.circuit;
  set_delays(circuit, o.delay_variation, o.seed, o.resolution);
  if (o.unit_delays) {
    for (std::uint32_t g = 0; g < circuit.gates(); ++g) circuit.delays[g] = circuit.pins[g].empty() ? 0 : 1;
  }
  const std::uint64_t critical = critical_path(circuit);
  if (o.period != 0 && o.period <= critical) {
    throw InputError("--period " + std::to_string(o.period) + " is too short: the critical path is " +
                     std::to_string(critical) + ", a longer period was expected");
  }
  // Twice the last time must be a timestamp.
  const std::uint64_t period = o.period != 0 ? o.period : critical + 1;
  if (period > (std::uint64_t{1} << 62) / (std::uint64_t{o.vectors} + 2)) {
    throw InputError("--period " + std::to_string(period) + " is too long for " + std::to_string(o.vectors) +
                     " vectors: times must stay below 2^62");
  }
  const Stimulus stimulus = random_stimulus(circuit, period, o.vectors, o.seed);
  print_size(circuit, critical);
  SimulationResult expected;
  if (o.tasks.is_serial)
    expected = serial_region([&] { return simulate_serially(circuit, stimulus, o.has_log); });
  else if (o.tasks.verify || o.has_log)
    expected = simulate_serially(circuit, stimulus, o.has_log);
  const LogTasks log = o.has_log ? o.log_type : LogTasks::none;
  const SimulationResult result = o.tasks.is_serial ? expected
                                  : o.threads.are_chosen()
                                      ? simulate_by_threads(circuit, stimulus, o.has_log, o.threads.count())
                                      : simulate(circuit, stimulus, o.tasks.type, log, o.events, &expected);
  std::printf("pin changes: %" PRIu64 "\nnet changes: %" PRIu64 "\nwaveform checksum: %016" PRIx64 "\n",
              result.pin_events,
              std::accumulate(result.toggles.begin(), result.toggles.end(), std::uint64_t{0}),
              waveform_checksum(result));
  if (o.has_log) std::printf("logged: %zu\n", result.log.size());
  if (!o.vcd.empty()) {
    write_vcd(o.vcd, "circuit", circuit, result.log, (stimulus.vectors.size() + 1) * period, o.resolution);
  }
  if (!o.tasks.verify) return 0;
  const bool passed = check_settled(circuit, stimulus, result) && check_known(made, stimulus, result) &&
                      check_waveforms(circuit, result, expected);
  return report_check(passed);
}

constexpr Application<Options> kApplication{
    .name = "des",
    .description = "Event-driven simulation of gate-level circuits as ordered tasks (Espresso, Sec. II-B).",
    .declare = declare,
    .run = run_des};

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kApplication, argc, argv);
}
