// The value of a store that is under way, and what becomes of it. A connection has one only meanwhile: most
// connections do nothing most of the time, and their memory is what counts where there are many.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cached/core/engine.hpp"
#include "cached/core/item.hpp"

namespace rubato::cached {

struct AwaitedValue {
  Item* item = nullptr;  ///< null: the data of a login
  Cursor cursor;
  std::uint32_t hash = 0;
  StoreRequest store;
  std::string meta_flags;  ///< of the `ms` under way
  std::string login;       ///< data of the first `set` with -Y
  std::array<char, 24> binary_header{};
};

/// Empty, or with a value. The thread keeps one that was given back for its next store, so that a store which
/// arrives whole allocates nothing.
class AwaitedSlot {
 public:
  explicit operator bool() const { return value_ != nullptr; }
  AwaitedValue* operator->() const { return value_.get(); }
  AwaitedValue& operator*() const { return *value_; }
  /// With a value from now on. Errors: std::bad_alloc.
  AwaitedValue& fill() {
    if (!value_) take();
    return *value_;
  }
  // Not inlined, as the address of the thread's must not be kept over calls of the engine.
  [[gnu::noinline]] void give_back() {
    if (auto& kept = spare(); !kept) kept = std::move(value_);
    value_.reset();
  }

 private:
  [[gnu::noinline]] void take() {
    value_ = std::move(spare());
    if (!value_) value_ = std::make_unique<AwaitedValue>();
  }
  static std::unique_ptr<AwaitedValue>& spare() {
    static thread_local std::unique_ptr<AwaitedValue> of_this_thread;
    return of_this_thread;
  }
  std::unique_ptr<AwaitedValue> value_;
};

}  // namespace rubato::cached
