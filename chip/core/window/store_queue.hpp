// The stores of a window core that are not in guest memory yet, oldest first: those in the reorder buffer,
// and those that have committed and wait for their lines. A load finds its bytes here before it finds them in
// memory (K66).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct QueuedStore {
  std::uint64_t position;  ///< in the reorder buffer
  std::uint64_t stamp;     ///< its own, of all stores so far
  Addr address;
  std::uint64_t value;  ///< in its lowest bytes
  std::uint8_t bytes;
  bool is_committed = false;
  bool awaits_line = false;                    ///< that messages bring
  std::uint64_t from = 0;                      ///< committed: the cycle from which on it may be performed
  std::uint64_t complete = ~std::uint64_t{0};  ///< committed: when its value was there
  AccessParts waited{};                        ///< for its line

  LineAddr line() const { return line_of(address); }
  bool overlaps(Addr a, unsigned n) const { return a < address + bytes && address < a + n; }
  bool covers(Addr a, unsigned n) const { return address <= a && a + n <= address + bytes; }
};

/// How many of something there are that touch a word, or another one that looks the same: none, for certain.
class WordCounts {
 public:
  void add(Addr address, unsigned bytes) { change(address, bytes, 1); }
  void remove(Addr address, unsigned bytes) { change(address, bytes, -1); }
  bool may_have(Addr address, unsigned bytes) const {
    return (counts_[index(address)] | counts_[index(address + bytes - 1)]) != 0;
  }

 private:
  static std::size_t index(Addr address) { return (address >> 3) % 256; }
  void change(Addr address, unsigned bytes, int by) {
    const std::size_t first = index(address), last = index(address + bytes - 1);
    counts_[first] = static_cast<std::uint16_t>(counts_[first] + by);
    if (last != first) counts_[last] = static_cast<std::uint16_t>(counts_[last] + by);
  }
  std::array<std::uint16_t, 256> counts_{};
};

class StoreQueue {
 public:
  explicit StoreQueue(std::size_t capacity) { stores_.reserve(capacity); }

  bool empty() const { return stores_.empty(); }
  std::size_t size() const { return stores_.size(); }
  void add(const QueuedStore& store) {
    words_.add(store.address, store.bytes);
    stores_.push_back(store);
  }
  void remove(std::size_t index) {
    words_.remove(stores_[index].address, stores_[index].bytes);
    stores_.erase(stores_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  /// Those of instructions at `position` or behind.
  void remove_from(std::uint64_t position) {
    while (!stores_.empty() && stores_.back().position >= position) remove(stores_.size() - 1);
  }

  /// By its stamp, or size() if it is gone.
  std::size_t find(std::uint64_t stamp) const {
    std::size_t i = 0;
    while (i < stores_.size() && stores_[i].stamp != stamp) ++i;
    return i;
  }
  /// Of an instruction that has one.
  std::size_t find_position(std::uint64_t position) const {
    std::size_t i = stores_.size();
    while (stores_[--i].position != position) {
    }
    return i;
  }
  bool has_line(LineAddr line) const {
    for (const QueuedStore& s : stores_)
      if (s.line() == line) return true;
    return false;
  }
  /// An older one to the line of the store at `index`.
  bool has_older_of_line(std::size_t index) const {
    for (std::size_t i = 0; i < index; ++i)
      if (stores_[i].line() == stores_[index].line()) return true;
    return false;
  }
  bool may_overlap(Addr address, unsigned bytes) const { return words_.may_have(address, bytes); }
  /// The youngest store before `position` to some of these bytes, or null.
  const QueuedStore* last_to(Addr address, unsigned bytes, std::uint64_t position) const {
    for (auto s = stores_.rbegin(); s != stores_.rend(); ++s)
      if (s->position < position && s->overlaps(address, bytes)) return &*s;
    return nullptr;
  }
  /// `raw`, the bytes in memory, with those of stores before `position` in place of them.
  std::uint64_t overlay(std::uint64_t raw, Addr address, unsigned bytes, std::uint64_t position) const {
    for (const QueuedStore& s : stores_) {
      if (s.position >= position) break;
      if (!s.overlaps(address, bytes)) continue;
      for (unsigned i = 0; i < bytes; ++i) {
        const Addr at = address + i;
        if (at < s.address || at >= s.address + s.bytes) continue;
        const std::uint64_t byte = s.value >> (at - s.address) * 8 & 0xff;
        raw = (raw & ~(std::uint64_t{0xff} << i * 8)) | byte << i * 8;
      }
    }
    return raw;
  }

  QueuedStore& operator[](std::size_t index) { return stores_[index]; }
  const QueuedStore& operator[](std::size_t index) const { return stores_[index]; }

 private:
  std::vector<QueuedStore> stores_;
  WordCounts words_;
};

}  // namespace rubato::chip
