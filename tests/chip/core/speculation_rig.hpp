// A pipeline that runs a speculative task on a flat memory: what it records, logs and does to the memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tests/chip/core/machine.hpp"

namespace rubato::chip::test {

using Record = std::pair<std::uint64_t, bool>;  // line, write

constexpr Addr kLog = Addr{1} << 40, kStack = kData + 8 * AddressSpace::kPageBytes;
constexpr std::uint64_t kStackBytes = AddressSpace::kPageBytes;

struct Rig final : AccessRecorder {
  explicit Rig(
      bool speculative = true, std::uint64_t log_lines = 64,
      const std::function<void(Config&)>& change = [](Config&) {})
      : m(change) {
    m.pipeline = std::make_unique<Pipeline>(CoreId{0}, m.config,
                                            Pipeline::Ports{.memory = &m.memory,
                                                            .blocks = &m.blocks,
                                                            .memory_system = m.system,
                                                            .l1i = m.l1i,
                                                            .l1d = m.l1d,
                                                            .timeline = &timeline,
                                                            .recorder = this,
                                                            .reservations = &reservations,
                                                            .log_base = line_of(kLog),
                                                            .log_lines = log_lines});
    m.model = make_core_model(m.config, m.pipeline->parts());
    m.pipeline->set_own_stack(kStack, kStack + kStackBytes);
    m.l1d.begin_marks();
    attempt.virtual_time = {5, 0};
    if (speculative) begin(attempt);
    m.x(10) = kData;
    m.pipeline->hart().pc = kCode;
  }
  void begin(Attempt& a) { m.pipeline->begin_task(&a, a.virtual_time.timestamp); }
  void record(CoreId, LineAddr line, bool write) override {
    records.insert({line.value, write});
    ++recorded;
  }
  std::vector<std::pair<Addr, std::uint64_t>> undo() const {
    std::vector<std::pair<Addr, std::uint64_t>> result;
    for (const UndoEntry& e : attempt.undo) result.emplace_back(e.address, e.old_value);
    return result;
  }
  std::vector<AccessKind> kinds() const {
    std::vector<AccessKind> result;
    for (const auto& [kind, at] : m.system.accesses) result.push_back(kind);
    return result;
  }
  static Record read(Addr a) { return {line_of(a).value, false}; }
  static Record write(Addr a) { return {line_of(a).value, true}; }

  Machine m;
  Timeline timeline;
  Attempt attempt;
  std::set<Record> records;
  Reservations reservations;
  std::uint64_t recorded = 0;
};

using Log = std::vector<std::pair<Addr, std::uint64_t>>;

}  // namespace rubato::chip::test
