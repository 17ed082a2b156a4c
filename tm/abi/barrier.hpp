// A load, store or log barrier of any type, by the table of the thread's algorithm.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tm/thread/thread.hpp"

namespace rubato::tm {

template <std::size_t bytes>
struct WordOf {
  using Type = void;
};
template <>
struct WordOf<1> {
  using Type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using Type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using Type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using Type = std::uint64_t;
};

template <class Word>
constexpr auto& loads(const Barriers& barriers) {
  if constexpr (sizeof(Word) == 1) {
    return barriers.load1;
  } else if constexpr (sizeof(Word) == 2) {
    return barriers.load2;
  } else if constexpr (sizeof(Word) == 4) {
    return barriers.load4;
  } else {
    return barriers.load8;
  }
}
template <class Word>
constexpr auto& stores(const Barriers& barriers) {
  if constexpr (sizeof(Word) == 1) {
    return barriers.store1;
  } else if constexpr (sizeof(Word) == 2) {
    return barriers.store2;
  } else if constexpr (sizeof(Word) == 4) {
    return barriers.store4;
  } else {
    return barriers.store8;
  }
}

/// The x87 format has 10 bytes; what pads it belongs to the object, but is never part of its value.
template <class T>
constexpr bool kIsX87 = std::is_same_v<T, long double> && __LDBL_MANT_DIG__ == 64;
constexpr std::size_t kX87Bytes = 10;

template <class T, Load kind>
[[gnu::always_inline]] inline T load(const T* p) {
  Thread* const thread = rubato_tm_current;
  using Word = typename WordOf<sizeof(T)>::Type;
  if constexpr (std::is_same_v<T, Word>) {
    return loads<Word>(*thread->barriers)[static_cast<std::size_t>(kind)](p, thread);
  } else if constexpr (!std::is_void_v<Word>) {
    return __builtin_bit_cast(T, loads<Word>(*thread->barriers)[static_cast<std::size_t>(kind)](p, thread));
  } else {
    T value;
    thread->barriers->read(&value, p, sizeof(T), kind, thread);
    return value;
  }
}

template <class T, Store kind>
[[gnu::always_inline]] inline void store(T* p, T value) {
  Thread* const thread = rubato_tm_current;
  using Word = typename WordOf<sizeof(T)>::Type;
  if constexpr (!std::is_void_v<Word>) {
    stores<Word>(*thread->barriers)[static_cast<std::size_t>(kind)](p, __builtin_bit_cast(Word, value),
                                                                    thread);
  } else if constexpr (kIsX87<T>) {
    thread->barriers->write(p, &value, kX87Bytes, kind, thread);
  } else if constexpr (std::is_same_v<T, _Complex long double> && kIsX87<long double>) {
    auto* const parts = reinterpret_cast<char*>(p);
    thread->barriers->write(parts, &value, kX87Bytes, kind, thread);
    thread->barriers->write(parts + sizeof(long double),
                            reinterpret_cast<char*>(&value) + sizeof(long double), kX87Bytes, kind, thread);
  } else {
    thread->barriers->write(p, &value, sizeof(T), kind, thread);
  }
}

}  // namespace rubato::tm
