// Accesses of algorithms that keep stores until commit (T42, T43). Common rules: loads look into the
// write set first; stores into memory that ends with a rollback are plain (T26), and so are loads from
// there. Stores to the thread's own stack are made in place, with an undo log: GCC reads arguments of class
// type without a barrier. Invariant: the write set holds nothing of such memory, see settle_private().
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>

#include "tm/algorithm/own_stack.hpp"
#include "tm/fault.hpp"
#include "tm/log/word.hpp"
#include "tm/thread/algorithm.hpp"
#include "tm/thread/transaction.hpp"

namespace rubato::tm {

/// An exception that the innermost transaction allocated, and that ends when it is rolled back: libstdc++
/// constructs it partly by barriers and partly plainly.
[[gnu::always_inline]] inline bool is_in_own_exception(const void* p, Thread* thread) {
  const std::size_t first = thread->has_open_savepoint() ? thread->savepoints.back().exceptions.objects : 0;
  return thread->exceptions.holds(p, first);
}

/// The `bytes` (1 to 8) at `p`, the first one lowest.
[[gnu::always_inline]] inline std::uint64_t peek_part(const void* p, unsigned bytes) {
  switch (bytes) {
    case 1:
      return peek<std::uint8_t>(p);
    case 2:
      return peek<std::uint16_t>(p);
    case 4:
      return peek<std::uint32_t>(p);
    case 8:
      return peek<std::uint64_t>(p);
    default:
      std::uint64_t value = 0;
      peek_bytes(&value, p, bytes);
      return value;
  }
}

/// Writes the bytes of `word` that its mask names, and no others: those may be private to another thread.
inline void write_back(const WriteSet::Word& word) {
  auto* const to = reinterpret_cast<char*>(word.address);
  if (word.mask == ~std::uint64_t{0}) return poke(to, word.value);
  for (unsigned i = 0; i < 8;) {
    const std::uint64_t mask = word.mask >> (8 * i), value = word.value >> (8 * i);
    if (i % 4 == 0 && (mask & 0xffff'ffff) == 0xffff'ffff) {
      poke(to + i, static_cast<std::uint32_t>(value));
      i += 4;
    } else {
      if ((mask & 0xff) != 0) poke(to + i, static_cast<std::uint8_t>(value));
      ++i;
    }
  }
}
inline void write_back(Thread& thread) {
  for (const WriteSet::Word& word : thread.writes) write_back(word);
}

/// A nested transaction has become part of the outer one: what it kept for memory that now ends with a
/// rollback is written, since stores there are plain from here on.
inline void settle_private(Thread& thread, std::size_t mark) {
  thread.writes.for_each_since(mark, [&thread](WriteSet::Word& word) {
    if (word.mask == 0 || !is_in_own_exception(reinterpret_cast<void*>(word.address), &thread)) return;
    write_back(word);
    word.mask = 0;
  });
}

/// Class Reads: read<is_logged>(p, bytes, thread), bytes 1 to 8, gives what memory held at the snapshot;
/// lock(p, bytes, thread) keeps others out of memory that is written in place, until the transaction ends.
template <class Reads>
struct BufferedAccess {
  template <bool is_logged>
  [[gnu::always_inline]] static std::uint64_t load_part(const void* p, unsigned bytes, Thread* thread) {
    if (is_own_frame(p, thread) || is_in_own_exception(p, thread)) return peek_part(p, bytes);
    if (thread->writes.empty()) return Reads::template read<is_logged>(p, bytes, thread);
    const WriteSet::Part own = thread->writes.part(reinterpret_cast<std::uintptr_t>(p), bytes);
    if (own.mask == ~std::uint64_t{0} >> (64 - 8 * bytes)) return own.value;
    return (Reads::template read<is_logged>(p, bytes, thread) & ~own.mask) | own.value;
  }
  [[gnu::always_inline]] static void store_part(void* p, unsigned bytes, std::uint64_t value,
                                                Thread* thread) {
    if (__builtin_expect(is_on_own_stack(p, thread), false) && !has_fault(Fault::own_stack_kept)) {
      store_on_stack(p, bytes, value, thread);
    } else if (is_in_own_exception(p, thread)) {
      poke_bytes(p, &value, bytes);
    } else {
      thread->writes.write(reinterpret_cast<std::uintptr_t>(p), bytes, value, thread->has_open_savepoint());
    }
  }

  [[gnu::noinline]] static void store_on_stack(void* p, unsigned bytes, std::uint64_t value, Thread* thread) {
    if (!is_dead_on_restart(p, thread)) {
      if (!is_own_frame(p, thread)) Reads::lock(p, bytes, thread);
      thread->undo.save(p, bytes);
    }
    poke_bytes(p, &value, bytes);
  }

  template <Load kind, class T>
  static T load(const void* p, Thread* thread) {
    return static_cast<T>(load_part<kind != Load::after_read>(p, sizeof(T), thread));
  }
  template <Store, class T>
  static void store(void* p, T value, Thread* thread) {
    store_part(p, sizeof(T), value, thread);
  }

  /// Calls piece(offset, bytes) for parts of at most eight bytes, none of which crosses an aligned word.
  template <class F>
  static void by_words(const void* p, std::size_t bytes, F piece) {
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t left = 8 - (reinterpret_cast<std::uintptr_t>(p) + done) % 8;
      const std::size_t n = std::min(left, bytes - done);
      piece(done, static_cast<unsigned>(n));
      done += n;
    }
  }
  static void read(void* to, const void* from, std::size_t bytes, Load, Thread* thread) {
    by_words(from, bytes, [=](std::size_t offset, unsigned n) {
      const std::uint64_t value = load_part<true>(static_cast<const char*>(from) + offset, n, thread);
      std::memcpy(static_cast<char*>(to) + offset, &value, n);
    });
  }
  static void write(void* to, const void* from, std::size_t bytes, Store, Thread* thread) {
    by_words(to, bytes, [=](std::size_t offset, unsigned n) {
      std::uint64_t value = 0;
      std::memcpy(&value, static_cast<const char*>(from) + offset, n);
      store_part(static_cast<char*>(to) + offset, n, value, thread);
    });
  }
  static void fill(void* to, int byte, std::size_t bytes, Store, Thread* thread) {
    const std::uint64_t value = 0x0101'0101'0101'0101u * static_cast<std::uint8_t>(byte);
    by_words(to, bytes, [=](std::size_t offset, unsigned n) {
      store_part(static_cast<char*>(to) + offset, n, value, thread);
    });
  }
  static void save(const void* address, std::size_t bytes, Thread* thread) {
    thread->undo.save(address, bytes);
  }
};

/// Takes back memory and the write set: down to the savepoint, or everything.
inline void roll_back_stores(Thread& thread, const Savepoint* savepoint) {
  restore_memory(thread, savepoint);
  if (savepoint == nullptr) {
    thread.writes.clear();
  } else if (!has_fault(Fault::savepoint_keeps_stores)) {
    thread.writes.roll_back_to(savepoint->writes);
  }
}

}  // namespace rubato::tm
