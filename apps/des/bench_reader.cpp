// SPDX-License-Identifier: MIT
// Reader of circuits, in one pass over the lines; nets get their number where they are first named.
#include "apps/des/bench_reader.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "apps/common/input_error.hpp"
#include "apps/common/line_reader.hpp"

namespace rubato::apps {
namespace {

constexpr std::size_t kMaxGates = 1u << 28;
constexpr const char* kForms = "INPUT(NET), OUTPUT(NET) or NET = GATE(NET, ...)";

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
  explicit BenchReader(const std::string& path) : reader_(path) {}

  Circuit read() {
    std::string_view line;
    while (reader_.next(line)) {
      line = trimmed(line.substr(0, line.find('#')));
      if (!line.empty()) statement(line);
    }
    if (circuit_.gates() == 0)
      reader_.fail(std::string("the file holds no circuit: ") + kForms + " was expected");
    for (std::uint32_t g = 0; g < circuit_.gates(); ++g) {
      if (driven_at_[g] == 0) {
        fail_at(named_at_[g], "nothing drives net " + quoted(circuit_.names[g]) + ": INPUT(" +
                                  circuit_.names[g].substr(0, 40) + ") or a gate was expected");
      }
    }
    if (circuit_.inputs.empty()) reader_.fail("the circuit has no INPUT(NET)");
    if (circuit_.outputs.empty()) reader_.fail("the circuit has no OUTPUT(NET)");
    const std::uint32_t cyclic = levelize(circuit_);
    if (cyclic != circuit_.gates()) {
      fail_at(driven_at_[cyclic], "gate " + quoted(circuit_.names[cyclic]) +
                                      " depends on itself: a combinational circuit was expected");
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
    if (is_new) {
      if (circuit_.gates() == kMaxGates) reader_.fail("more than " + std::to_string(kMaxGates) + " nets");
      circuit_.names.emplace_back(name);
      circuit_.kinds.push_back(GateKind::input);
      circuit_.pins.emplace_back();
      named_at_.push_back(reader_.line_number());
      driven_at_.push_back(0);
      is_output_.push_back(false);
    }
    return found->second;
  }

  void drive(std::uint32_t g) {
    if (driven_at_[g] != 0) {
      reader_.fail("net " + quoted(circuit_.names[g]) + " is driven a second time, first in line " +
                   std::to_string(driven_at_[g]));
    }
    driven_at_[g] = reader_.line_number();
  }

  GateKind kind(std::string_view word) {
    static const std::unordered_map<std::string, GateKind> kKinds = {
        {"and", GateKind::and_}, {"nand", GateKind::nand}, {"or", GateKind::or_},
        {"nor", GateKind::nor},  {"xor", GateKind::xor_},  {"xnor", GateKind::xnor},
        {"not", GateKind::inv},  {"buf", GateKind::buf},   {"buff", GateKind::buf}};
    const auto found = kKinds.find(lower(word));
    if (found != kKinds.end()) return found->second;
    if (lower(word) == "dff")
      reader_.fail("the circuit has flip-flops: a combinational circuit was expected");
    reader_.fail(quoted(word) + " is no gate: AND, NAND, OR, NOR, XOR, XNOR, NOT or BUF was expected");
  }

  void statement(std::string_view line) {
    const std::size_t open = line.find('('), equals = line.find('=');
    if (open == std::string_view::npos || line.back() != ')') {
      reader_.fail(quoted(line) + " is none of " + kForms);
    }
    const std::string_view list = line.substr(open + 1, line.size() - open - 2);
    if (equals == std::string_view::npos) return port(trimmed(line.substr(0, open)), list);
    if (equals > open) reader_.fail(quoted(line) + " is none of " + kForms);
    const std::uint32_t g = net(line.substr(0, equals));
    const GateKind gate_kind = kind(trimmed(line.substr(equals + 1, open - equals - 1)));
    drive(g);
    std::vector<std::uint32_t> pins;
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      pins.push_back(net(list.substr(begin, end - begin)));
      begin = end + 1;
    }
    const bool is_unary = gate_kind == GateKind::inv || gate_kind == GateKind::buf;
    if (is_unary && pins.size() != 1) {
      reader_.fail("NOT and BUF have one input, but " + std::to_string(pins.size()) + " are given");
    }
    if (pins.size() > kMaxFanIn) {
      reader_.fail("a gate of " + std::to_string(pins.size()) + " inputs: at most " +
                   std::to_string(kMaxFanIn) + " are possible");
    }
    circuit_.kinds[g] = gate_kind;
    circuit_.pins[g] = std::move(pins);
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
  Circuit circuit_;
  std::unordered_map<std::string, std::uint32_t> number_;
  std::vector<std::uint64_t> named_at_, driven_at_;  // lines; 0: not driven yet
  std::vector<bool> is_output_;
};

}  // namespace

Circuit read_bench(const std::string& path) { return BenchReader(path).read(); }

}  // namespace rubato::apps
