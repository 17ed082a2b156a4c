// Version numbers of cached copies. A store gives its line a new number, and a copy takes the number of the
// copy it was made from. A used copy must have the newest number (C21). Off unless coherence.check is on:
// then every function returns at once and no memory is held.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class Versions {
 public:
  /// A copy's place: which cache, and the slot in it.
  struct Place {
    std::uint32_t cache;
    std::uint32_t slot;
  };

  bool is_on() const { return on_; }
  void turn_on() { on_ = true; }
  /// Adds a cache of `slots` lines; returns its number.
  std::uint32_t add_cache(std::uint32_t slots) {
    caches_.emplace_back(on_ ? slots : 0);
    return static_cast<std::uint32_t>(caches_.size() - 1);
  }

  void copy(Place from, Place to) {
    if (on_) at(to) = at(from);
  }
  void read_memory(LineAddr line, Place to) {
    if (on_) at(to) = memory_[line.value];
  }
  void write_memory(Place from, LineAddr line) {
    if (on_) memory_[line.value] = at(from);
  }
  /// A copy's number, to travel with a message; 0 if they are off.
  std::uint64_t number(Place from) const { return on_ ? at(from) : 0; }
  void put(Place to, std::uint64_t number) {
    if (on_) at(to) = number;
  }
  std::uint64_t newest(LineAddr line) const {
    const auto it = newest_.find(line.value);
    return it == newest_.end() ? 0 : it->second;
  }
  void store(LineAddr line, Place place) {
    if (on_) at(place) = ++newest_[line.value];
  }
  /// Lines dropped with all their copies, whose memory may change behind the caches.
  void forget(LineAddr line) {
    if (on_) memory_[line.value] = newest_[line.value];
  }
  bool is_newest(LineAddr line, Place place) const { return at(place) == newest(line); }

 private:
  std::uint64_t& at(Place p) { return caches_[p.cache][p.slot]; }
  const std::uint64_t& at(Place p) const { return caches_[p.cache][p.slot]; }

  bool on_ = false;
  std::vector<std::vector<std::uint64_t>> caches_;
  std::unordered_map<std::uint64_t, std::uint64_t> newest_, memory_;  // looked up, never walked
};

}  // namespace rubato::chip
