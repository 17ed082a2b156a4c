// des: circuits done by hand, the multiplier, simulation by tasks and by threads against the serial one, and
// malformed netlists.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include "apps/common/input_error.hpp"
#include "apps/des/bench_reader.hpp"
#include "apps/des/circuit.hpp"
#include "apps/des/des_tasks.hpp"
#include "apps/des/des_threads.hpp"
#include "apps/des/generated.hpp"
#include "apps/des/simulation.hpp"
#include "apps/des/vcd.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Circuit from_text(const std::string& text) {
  const TemporaryFolder folder;
  return read_bench(folder.write("test.bench", text));
}

std::string error_of(const std::string& text) {
  try {
    from_text(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

std::filesystem::path netlist(const std::string& name) {
  const char* const data = std::getenv("RUBATO_DATA");
  return std::filesystem::path(data != nullptr ? data : "../shared/data") / "iscas85" / name;
}

void expect_same_as_serial(const Circuit& circuit, std::uint32_t vectors) {
  const Stimulus stimulus = random_stimulus(circuit, critical_path(circuit) + 1, vectors, 7);
  const SimulationResult expected = simulate_serially(circuit, stimulus, true);
  std::vector<std::uint8_t> state = circuit.initial_state;
  for (std::size_t k = 0; k < vectors; ++k) {
    const auto values = settle(circuit, stimulus.vectors[k], state);
    state = next_state(circuit, values);
    for (std::size_t o = 0; o < circuit.outputs.size(); ++o) {
      EXPECT_EQ(expected.settled[k][o], values[circuit.outputs[o]]);
    }
  }
  for (const std::uint64_t seed : {1, 2, 3}) {
    serial::set_seed(seed);
    for (const TaskType type : {spec, nonspec, mayspec}) {
      for (const LogTasks log : {LogTasks::nonspec, LogTasks::spec, LogTasks::spec_at_log}) {
        EXPECT_TRUE(simulate(circuit, stimulus, type, log, Events::arguments, &expected) == expected);
      }
    }
  }
  for (const std::uint32_t threads : {1, 2, 5}) {
    EXPECT_TRUE(simulate_by_threads(circuit, stimulus, true, threads) == expected) << threads;
  }
}

TEST(GateValue, FollowsTheTruthTables) {
  EXPECT_FALSE(gate_value(GateKind::and_, 0b01, 2));
  EXPECT_TRUE(gate_value(GateKind::and_, 0b11, 2));
  EXPECT_TRUE(gate_value(GateKind::nand, 0b011, 3));
  EXPECT_FALSE(gate_value(GateKind::nand, 0b111, 3));
  EXPECT_TRUE(gate_value(GateKind::or_, 0b10, 2));
  EXPECT_FALSE(gate_value(GateKind::nor, 0b10, 2));
  EXPECT_TRUE(gate_value(GateKind::nor, 0, 2));
  EXPECT_TRUE(gate_value(GateKind::xor_, 0b111, 3));
  EXPECT_FALSE(gate_value(GateKind::xor_, 0b101, 3));
  EXPECT_TRUE(gate_value(GateKind::xnor, 0b101, 3));
  EXPECT_TRUE(gate_value(GateKind::inv, 0, 1));
  EXPECT_TRUE(gate_value(GateKind::and_, ~std::uint64_t{0}, 64));
}

TEST(Simulation, PassesAPulseOfOneDelayThroughAnAndGate) {
  // y = a and not a: rises when a does, falls one inverter later.
  Circuit circuit = from_text("INPUT(a)\nOUTPUT(y)\nn = NOT(a)\ny = AND(a, n)\n");
  set_delays(circuit, 0, 1);  // inverter 10, and 20
  EXPECT_EQ(critical_path(circuit), 30u);
  const Stimulus stimulus{100, {{1}}};
  const SimulationResult expected = simulate_serially(circuit, stimulus, true);
  EXPECT_EQ(circuit.names, (std::vector<std::string>{"a", "y", "n"}));
  EXPECT_EQ(expected.log, (std::vector<Change>{{100, 0, 1}, {110, 2, 0}, {120, 1, 1}, {130, 1, 0}}));
  EXPECT_EQ(expected.pin_events, 3u);
  EXPECT_TRUE(simulate(circuit, stimulus, mayspec, LogTasks::nonspec, Events::arguments, &expected) ==
              expected);
}

TEST(Simulation, EvaluatesAGateOnceIfItsPinsChangeAtOneTime) {
  Circuit circuit = from_text("INPUT(a)\nINPUT(b)\nOUTPUT(y)\ny = XOR(a, b)\n");
  set_delays(circuit, 0, 1);
  const Stimulus stimulus{100, {{1, 1}, {0, 1}}};  // no pulse of no width at first; then y rises
  const SimulationResult expected = simulate_serially(circuit, stimulus, false);
  EXPECT_THAT(expected.toggles, ElementsAre(2, 1, 1));
  EXPECT_THAT(expected.settled, ElementsAre(ElementsAre(0), ElementsAre(1)));
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    serial::set_seed(seed);
    EXPECT_TRUE(simulate(circuit, stimulus, nonspec, LogTasks::none, Events::arguments, nullptr) == expected);
  }
}

TEST(Simulation, IsTheSameWithEventsOnTheHeap) {
  Circuit multiplier = generate_csa(5);
  set_delays(multiplier, 25, 3, Resolution::fs);
  const Stimulus stimulus = random_stimulus(multiplier, critical_path(multiplier) + 1, 5, 7);
  const SimulationResult expected = simulate_serially(multiplier, stimulus, false);
  for (const TaskType type : {spec, nonspec, mayspec})
    EXPECT_TRUE(simulate(multiplier, stimulus, type, LogTasks::none, Events::heap, nullptr) == expected);
}

TEST(SimulationByThreads, FollowsGatesWhoseInputsChangeAtOtherRates) {
  // `a` changes at each vector and `b` never: the clock of b alone, without a change, lets y follow a.
  Circuit circuit = from_text("INPUT(a)\nINPUT(b)\nOUTPUT(y)\ny = NOR(a, b)\n");
  set_delays(circuit, 0, 1);
  Stimulus stimulus{100, {}};
  for (std::uint8_t k = 0; k < 100; ++k)
    stimulus.vectors.push_back({static_cast<std::uint8_t>(k % 2 == 0), 0});
  for (const std::uint32_t threads : {1, 2, 3}) {
    const SimulationResult found = simulate_by_threads(circuit, stimulus, true, threads);
    EXPECT_THAT(found.toggles, ElementsAre(100, 0, 100));
    EXPECT_TRUE(found == simulate_serially(circuit, stimulus, true));
  }
}

TEST(SimulationByThreads, EndsWithoutVectors) {
  Circuit circuit = generate_csa(3);
  set_delays(circuit, 25, 1);
  const Stimulus none{100, {}};
  EXPECT_TRUE(simulate_by_threads(circuit, none, true, 3) == simulate_serially(circuit, none, true));
}

TEST(Delays, DifferInFemtosecondsAndHaveTheSameBounds) {
  Circuit circuit = generate_csa(8);
  set_delays(circuit, 0, 1);
  const std::vector<std::uint32_t> nominal = circuit.delays;
  set_delays(circuit, 25, 1, Resolution::fs);
  std::set<std::uint32_t> different;
  for (std::uint32_t g = 0; g < circuit.gates(); ++g) {
    EXPECT_GE(circuit.delays[g], nominal[g] * 750);
    EXPECT_LE(circuit.delays[g], nominal[g] * 1250);
    different.insert(circuit.delays[g]);
  }
  EXPECT_GT(different.size(), (circuit.gates() - circuit.inputs.size()) * 3 / 4);
}

TEST(Simulation, AgreesWithTheSerialOneForEveryTypeLogAndSeed) {
  Circuit multiplier = generate_csa(5);
  set_delays(multiplier, 25, 3);
  expect_same_as_serial(multiplier, 70);  // more than one line of samples
  for (std::uint32_t g = 0; g < multiplier.gates(); ++g) {
    multiplier.delays[g] = multiplier.pins[g].empty() ? 0 : 1;
  }
  expect_same_as_serial(multiplier, 10);  // many changes at one time
}

TEST(Simulation, CreatesAnyNumberOfSinks) {
  for (const unsigned sinks : {5u, 6u, 7u, 8u, 9u, 100u}) {
    std::string text = "INPUT(a)\n";
    for (unsigned s = 0; s < sinks; ++s) {
      text += "OUTPUT(y" + std::to_string(s) + ")\ny" + std::to_string(s) + " = NOT(a)\n";
    }
    Circuit circuit = from_text(text);
    set_delays(circuit, 50, 1);
    expect_same_as_serial(circuit, 8);
  }
}

TEST(Multiplier, MultipliesEveryPairOfSmallNumbers) {
  for (const std::uint32_t width : {2u, 3u, 4u}) {
    const Circuit circuit = generate_csa(width);
    for (std::uint32_t a = 0; a < 1u << width; ++a) {
      for (std::uint32_t b = 0; b < 1u << width; ++b) {
        std::vector<std::uint8_t> bits;
        for (std::uint32_t i = 0; i < width; ++i) bits.push_back(a >> i & 1);
        for (std::uint32_t i = 0; i < width; ++i) bits.push_back(b >> i & 1);
        const auto values = settle(circuit, bits, {});
        std::uint32_t product = 0;
        for (std::size_t k = 0; k < circuit.outputs.size(); ++k) {
          product |= std::uint32_t{values[circuit.outputs[k]]} << k;
        }
        EXPECT_EQ(product, a * b) << a << " * " << b << ", width " << width;
      }
    }
  }
}

TEST(Multiplier, LongMultiplicationAgreesWithIntegers) {
  // 13 * 11 = 143 = 0b10001111
  EXPECT_THAT(multiply_bits({1, 0, 1, 1}, {1, 1, 0, 1}), ElementsAre(1, 1, 1, 1, 0, 0, 0, 1));
}

TEST(Delays, VaryByAtMostTheGivenPercentAndWithTheSeed) {
  Circuit circuit = generate_csa(8);
  set_delays(circuit, 0, 1);
  const auto nominal = circuit.delays;
  set_delays(circuit, 25, 1);
  const auto first = circuit.delays;
  set_delays(circuit, 25, 2);
  EXPECT_NE(first, circuit.delays);
  set_delays(circuit, 25, 1);
  EXPECT_EQ(first, circuit.delays);
  for (std::size_t g = 0; g < nominal.size(); ++g) {
    EXPECT_GE(4 * first[g] + 2, 3 * nominal[g]);
    EXPECT_LE(4 * first[g], 5 * nominal[g] + 2);
  }
}

TEST(BenchReader, NamesFileAndLineOfWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("holds no circuit"));
  EXPECT_THAT(error_of("INPUT(a)\nfoo\n"), HasSubstr(".bench:2: 'foo' is none of INPUT(NET)"));
  EXPECT_THAT(error_of("INPUT(a)\nOUTPUT(y)\ny = MUX(a, a)\n"), HasSubstr(".bench:3: 'MUX' is no gate"));
  EXPECT_THAT(error_of("INPUT(a)\nOUTPUT(y)\ny = DFF(a, a)\n"),
              HasSubstr(".bench:3: a flip-flop has one input, D, but 2 are given"));
  EXPECT_THAT(error_of("INPUT(a)\nINPUT(a)\n"),
              HasSubstr(".bench:2: net 'a' is driven a second time, first in line 1"));
  EXPECT_THAT(error_of("INPUT(a)\nOUTPUT(y)\ny = AND(a, b)\n"),
              HasSubstr(".bench:3: nothing drives net 'b'"));
  EXPECT_THAT(error_of("INPUT(a)\nOUTPUT(y)\ny = AND(a, )\n"),
              HasSubstr(".bench:3: the name of a net is missing"));
  EXPECT_THAT(error_of("INPUT(a)\nOUTPUT(y)\ny = NOT(a, a)\n"),
              HasSubstr(".bench:3: NOT and BUF have one input"));
  EXPECT_THAT(error_of("INPUT(a)\nOUTPUT(y)\ny = AND(a, z)\nz = NOT(y)\n"),
              HasSubstr("depends on itself: a flip-flop (DFF) was expected on every cycle"));
  EXPECT_THAT(error_of("INPUT(a)\n"), HasSubstr("no OUTPUT"));
  EXPECT_THAT(error_of("OUTPUT(y)\nOUTPUT(y)\n"), HasSubstr(".bench:2: net 'y' is an OUTPUT a second time"));
}

TEST(BenchReader, UnderstandsTheFormatsFreedoms) {
  const Circuit circuit = from_text("# comment\r\n\n output( y )\nINPUT (a) # here too\ny=nand( a ,a)\n");
  EXPECT_EQ(circuit.names, (std::vector<std::string>{"y", "a"}));
  EXPECT_EQ(circuit.kinds, (std::vector<GateKind>{GateKind::nand, GateKind::input}));
  EXPECT_THAT(circuit.pins[0], ElementsAre(1, 1));
  EXPECT_THAT(settle(circuit, {1}, {}), ElementsAre(0, 1));
}

TEST(BenchReader, ReadsTablesAndConstants) {
  std::ostringstream tables;
  tables << std::hex << "INPUT(a)\nINPUT(b)\nINPUT(c)\n";
  // All tables of two inputs, and some of three; named by their hexadecimal numbers.
  for (unsigned table = 0; table < 16; ++table)
    tables << "OUTPUT(t" << table << ")\nt" << table << " = LUT 0x" << table << " ( a, b )\n";
  for (unsigned table = 0; table < 256; table += 5)
    tables << "OUTPUT(u" << table << ")\nu" << table << " = lut " << table << " (a,b,c)\n";
  std::string text = tables.str();
  text += "OUTPUT(one)\nOUTPUT(zero)\none = vdd\nzero=GND\nOUTPUT(n)\nn = LUT 0x1 (c)\n";
  const Circuit circuit = from_text(text);
  for (std::uint8_t row = 0; row < 8; ++row) {
    const auto values =
        settle(circuit, {std::uint8_t(row & 1), std::uint8_t(row >> 1 & 1), std::uint8_t(row >> 2)}, {});
    for (const std::uint32_t net : circuit.outputs) {
      const std::string& name = circuit.names[net];
      bool expected = name == "one" || (name == "n" && row < 4);
      if (name[0] == 't') expected = (std::stoul(name.substr(1), nullptr, 16) >> (row & 3) & 1) != 0;
      if (name[0] == 'u') expected = (std::stoul(name.substr(1), nullptr, 16) >> row & 1) != 0;
      EXPECT_EQ(values[net], expected ? 1 : 0) << name << " of " << row;
    }
  }
  Circuit timed = circuit;
  set_delays(timed, 25, 1);
  expect_same_as_serial(timed, 3);
  const std::string start = "INPUT(a)\nOUTPUT(y)\ny = ";
  EXPECT_THAT(error_of(start + "LUT 0x10 (a, a)\n"),
              HasSubstr(".bench:3: '0x10' is no table of 2 inputs: a hexadecimal number of 4 bits"));
  EXPECT_THAT(error_of(start + "LUT 0xg (a)\n"), HasSubstr("'0xg' is no table of 1 inputs"));
  EXPECT_THAT(error_of(start + "LUT (a)\n"), HasSubstr("'LUT' is no gate"));
  EXPECT_THAT(error_of(start + "LUT 1 (a,a,a,a,a,a,a)\n"), HasSubstr("a table of 7 inputs: at most 6"));
  EXPECT_THAT(error_of("OUTPUT(y)\ny = vdd\n"), HasSubstr("the circuit has no INPUT(NET)"));
}

// ISCAS-89's smallest circuit.
constexpr const char* kS27 = R"(
INPUT(G0)
INPUT(G1)
INPUT(G2)
INPUT(G3)
OUTPUT(G17)
G5 = DFF(G10)
G6 = DFF(G11)
G7 = DFF(G13)
G14 = NOT(G0)
G17 = NOT(G11)
G8 = AND(G14, G6)
G15 = OR(G12, G8)
G16 = OR(G3, G8)
G9 = NAND(G16, G15)
G10 = NOR(G14, G11)
G11 = NOR(G5, G9)
G12 = NOR(G1, G7)
G13 = NOR(G2, G12)
)";

TEST(BenchReader, ReadsFlipFlopsAndLevelsAsAbcWritesThem) {
  // s27 as tables, with a buffer of a level, and with gates that read levels as nets.
  Circuit circuit = from_text(R"(# Benchmark "s27" written by ABC
INPUT(G0)
INPUT(G1)
INPUT(G2)
INPUT(G3)
OUTPUT(G17)
OUTPUT(po1)
OUTPUT(po2)
G5          = DFFRSE( G10, gnd, gnd, gnd, gnd )
G6          = DFFRSE( G11, gnd, gnd, gnd, gnd )
G7          = DFFRSE(G13,GND,gnd,gnd,gnd)
G17         = LUT 0x1 ( G11 )
G8          = LUT 0x4 ( G0, G6 )
G12         = NOR(G1, G7, gnd)
G9          = LUT 0x15 ( G8, G12, G3 )
G11         = LUT 0x1 ( G5, G9 )
G10         = LUT 0x2 ( G0, G11 )
G13         = INV(G13_n)
G13_n       = LUT 0xe ( G2, G12 )
po1         = BUFF(vdd)
po2         = NXOR(Gnd, G0)
)");
  set_delays(circuit, 25, 1);
  expect_same_as_serial(circuit, 20);
  Circuit original = from_text(kS27);
  set_delays(original, 25, 1);
  const Stimulus stimulus = random_stimulus(circuit, 1000, 50, 3);
  ASSERT_LT(std::max(critical_path(circuit), critical_path(original)), stimulus.period);
  const SimulationResult found = simulate_serially(circuit, stimulus, false);
  const SimulationResult expected = simulate_serially(original, stimulus, false);
  for (std::size_t k = 0; k < stimulus.vectors.size(); ++k) {
    const std::uint8_t not_g0 = stimulus.vectors[k][0] == 0 ? 1 : 0;
    EXPECT_THAT(found.settled[k], ElementsAre(expected.settled[k][0], 1, not_g0)) << k;
  }
  const std::string start = "INPUT(a)\nOUTPUT(y)\ny = ";
  EXPECT_THAT(error_of(start + "DFFRSE(a, a, gnd, gnd, gnd)\n"),
              HasSubstr(".bench:3: DFFRSE(NET, gnd, gnd, gnd, gnd) was expected: reset, set and enable"));
  EXPECT_THAT(error_of(start + "DFFRSE(a)\n"), HasSubstr(".bench:3: DFFRSE(NET, gnd, gnd, gnd, gnd)"));
  EXPECT_THAT(error_of(start + "AND(a, vdd)\nvdd = BUFF(vdd)\n"), HasSubstr("'vdd' depends on itself"));
}

TEST(FlipFlops, ShowWhatTheirPinWasBeforeTheEdge) {
  Circuit circuit = from_text("INPUT(a)\nOUTPUT(q)\nOUTPUT(r)\nq = DFF(a)\nr = DFF(q)\n");
  set_delays(circuit, 0, 1);  // 40 from the edge
  EXPECT_EQ(critical_path(circuit), 40u);
  const Stimulus stimulus{100, {{1}, {0}, {0}}};
  // An input and an edge at one time, 200: q takes 1, which a was until then. At the last vector a is 0.
  const SimulationResult expected = simulate_serially(circuit, stimulus, true);
  EXPECT_EQ(circuit.names, (std::vector<std::string>{"a", "q", "r"}));
  EXPECT_EQ(expected.log,
            (std::vector<Change>{{100, 0, 1}, {200, 0, 0}, {240, 1, 1}, {340, 1, 0}, {340, 2, 1}}));
  EXPECT_THAT(expected.settled, ElementsAre(ElementsAre(0, 0), ElementsAre(1, 0), ElementsAre(0, 1)));
  EXPECT_EQ(expected.pin_events, 4u);  // a twice, q twice
  expect_same_as_serial(circuit, 9);
}

TEST(FlipFlops, TakeTheFirstEdgeEvenIfTheirPinNeverChanges) {
  Circuit circuit = from_text("OUTPUT(q)\nq = DFF1(d)\nd = gnd\n");
  set_delays(circuit, 0, 1);
  const Stimulus stimulus{100, {{}, {}, {}}};
  EXPECT_THAT(simulate_serially(circuit, stimulus, false).settled,
              ElementsAre(ElementsAre(1), ElementsAre(0), ElementsAre(0)));
  for (const std::uint32_t vectors : {0u, 1u, 2u, 3u}) expect_same_as_serial(circuit, vectors);
}

TEST(FlipFlops, MayDriveThemselves) {
  Circuit circuit = from_text("OUTPUT(q)\nOUTPUT(t)\nq = DFF1(q)\nt = DFF(n)\nn = NOT(t)\n");
  set_delays(circuit, 0, 1);
  const SimulationResult expected = simulate_serially(circuit, {100, {{}, {}, {}, {}}}, false);
  EXPECT_THAT(expected.settled,
              ElementsAre(ElementsAre(1, 0), ElementsAre(1, 1), ElementsAre(1, 0), ElementsAre(1, 1)));
  expect_same_as_serial(circuit, 200);
}

TEST(FlipFlops, BeginWhereTheFileOrTheCallerSays) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("x.bench", "OUTPUT(a)\nOUTPUT(b)\nOUTPUT(c)\na = dff0(a)\nb = DFF1(b)\nc = DFF(c)\n");
  EXPECT_THAT(read_bench(file).initial_state, ElementsAre(0, 1, 0));
  EXPECT_THAT(read_bench(file, InitialState::ones).initial_state, ElementsAre(0, 1, 1));
  unsigned ones = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto state = read_bench(file, InitialState::random, seed).initial_state;
    EXPECT_EQ(state, read_bench(file, InitialState::random, seed).initial_state);
    EXPECT_THAT((std::vector<int>{state[0], state[1]}), ElementsAre(0, 1));
    ones += state[2];
  }
  EXPECT_THAT(ones, ::testing::AllOf(::testing::Gt(25u), ::testing::Lt(75u)));
}

TEST(FlipFlops, FollowTheEquationsOfS27) {
  Circuit circuit = from_text(kS27);
  set_delays(circuit, 25, 1);
  const Stimulus stimulus = random_stimulus(circuit, critical_path(circuit) + 1, 300, 3);
  const SimulationResult result = simulate_serially(circuit, stimulus, false);
  bool g5 = false, g6 = false, g7 = false;
  unsigned ones = 0;
  for (std::size_t k = 0; k < stimulus.vectors.size(); ++k) {
    const auto& in = stimulus.vectors[k];
    const bool g8 = in[0] == 0 && g6, g12 = in[1] == 0 && !g7;
    const bool g11 = !g5 && (in[3] != 0 || g8) && (g12 || g8);
    EXPECT_THAT(result.settled[k], ElementsAre(g11 ? 0 : 1)) << k;
    ones += g11 ? 0 : 1;
    g5 = in[0] != 0 && !g11, g6 = g11, g7 = in[2] == 0 && !g12;
  }
  EXPECT_GT(ones, 50u);
  EXPECT_LT(ones, 280u);
  expect_same_as_serial(circuit, 70);
}

TEST(Counter, Counts) {
  Circuit circuit = generate_counter(4);
  set_delays(circuit, 25, 1);
  Stimulus stimulus{critical_path(circuit) + 1, {}};
  for (unsigned k = 0; k < 40; ++k) stimulus.vectors.push_back({1});
  const SimulationResult result = simulate_serially(circuit, stimulus, false);
  for (unsigned k = 0; k < 40; ++k)
    EXPECT_THAT(result.settled[k], ElementsAre(k & 1, k >> 1 & 1, k >> 2 & 1, k >> 3 & 1)) << k;
  for (const TaskType type : {spec, nonspec, mayspec})
    EXPECT_TRUE(simulate(circuit, stimulus, type, LogTasks::none, Events::heap, nullptr) == result);
  for (const std::uint32_t threads : {1, 2, 5})
    EXPECT_TRUE(simulate_by_threads(circuit, stimulus, false, threads) == result) << threads;
}

TEST(Counter, StandsStillWithoutItsEnable) {
  for (const std::uint32_t width : {1u, 7u, 70u}) {
    Circuit circuit = generate_counter(width);
    set_delays(circuit, 25, width);
    expect_same_as_serial(circuit, 70);
    const Stimulus stimulus = random_stimulus(circuit, critical_path(circuit) + 1, 70, 7);
    EXPECT_EQ(simulate_serially(circuit, stimulus, false).settled, counts(circuit, stimulus));
  }
}

TEST(ShiftRegister, ReturnsAfterAllStatesButZero) {
  for (const std::uint32_t width : {2u, 3u, 4u, 5u, 6u, 7u, 9u, 10u, 11u}) {
    const Circuit circuit = generate_lfsr(width);
    std::vector<std::uint8_t> state = circuit.initial_state;
    std::uint32_t edges = 0;
    do state = next_state(circuit, settle(circuit, {0}, state));
    while (++edges < 1u << width && state != circuit.initial_state);
    EXPECT_EQ(edges, (1u << width) - 1) << width;
  }
}

TEST(ShiftRegister, AgreesWithItsRecurrence) {
  for (const std::uint32_t width : {2u, 23u, 127u}) {
    Circuit circuit = generate_lfsr(width);
    set_delays(circuit, 25, width);
    const Stimulus stimulus = random_stimulus(circuit, critical_path(circuit) + 1, 200, 7);
    EXPECT_EQ(simulate_serially(circuit, stimulus, false).settled, shifted_states(circuit, stimulus));
    expect_same_as_serial(circuit, 70);
    for (std::uint32_t g = 0; g < circuit.gates(); ++g) circuit.delays[g] = circuit.pins[g].empty() ? 0 : 1;
    expect_same_as_serial(circuit, 10);
  }
}

TEST(GeneratedCircuits, SayWhichOnesThereAre) {
  EXPECT_EQ(generate_circuit("counter:5").circuit.flip_flops.size(), 5u);
  for (const char* const what : {"csa:1", "csa:1025", "counter:0", "counter:x", "lfsr:8", "lfsr:", "adder:8"})
    EXPECT_THAT([what] { generate_circuit(what); }, ::testing::ThrowsMessage<InputError>(::testing::AllOf(
                                                        HasSubstr(what), HasSubstr("was expected"))));
}

TEST(Iscas85, C6288MultipliesSixteenBits) {
  if (!std::filesystem::exists(netlist("c6288.bench")))
    GTEST_SKIP() << netlist("c6288.bench") << " is not here";
  const Circuit circuit = read_bench(netlist("c6288.bench").string());
  ASSERT_EQ(circuit.inputs.size(), 32u);
  const Stimulus stimulus = random_stimulus(circuit, 1, 20, 5);
  for (const auto& bits : stimulus.vectors) {
    const auto values = settle(circuit, bits, {});
    std::vector<std::uint8_t> product;
    for (const std::uint32_t net : circuit.outputs) product.push_back(values[net]);
    std::swap(product[30], product[31]);  // the file names the highest output, G6287, before G6288
    EXPECT_EQ(product, multiply_bits({bits.begin(), bits.begin() + 16}, {bits.begin() + 16, bits.end()}));
  }
}

TEST(Iscas85, TasksAgreeWithTheSerialSimulation) {
  for (const char* const name : {"c17.bench", "c432.bench", "c880.bench"}) {
    if (!std::filesystem::exists(netlist(name))) GTEST_SKIP() << netlist(name) << " is not here";
    Circuit circuit = read_bench(netlist(name).string());
    set_delays(circuit, 25, 1);
    expect_same_as_serial(circuit, 3);
  }
}

/// Reads what VCD a simulator may write of one-bit wires; fails the test at whatever else it meets.
std::vector<Change> parse_vcd(const std::string& path, const Circuit& circuit, std::size_t& initial_values) {
  std::ifstream file(path);
  std::map<std::string, std::uint32_t> net_of_code;
  std::vector<Change> changes;
  std::string word;
  const auto until_end = [&] {
    std::vector<std::string> words;
    while (file >> word && word != "$end") words.push_back(word);
    EXPECT_EQ(word, "$end");
    return words;
  };
  bool in_definitions = true, in_dump = false;
  std::uint64_t time = 0;
  while (file >> word) {
    if (in_definitions) {
      if (word == "$var") {
        const auto words = until_end();
        EXPECT_EQ(words.size(), 4u);
        EXPECT_THAT((std::vector<std::string>{words[0], words[1]}), ElementsAre("wire", "1"));
        const auto net = std::find(circuit.names.begin(), circuit.names.end(), words[3]);
        EXPECT_NE(net, circuit.names.end());
        EXPECT_TRUE(net_of_code.emplace(words[2], net - circuit.names.begin()).second) << "code used twice";
      } else if (word == "$version" || word == "$timescale" || word == "$scope" || word == "$upscope") {
        until_end();
      } else {
        EXPECT_EQ(word, "$enddefinitions");
        until_end();
        in_definitions = false;
      }
    } else if (word[0] == '#') {
      const std::uint64_t next = std::stoull(word.substr(1));
      EXPECT_TRUE(next > time || (next == 0 && changes.empty())) << "time must rise at " << word;
      time = next;
    } else if (word == "$dumpvars") {
      in_dump = true;
    } else if (word == "$end") {
      EXPECT_TRUE(in_dump);
      in_dump = false;
    } else {
      EXPECT_TRUE(word[0] == '0' || word[0] == '1') << word;
      EXPECT_EQ(net_of_code.count(word.substr(1)), 1u) << word;
      if (in_dump) {
        ++initial_values;
      } else {
        changes.push_back({time, net_of_code[word.substr(1)], static_cast<std::uint32_t>(word[0] - '0')});
      }
    }
  }
  EXPECT_FALSE(in_definitions || in_dump);
  return changes;
}

TEST(Vcd, BeginsInTheInitialState) {
  Circuit circuit = from_text("OUTPUT(q)\nq = DFF1(n)\nn = NOT(q)\n");
  set_delays(circuit, 0, 1);
  const SimulationResult result = simulate_serially(circuit, {100, {{}, {}}}, true);
  const TemporaryFolder folder;
  write_vcd(folder / "q.vcd", "circuit", circuit, result.log, 300);
  std::ifstream file(folder / "q.vcd");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, HasSubstr("$dumpvars\n1!\n0\"\n$end\n#240\n0!\n#250\n1\"\n#300\n"));
  EXPECT_THAT(text, HasSubstr("$timescale 1ps $end\n"));  // the flip-flop's delay is 40 ps
  write_vcd(folder / "q.vcd", "circuit", circuit, result.log, 300, Resolution::fs);
  std::ifstream fine(folder / "q.vcd");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(fine), {}), HasSubstr("$timescale 1fs $end\n"));
}

TEST(Vcd, HoldsEveryChangeInTheSyntaxOfTheStandard) {
  Circuit circuit = generate_csa(6);  // more nets than codes of one character
  ASSERT_GT(circuit.gates(), 94u);
  set_delays(circuit, 25, 1);
  const std::uint64_t period = critical_path(circuit) + 1;
  const Stimulus stimulus = random_stimulus(circuit, period, 3, 1);
  const SimulationResult result = simulate_serially(circuit, stimulus, true);
  const TemporaryFolder folder;
  const std::string path = folder / "circuit.vcd";
  write_vcd(path, "circuit", circuit, result.log, 4 * period);
  std::size_t initial_values = 0;
  EXPECT_EQ(parse_vcd(path, circuit, initial_values), result.log);
  EXPECT_EQ(initial_values, circuit.gates());
}

}  // namespace
}  // namespace rubato::apps
