// Discipline `tm-it`, branch IT of the publication (T83): an item's section is a transaction, as LRU lists
// and slabs are, and all that is inside one is part of it.
//
// Memory becomes private where a chunk is taken and where a page is moved: what fills it next does so
// plainly, behind a commit that waits until no other transaction still runs that could look at it (T84).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include "cached/core/position.hpp"
#include "cached/core/pure.hpp"
#include "cached/discipline/tm_access.hpp"
#include "cached/discipline/tm_bits.hpp"

namespace rubato::cached {

/// @param A  the stage: `OnCommit`, or an earlier one
template <class A>
class TmIt : public A, public TmBits {
 public:
  static constexpr const char* kName = A::kItName;
  static constexpr bool kWaits = true;  ///< the page mover, for what is being sent

  TmIt(unsigned, unsigned) {}

  template <class F>
  auto item_section(std::uint32_t hash, F&& f) {
    const Open open(hash);
    return A::block(f);
  }
  /// Others are not in the way, since it is a transaction; only the item whose section this thread has open
  /// is.
  template <class F>
  bool try_item_section(std::uint32_t hash, F&& f) {
    if (is_open(hash)) return false;
    A::block(f);
    return true;
  }
  template <class F>
  auto all_items_section(F&& f) {
    return A::safe_block(f);
  }
  template <class F>
  auto lru_section(unsigned, F&& f) {
    return A::block(f);
  }
  template <class F>
  auto slabs_section(F&& f) {
    return A::safe_block(f);
  }

  using Position = PlainPosition;

 private:
  /// Set outside of transactions, so that what is undone leaves it as it is.
  class Open {
   public:
    explicit Open(std::uint32_t hash) : before_(std::exchange(open_, std::uint64_t{hash} + 1)) {}
    ~Open() { open_ = before_; }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    std::uint64_t before_;
  };
  RUBATO_CACHED_PURE static bool is_open(std::uint32_t hash) { return open_ == std::uint64_t{hash} + 1; }

  static inline thread_local std::uint64_t open_ = 0;  ///< the hash of the open section and 1; 0: none
};

}  // namespace rubato::cached
