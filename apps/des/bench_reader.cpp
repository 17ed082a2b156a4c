// SPDX-License-Identifier: MIT
// Reader of circuits, in one pass over the lines; nets get their number where they are first named.
#include "apps/des/bench_reader.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "apps/common/input_error.hpp"
#include "apps/common/line_reader.hpp"
#include "apps/des/lookup_table.hpp"
#include "base/rng.hpp"

namespace rubato::apps {
namespace {

constexpr std::size_t kMaxGates = 1u << 28;
constexpr const char* kForms = "INPUT(NET), OUTPUT(NET), NET = GATE(NET, ...), NET = vdd or NET = gnd";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// For messages: long or binary names are cut.
std::string quoted(std::string_view name) {
  std::string text = "'";
  for (const char c : name.substr(0, 40)) text += c >= ' ' && c <= '~' ? c : '?';
  if (name.size() > 40) text += "...";
  return text + "'";
}

class BenchReader {
 public:
  BenchReader(const std::string& path, InitialState initial, std::uint64_t seed)
      : reader_(path),
        initial_(initial),
        rng_(mix64(seed ^ 0x7374617465ULL)) {}  // apart from the vectors' sequence

  Circuit read() {
    std::string_view line;
    while (reader_.next(line)) {
      line = trimmed(line.substr(0, line.find('#')));
      if (!line.empty()) statement(line);
    }
    drive_levels();
    drive_constants();
    if (circuit_.gates() == 0)
      reader_.fail(std::string("the file holds no circuit: ") + kForms + " was expected");
    for (std::uint32_t g = 0; g < circuit_.gates(); ++g) {
      if (driven_at_[g] == 0) {
        fail_at(named_at_[g], "nothing drives net " + quoted(circuit_.names[g]) + ": INPUT(" +
                                  circuit_.names[g].substr(0, 40) + ") or a gate was expected");
      }
    }
    if (circuit_.inputs.empty() && circuit_.flip_flops.empty())
      reader_.fail("the circuit has no INPUT(NET) and no flip-flop");
    if (circuit_.outputs.empty()) reader_.fail("the circuit has no OUTPUT(NET)");
    const std::uint32_t cyclic = levelize(circuit_);
    if (cyclic != circuit_.gates()) {
      fail_at(driven_at_[cyclic], "gate " + quoted(circuit_.names[cyclic]) +
                                      " depends on itself: a flip-flop (DFF) was expected on every cycle");
    }
    return std::move(circuit_);
  }

 private:
  [[noreturn]] void fail_at(std::uint64_t line, const std::string& sentence) const {
    throw InputError(reader_.path(), line, sentence);
  }

  std::uint32_t net(std::string_view name) {
    name = trimmed(name);
    const bool has_bad_character = std::any_of(name.begin(), name.end(), [](char c) {
      return c <= ' ' || c > '~' || c == '(' || c == ')' || c == '=' || c == ',';
    });
    if (name.empty()) reader_.fail("the name of a net is missing");
    if (has_bad_character) reader_.fail(quoted(name) + " is not the name of a net");
    const auto [found, is_new] = number_.emplace(name, circuit_.gates());
    return is_new ? add(std::string(name)) : found->second;
  }

  std::uint32_t add(std::string name) {
    if (circuit_.gates() == kMaxGates) reader_.fail("more than " + std::to_string(kMaxGates) + " nets");
    circuit_.names.push_back(std::move(name));
    circuit_.kinds.push_back(GateKind::input);
    circuit_.pins.emplace_back();
    named_at_.push_back(reader_.line_number());
    driven_at_.push_back(0);
    is_output_.push_back(false);
    return circuit_.gates() - 1;
  }

  /// @returns `g`
  std::uint32_t drive(std::uint32_t g) {
    if (driven_at_[g] != 0) {
      reader_.fail("net " + quoted(circuit_.names[g]) + " is driven a second time, first in line " +
                   std::to_string(driven_at_[g]));
    }
    driven_at_[g] = reader_.line_number();
    return g;
  }

  GateKind kind(std::string_view word) {
    static const std::unordered_map<std::string, GateKind> kKinds = {
        {"and", GateKind::and_}, {"nand", GateKind::nand}, {"or", GateKind::or_},    {"nor", GateKind::nor},
        {"xor", GateKind::xor_}, {"xnor", GateKind::xnor}, {"nxor", GateKind::xnor}, {"not", GateKind::inv},
        {"inv", GateKind::inv},  {"buf", GateKind::buf},   {"buff", GateKind::buf},  {"dff", GateKind::dff},
        {"dff0", GateKind::dff}, {"dff1", GateKind::dff},  {"dffrse", GateKind::dff}};
    const auto found = kKinds.find(lower(word));
    if (found != kKinds.end()) return found->second;
    reader_.fail(quoted(word) +
                 " is no gate: AND, NAND, OR, NOR, XOR, XNOR, NOT, BUF, LUT or DFF was expected");
  }

  void flip_flop(std::uint32_t g, char state, std::vector<std::uint32_t> pins) {
    if (pins.size() != 1) {
      reader_.fail("a flip-flop has one input, D, but " + std::to_string(pins.size()) +
                   " are given: its clock is that of the simulation");
    }
    circuit_.flip_flops.push_back(g);
    circuit_.initial_state.push_back(begins_at_one(state) ? 1 : 0);
    become(g, GateKind::dff, std::move(pins));
  }

  /// The D pin of ABC's flip-flop, which also has reset, set, enable and a fourth pin, all of them unused.
  std::string_view data_alone(std::string_view list) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string others = lower(list.substr(end));
    std::erase_if(others, [](char c) { return c <= ' '; });
    if (others != ",gnd,gnd,gnd,gnd")
      reader_.fail("DFFRSE(NET, gnd, gnd, gnd, gnd) was expected: reset, set and enable are not simulated");
    return list.substr(0, end);
  }

  /// `state`: the digit of DFF0 or DFF1, or another character.
  bool begins_at_one(char state) {
    if (state == '0' || state == '1') return state == '1';
    return initial_ == InitialState::random ? rng_.below(2) != 0 : initial_ == InitialState::ones;
  }

  void statement(std::string_view line) {
    const std::size_t open = line.find('('), equals = line.find('=');
    if (open == std::string_view::npos && equals != std::string_view::npos) {
      if (const auto value = level(trimmed(line.substr(equals + 1))))
        return constant(drive(net(line.substr(0, equals))), *value);
    }
    if (open == std::string_view::npos || line.back() != ')') {
      reader_.fail(quoted(line) + " is none of " + kForms);
    }
    const std::string_view list = line.substr(open + 1, line.size() - open - 2);
    if (equals == std::string_view::npos) return port(trimmed(line.substr(0, open)), list);
    if (equals > open) reader_.fail(quoted(line) + " is none of " + kForms);
    const std::uint32_t g = net(line.substr(0, equals));
    const std::string_view word = trimmed(line.substr(equals + 1, open - equals - 1));
    drive(g);
    if (lower(word.substr(0, 3)) == "lut" && word.size() > 3 && word[3] <= ' ')
      return table(g, trimmed(word.substr(3)), list);
    const GateKind gate_kind = kind(word);
    std::vector<std::uint32_t> pins = nets(lower(word) == "dffrse" ? data_alone(list) : list);
    if (gate_kind == GateKind::dff) return flip_flop(g, word.back(), std::move(pins));
    const bool is_unary = gate_kind == GateKind::inv || gate_kind == GateKind::buf;
    if (is_unary && pins.size() != 1) {
      reader_.fail("NOT and BUF have one input, but " + std::to_string(pins.size()) + " are given");
    }
    if (pins.size() > kMaxFanIn) {
      reader_.fail("a gate of " + std::to_string(pins.size()) + " inputs: at most " +
                   std::to_string(kMaxFanIn) + " are possible");
    }
    become(g, gate_kind, std::move(pins));
  }

  std::vector<std::uint32_t> nets(std::string_view list) {
    std::vector<std::uint32_t> pins;
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      pins.push_back(net(list.substr(begin, end - begin)));
      begin = end + 1;
    }
    return pins;
  }

  void become(std::uint32_t g, GateKind gate_kind, std::vector<std::uint32_t> pins) {
    circuit_.kinds[g] = gate_kind;
    circuit_.pins[g] = std::move(pins);
  }

  /// A gate inside a table. No net of a file is named so, as '=' cannot be in a name.
  std::uint32_t inner(std::uint32_t g, const std::string& part, GateKind gate_kind,
                      std::vector<std::uint32_t> pins) {
    const std::uint32_t gate = add(circuit_.names[g] + "=" + part);
    driven_at_[gate] = reader_.line_number();
    become(gate, gate_kind, std::move(pins));
    return gate;
  }

  static std::optional<bool> level(std::string_view word) {
    const std::string name = lower(word);
    if (name != "vdd" && name != "gnd") return std::nullopt;
    return name == "vdd";
  }

  /// Gates may read the levels as nets, vdd and gnd, which no statement drives.
  void drive_levels() {
    for (std::uint32_t g = 0; g < circuit_.gates(); ++g) {
      const auto value = driven_at_[g] == 0 ? level(circuit_.names[g]) : std::nullopt;
      if (!value) continue;
      driven_at_[g] = named_at_[g];
      constant(g, *value);
    }
  }

  void constant(std::uint32_t g, bool value) { constants_.push_back({g, value}); }

  /// A constant compares an input, or a flip-flop, with itself: all pins that change at one time change
  /// before a gate evaluates, so its output never changes.
  void drive_constants() {
    const auto& sources = circuit_.inputs.empty() ? circuit_.flip_flops : circuit_.inputs;
    if (sources.empty()) return;  // refused below
    const std::uint32_t any = sources.front();
    for (const auto& [g, value] : constants_) become(g, value ? GateKind::xnor : GateKind::xor_, {any, any});
  }

  /// `bits` is hexadecimal, with or without 0x.
  void table(std::uint32_t g, std::string_view bits, std::string_view list) {
    const std::vector<std::uint32_t> pins = nets(list);
    if (pins.size() > kMaxTableInputs)
      reader_.fail("a table of " + std::to_string(pins.size()) + " inputs: at most " +
                   std::to_string(kMaxTableInputs) + " are possible");
    LookupTable table{.inputs = static_cast<std::uint32_t>(pins.size())};
    const std::string_view digits = lower(bits.substr(0, 2)) == "0x" ? bits.substr(2) : bits;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), table.table, 16);
    const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
    if (!is_number || (table.rows() < 64 && table.table >> table.rows() != 0))
      reader_.fail(quoted(bits) + " is no table of " + std::to_string(pins.size()) +
                   " inputs: a hexadecimal number of " + std::to_string(table.rows()) + " bits was expected");
    if (const auto value = table.constant()) return constant(g, *value);
    if (const auto gate_kind = table.gate()) return become(g, *gate_kind, pins);
    // A sum of products, of the rows with the rarer output.
    std::vector<std::uint32_t> inverted;
    for (std::size_t p = 0; p < pins.size(); ++p)
      inverted.push_back(inner(g, "n" + std::to_string(p), GateKind::inv, {pins[p]}));
    std::vector<std::vector<std::uint32_t>> products;
    const bool rarer = table.rarer();
    for (std::uint32_t row = 0; row < table.rows(); ++row) {
      if (table.value(row) != rarer) continue;
      products.emplace_back();
      for (std::size_t p = 0; p < pins.size(); ++p)
        products.back().push_back((row >> p & 1) != 0 ? pins[p] : inverted[p]);
    }
    if (products.size() == 1) return become(g, rarer ? GateKind::and_ : GateKind::nand, products.front());
    std::vector<std::uint32_t> sum;
    for (const auto& product : products)
      sum.push_back(inner(g, std::to_string(sum.size()), GateKind::and_, product));
    become(g, rarer ? GateKind::or_ : GateKind::nor, std::move(sum));
  }

  void port(std::string_view word, std::string_view name) {
    const std::string direction = lower(word);
    if (direction != "input" && direction != "output") reader_.fail(quoted(word) + " is none of " + kForms);
    const std::uint32_t g = net(name);
    if (direction == "input") {
      drive(g);
      circuit_.inputs.push_back(g);
    } else {
      if (is_output_[g]) reader_.fail("net " + quoted(circuit_.names[g]) + " is an OUTPUT a second time");
      is_output_[g] = true;
      circuit_.outputs.push_back(g);
    }
  }

  LineReader reader_;
  InitialState initial_;
  Rng rng_;
  Circuit circuit_;
  std::unordered_map<std::string, std::uint32_t> number_;
  std::vector<std::uint64_t> named_at_, driven_at_;  // lines; 0: not driven yet
  std::vector<bool> is_output_;
  std::vector<std::pair<std::uint32_t, bool>> constants_;  // nets and their values
};

}  // namespace

Circuit read_bench(const std::string& path, InitialState initial, std::uint64_t seed) {
  return BenchReader(path, initial, seed).read();
}

}  // namespace rubato::apps
