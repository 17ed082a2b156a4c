// The tags of a home's slice or directory, in sets by a line's frame (K22).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory_resource>
#include <utility>

#include "chip/cache/set_array.hpp"
#include "chip/coherence/line_frame.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

template <class Payload>
class FramedArray {
 public:
  static constexpr std::uint32_t kNoSlot = SetArray<Payload>::kNoSlot;
  FramedArray(const LineFrame& frame, std::uint64_t bytes, std::uint32_t ways,
              std::pmr::memory_resource* memory)
      : frame_(frame), ways_(ways), memory_(memory), array_(bytes, ways, memory) {}
  std::uint32_t ways() const { return ways_; }
  std::uint32_t find(LineAddr line) const { return array_.find(frame_.of(line)); }
  std::uint32_t victim(LineAddr line) const { return array_.victim(frame_.of(line)); }
  Payload& fill(std::uint32_t slot, LineAddr line) { return array_.fill(slot, frame_.of(line)); }
  void use(std::uint32_t slot) { array_.use(slot); }
  void erase(std::uint32_t slot) { array_.erase(slot); }
  bool is_empty(std::uint32_t slot) const { return array_.is_empty(slot); }
  LineAddr line_at(std::uint32_t slot) const { return frame_.line_of(array_.line_at(slot)); }
  std::uint64_t sets() const { return array_.sets(); }
  std::uint32_t slots() const { return array_.slots(); }

  /// Gives each set `ways` ways. A line keeps its way and its place in the order of use; where its way is
  /// gone, so is the line. Calls f(LineAddr, slot) for each: where it is now, or kNoSlot.
  template <class F>
  void resize(std::uint32_t ways, F&& f) {
    SetArray<Payload> old = std::move(array_);
    const std::uint32_t sets = old.slots() / old.slots_of_set();
    array_ = SetArray<Payload>(std::uint64_t{sets} * ways * kLineBytes, ways, memory_);
    for (std::uint64_t set = 0; set < sets; ++set)
      for (std::uint32_t i = 0; i < ways_; ++i) {  // the least recently used first
        const std::uint32_t slot = old.victim(LineAddr{set});
        old.use(slot);
        if (old.is_empty(slot)) continue;
        const LineAddr line = old.line_at(slot);
        const std::uint32_t way = slot - old.first_slot(line);
        const std::uint32_t now = way < ways ? array_.first_slot(line) + way : kNoSlot;
        if (now != kNoSlot) array_.fill(now, line) = old[slot];
        f(frame_.line_of(line), now);
      }
    ways_ = ways;
  }

 private:
  LineFrame frame_;
  std::uint32_t ways_;
  std::pmr::memory_resource* memory_;
  SetArray<Payload> array_;
};

}  // namespace rubato::chip
