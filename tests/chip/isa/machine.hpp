// A guest machine for tests: one code page range, one data range, one hart, the functional interpreter.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/isa/block_cache.hpp"
#include "chip/isa/interpreter.hpp"
#include "tests/chip/isa/encode.hpp"

namespace rubato::chip::isa::test {

inline constexpr Addr kCode = 0x10000, kData = 0x200000;
inline constexpr std::uint64_t kDataBytes = 4 * AddressSpace::kPageBytes;

class Machine : private CounterSource {
 public:
  Machine() {
    memory.map(kCode, 16 * AddressSpace::kPageBytes, Page::kRead | Page::kExecute);
    memory.map(kData, kDataBytes, Page::kRead | Page::kWrite);
    hart.pc = end_ = kCode;
  }
  void emit(std::uint32_t word) {
    memory.store(end_, word);
    end_ += 4;
  }
  void emit_half(std::uint16_t half) {
    memory.store(end_, half);
    end_ += 2;
  }
  void emit(std::string_view name, Operands o = {}) { emit(encode(name, o)); }
  Addr end() const { return end_; }
  RunResult run(std::uint64_t budget = 1'000'000) { return interpreter.run(hart, budget); }
  std::uint64_t& x(unsigned n) { return hart.x[n]; }

  AddressSpace memory;
  BlockCache blocks{memory};
  Interpreter interpreter{memory, blocks, *this};
  HartState hart;

 private:
  std::uint64_t read_counter(unsigned number, std::uint64_t executed) override {
    return number == csr::instret ? executed : number * 1000;
  }
  Addr end_;
};

}  // namespace rubato::chip::isa::test
