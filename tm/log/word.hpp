// Accesses of program memory, of any alignment. Each is a single instruction: other threads may write at the
// same time, before a transaction finds out that it has to restart.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rubato::tm {

template <class T>
[[gnu::no_sanitize("alignment")]] inline T peek(const void* p) {
  return __atomic_load_n(static_cast<const T*>(p), __ATOMIC_RELAXED);
}
template <class T>
[[gnu::no_sanitize("alignment")]] inline void poke(void* p, T value) {
  __atomic_store_n(static_cast<T*>(p), value, __ATOMIC_RELAXED);
}

/// Copies shared memory into private memory, by words.
inline void peek_bytes(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<char*>(to);
  auto* in = static_cast<const char*>(from);
  for (; bytes >= 8; bytes -= 8, out += 8, in += 8) {
    const auto word = peek<std::uint64_t>(in);
    std::memcpy(out, &word, 8);
  }
  for (; bytes > 0; --bytes) *out++ = static_cast<char>(peek<std::uint8_t>(in++));
}
inline void poke_bytes(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<char*>(to);
  auto* in = static_cast<const char*>(from);
  for (; bytes >= 8; bytes -= 8, out += 8, in += 8) {
    std::uint64_t word;
    std::memcpy(&word, in, 8);
    poke<std::uint64_t>(out, word);
  }
  for (; bytes > 0; --bytes) poke<std::uint8_t>(out++, static_cast<std::uint8_t>(*in++));
}

/// Writes memory whose other readers find out afterwards that it has changed, so that it may be torn. For
/// ThreadSanitizer, which knows nothing of that, the words are atomic.
inline void overwrite(void* to, const void* from, std::size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  poke_bytes(to, from, bytes);
#else
  std::memcpy(to, from, bytes);
#endif
}
inline void overwrite_with(void* to, int byte, std::size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  for (std::size_t i = 0; i < bytes; ++i) poke(static_cast<char*>(to) + i, static_cast<std::uint8_t>(byte));
#else
  std::memset(to, byte, bytes);
#endif
}

}  // namespace rubato::tm
