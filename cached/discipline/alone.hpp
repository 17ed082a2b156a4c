// The critical sections of a shard of discipline `tasks` (T83): they exclude no other thread, since all that
// touch a shard are tasks of one resource. An item whose section is open is only kept from the same task, as
// the eviction in the midst of a store.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "cached/core/position.hpp"
#include "cached/discipline/access.hpp"

namespace rubato::cached {

class Alone : public Access {
 public:
  static constexpr const char* kName = "tasks";
  /// A busy object stays busy until this task has ended, so waiting for it is useless.
  static constexpr bool kWaits = false;

  Alone(unsigned, unsigned) {}

  template <class F>
  auto item_section(std::uint32_t hash, F&& f) {
    const Open open(*this, hash);
    return f();
  }
  template <class F>
  bool try_item_section(std::uint32_t hash, F&& f) {
    if (open_ && hash == hash_) return false;
    item_section(hash, f);
    return true;
  }
  template <class F>
  auto all_items_section(F&& f) {
    return f();
  }
  template <class F>
  auto lru_section(unsigned, F&& f) {
    return f();
  }
  template <class F>
  auto slabs_section(F&& f) {
    return f();
  }

  using Position = PlainPosition;

  static std::uint16_t peek(const std::uint16_t& bits) { return bits; }
  static void set(std::uint16_t& bits, std::uint16_t bit) { bits = static_cast<std::uint16_t>(bits | bit); }
  static void clear(std::uint16_t& bits, std::uint16_t bit) {
    bits = static_cast<std::uint16_t>(bits & ~bit);
  }
  static bool equal(const char* a, const char* b, std::size_t n) { return std::memcmp(a, b, n) == 0; }
  static void copy(char* to, const char* from, std::size_t n) { std::memcpy(to, from, n); }

 private:
  /// Sections nest: the inner one's hash stands for both meanwhile, as no section opens a third.
  class Open {
   public:
    Open(Alone& self, std::uint32_t hash)
        : self_(self), open_(std::exchange(self.open_, true)), hash_(std::exchange(self.hash_, hash)) {}
    ~Open() { self_.open_ = open_, self_.hash_ = hash_; }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    Alone& self_;
    bool open_;
    std::uint32_t hash_;
  };

  bool open_ = false;
  std::uint32_t hash_ = 0;
};

}  // namespace rubato::cached
