// A window core alone on a flat memory, for schedules computed by hand.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>

#include "chip/core/window/window_core.hpp"
#include "tests/chip/core/machine.hpp"

namespace rubato::chip::test {

struct Shape {
  std::uint32_t width = 1, rob = 64, ports = 4, loads = 16, stores = 16;
};

struct WindowMachine : Machine {
  explicit WindowMachine(
      const Shape& shape = {}, const std::function<void(Config&)>& change = [](Config&) {})
      : Machine([&](Config& c) {
          c.core.model = "window";
          c.core.width = shape.width;
          c.core.rob = shape.rob;
          c.core.int_ports = c.core.fp_ports = c.core.mem_ports = shape.ports;
          c.core.load_buffer = shape.loads;
          c.core.store_buffer = shape.stores;
          change(c);
        }) {
    x(10) = kData;
  }
  const WindowStats& stats() const { return dynamic_cast<const WindowCore&>(*model).stats(); }
  void adds(int n) {
    for (int i = 0; i < n; ++i) emit("addi", {.rd = 5, .rs1 = 6, .imm = i});
  }
  void chain(int n) {
    for (int i = 0; i < n; ++i) emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  }
};

/// Lines come when the test says so.
struct WindowMessages : testing::Test {
  WindowMessages() : m({.width = 4}) {
    m.system.hook = [this](LineAddr line, AccessKind kind, Cycle, AccessResult& r) {
      if (kind == AccessKind::fetch || here.contains(line.value)) return;
      r.done = false;
      r.blocked = BlockReason::protocol;
    };
    m.x(11) = kData + 4096;
  }
  PipelineStop run(std::uint64_t now) { return m.model->run(Cycle{now}, kNever); }
  void comes(Addr address, std::uint64_t at) {
    here.insert(line_of(address).value);
    ASSERT_TRUE(m.model->note_ready(line_of(address)));
    m.model->perform(line_of(address), Cycle{at});
  }
  WindowMachine m;
  std::set<std::uint64_t> here;
};

}  // namespace rubato::chip::test
