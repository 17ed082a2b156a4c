// tracked<T>: mutable data that tasks share (M4). On the chip a plain load or store; on host engines a
// relaxed atomic access, and the one place where versions, logs and checks can hook in.
// Not to be confused with the chip's tracked memory, a page attribute.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rubato/engine/select.hpp"
#if defined(RUBATO_CHECKED)
#include "rubato/engine/native_check.hpp"
#endif

namespace rubato::inline v0 {

/// Holds a T; reads and writes like one. T is trivially copyable, at most 8 bytes. The layout is that of an
/// unsigned integer of T's size rounded up to a power of two, on every engine.
template <class T>
class tracked {
  static_assert(std::is_trivially_copyable_v<T>, "tracked<T> needs a trivially copyable T");
  static_assert(sizeof(T) <= 8, "tracked<T> needs a T of at most 8 bytes");
  using Word = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<(sizeof(T) <= 4), std::uint32_t, std::uint64_t>>>;

 public:
  /// T.
  using value_type = T;

  tracked() : tracked(T{}) {}
  /// Holds `value`.
  tracked(T value) : word_(to_word(value)) {}
  /// Reads the other, once.
  tracked(const tracked& other) : word_(other.load_word()) {}
  /// Reads the other, writes this.
  tracked& operator=(const tracked& other) { return *this = other.get(); }
  /// Writes.
  tracked& operator=(T value) {
    store_word(to_word(value));
    return *this;
  }
  ~tracked() = default;

  /// Reads.
  operator T() const { return get(); }
  /// Reads.
  T get() const {
    const Word word = load_word();
    T value;
    std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
    return value;
  }
  /// Reads a pointer, and follows it.
  T operator->() const
    requires std::is_pointer_v<T>
  {
    return get();
  }

  /// Reads, then writes: atomic only as far as the task is (mutual exclusion by locale, or speculation).
  ///@{
  template <class U>
  tracked& operator+=(const U& u) {
    return *this = static_cast<T>(get() + u);
  }
  template <class U>
  tracked& operator-=(const U& u) {
    return *this = static_cast<T>(get() - u);
  }
  template <class U>
  tracked& operator*=(const U& u) {
    return *this = static_cast<T>(get() * u);
  }
  template <class U>
  tracked& operator/=(const U& u) {
    return *this = static_cast<T>(get() / u);
  }
  template <class U>
  tracked& operator%=(const U& u) {
    return *this = static_cast<T>(get() % u);
  }
  template <class U>
  tracked& operator&=(const U& u) {
    return *this = static_cast<T>(get() & u);
  }
  template <class U>
  tracked& operator|=(const U& u) {
    return *this = static_cast<T>(get() | u);
  }
  template <class U>
  tracked& operator^=(const U& u) {
    return *this = static_cast<T>(get() ^ u);
  }
  tracked& operator++() { return *this = next(get(), true); }
  tracked& operator--() { return *this = next(get(), false); }
  T operator++(int) {
    const T old = get();
    *this = next(old, true);
    return old;
  }
  T operator--(int) {
    const T old = get();
    *this = next(old, false);
    return old;
  }
  ///@}

  /// Comparison for classes, which are not converted for it by themselves.
  friend bool operator==(const tracked& a, const T& b)
    requires std::is_class_v<T>
  {
    return a.get() == b;
  }

 private:
  static T next(T value, bool up) {
    if (up) {
      ++value;
    } else {
      --value;
    }
    return value;
  }
  static Word to_word(const T& value) {
    Word word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
  }
#if defined(RUBATO_ENGINE_CHIP)
  Word load_word() const { return word_; }
  void store_word(Word word) { word_ = word; }
#else
  Word load_word() const {
#if defined(RUBATO_CHECKED)
    engine::check::access(this, sizeof(Word), false);
#endif
    return __atomic_load_n(&word_, __ATOMIC_RELAXED);
  }
  void store_word(Word word) {
#if defined(RUBATO_CHECKED)
    engine::check::access(this, sizeof(Word), true);
#endif
    __atomic_store_n(&word_, word, __ATOMIC_RELAXED);
  }
#endif

  alignas(sizeof(Word)) Word word_;
};

}  // namespace rubato::inline v0
