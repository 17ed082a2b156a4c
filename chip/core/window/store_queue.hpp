// The stores of a window core, oldest first. Queued stores are not in guest memory yet: they are in the
// reorder buffer, or have committed and wait for their lines. A load finds its bytes here before it finds
// them in memory (K66). Written stores are in guest memory, but the clock may not have reached the cycle in
// which the L1 has them: until then they take their entry, and later loads of their bytes wait for them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
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
  bool awaits_decision = false;                ///< awaits_line, but on a conflict
  std::uint64_t from = 0;                      ///< committed: the cycle from which on it may be performed
  std::uint64_t complete = ~std::uint64_t{0};  ///< committed: when its value was there
  AccessParts waited{};                        ///< for its line

  LineAddr line() const { return line_of(address); }
  bool overlaps(Addr a, unsigned n) const { return a < address + bytes && address < a + n; }
  bool covers(Addr a, unsigned n) const { return address <= a && a + n <= address + bytes; }
};

/// A store that guest memory has: the address and the end of its bytes, and two times of the core.
struct WrittenStore {
  Addr address, end;
  std::uint64_t complete;  ///< its value could be forwarded
  std::uint64_t done;      ///< the L1 has it

  bool overlaps(Addr a, unsigned n) const { return a < end && address < a + n; }
  bool covers(Addr a, unsigned n) const { return address <= a && a + n <= end; }
};

/// How many of something there are that touch a word, or another one that looks the same: none, for certain.
class WordCounts {
 public:
  void add(Addr address, unsigned bytes) { change(address, bytes, 1); }
  void remove(Addr address, unsigned bytes) { change(address, bytes, -1); }
  bool may_have(Addr address, unsigned bytes) const {
    return (counts_[index(address)] | counts_[index(address + bytes - 1)]) != 0;
  }
  /// The same beside one that add() was called for with these words.
  bool may_have_others(Addr address, unsigned bytes) const {
    return (counts_[index(address)] | counts_[index(address + bytes - 1)]) > 1;
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

/// Until when something is under way for a word, or for another one that looks the same.
class WordTimes {
 public:
  void add(Addr begin, Addr end, std::uint64_t time) {
    raise(begin >> 3, time);
    if (((end - 1) ^ begin) >> 3 != 0) raise((end - 1) >> 3, time);
  }
  std::uint64_t until(Addr address, unsigned bytes) const {
    return std::max(times_[(address >> 3) % kWords], times_[((address + bytes - 1) >> 3) % kWords]);
  }

 private:
  static constexpr std::size_t kWords = 256;
  void raise(Addr word, std::uint64_t time) {
    std::uint64_t& at = times_[word % kWords];
    at = std::max(at, time);
  }
  std::array<std::uint64_t, kWords> times_{};
};

class StoreQueue {
 public:
  explicit StoreQueue(std::size_t capacity) : most_written_(8 * capacity) {
    stores_.reserve(capacity);
    ends_.reserve(capacity);
    written_.reserve(most_written_);
  }

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
  /// Removes the stores of instructions at `position` or behind.
  void remove_from(std::uint64_t position) {
    while (!stores_.empty() && stores_.back().position >= position) remove(stores_.size() - 1);
  }

  void clear() {
    while (!stores_.empty()) remove(stores_.size() - 1);
  }

  /// By its stamp, or size() if it is gone.
  std::size_t find(std::uint64_t stamp) const {
    std::size_t i = 0;
    while (i < stores_.size() && stores_[i].stamp != stamp) ++i;
    return i;
  }
  /// The index of the store of an instruction that has one.
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

  // ---- Written stores ----
  /// Those that take an entry: the L1 had not got them when entries were released last.
  std::size_t written() const { return ends_.size(); }
  /// `cycle`: of dispatch.
  void add_written(const WrittenStore& store, std::uint64_t cycle) {
    under_way_.add(store.address, store.end, store.done);
    ends_.push_back(store.done);
    if (written_.size() >= most_written_)  // few of them are under way
      std::erase_if(written_, [cycle](const WrittenStore& s) { return s.done <= cycle; });
    written_.push_back(store);
  }
  /// Whether a store to some of these bytes may not have reached the L1 at `cycle`.
  bool may_be_under_way(Addr address, unsigned bytes, std::uint64_t cycle) const {
    return under_way_.until(address, bytes) > cycle;
  }
  /// Entries of stores that the L1 has at `cycle` are free.
  void release(std::uint64_t cycle) {
    std::erase_if(ends_, [cycle](std::uint64_t end) { return end <= cycle; });
  }
  /// When the next entry is free. Precondition: written() != 0.
  std::uint64_t next_done() const { return *std::min_element(ends_.begin(), ends_.end()); }
  void forget_written() {
    ends_.clear();
    written_.clear();
  }
  /// The youngest written store to some of these bytes, or null.
  const WrittenStore* last_written_to(Addr address, unsigned bytes) const {
    for (auto s = written_.rbegin(); s != written_.rend(); ++s)
      if (s->overlaps(address, bytes)) return &*s;
    return nullptr;
  }

  // ---- Values and order of queued stores ----
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
  std::vector<std::uint64_t> ends_;    // of written stores that take an entry
  std::vector<WrittenStore> written_;  // those under way, and some that are not any longer
  std::size_t most_written_;
  WordCounts words_;
  WordTimes under_way_;
};

}  // namespace rubato::chip
