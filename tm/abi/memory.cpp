// _ITM_memcpy, _ITM_memmove and _ITM_memset: 33 symbols. A side named n is private and touched plainly.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "tm/abi/types.hpp"
#include "tm/failure.hpp"
#include "tm/thread/thread.hpp"

namespace {

using rubato::tm::Load;
using rubato::tm::Store;
using rubato::tm::Thread;

/// Between two transactional sides: what is read at once, also where the sides overlap.
constexpr std::size_t kPiece = 512;

bool overlap(const void* a, const void* b, std::size_t bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return x < y + bytes && y < x + bytes;
}

void read_only(void* to, const void* from, std::size_t bytes, Load kind, bool may_overlap) {
  if (may_overlap && bytes != 0 && overlap(to, from, bytes)) {
    rubato::tm::fatal("_ITM_memmove between overlapping private and shared memory");
  }
  Thread* const thread = rubato_tm_current;
  thread->barriers->read(to, from, bytes, kind, thread);
}

void write_only(void* to, const void* from, std::size_t bytes, Store kind, bool may_overlap) {
  if (may_overlap && bytes != 0 && overlap(to, from, bytes)) {
    rubato::tm::fatal("_ITM_memmove between overlapping private and shared memory");
  }
  Thread* const thread = rubato_tm_current;
  thread->barriers->write(to, from, bytes, kind, thread);
}

// By pieces, from the end that is not overwritten first.
void transfer(void* to, const void* from, std::size_t bytes, Load load, Store store) {
  Thread* const thread = rubato_tm_current;
  char piece[kPiece];
  auto* const out = static_cast<char*>(to);
  auto* const in = static_cast<const char*>(from);
  const bool backwards = reinterpret_cast<std::uintptr_t>(to) > reinterpret_cast<std::uintptr_t>(from);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t n = bytes - done < kPiece ? bytes - done : kPiece;
    const std::size_t at = backwards ? bytes - done - n : done;
    thread->barriers->read(piece, in + at, n, load, thread);
    thread->barriers->write(out + at, piece, n, store, thread);
    done += n;
  }
}

}  // namespace

#define DEFINE_READ(function, from, kind, may_overlap)                                          \
  RUBATO_TM_EXPORT void* _ITM_##function##from##Wn(void* a, const void* b, std::size_t bytes) { \
    read_only(a, b, bytes, Load::kind, may_overlap);                                            \
    return a;                                                                                   \
  }
#define DEFINE_WRITE(function, to, kind, may_overlap)                                         \
  RUBATO_TM_EXPORT void* _ITM_##function##Rn##to(void* a, const void* b, std::size_t bytes) { \
    write_only(a, b, bytes, Store::kind, may_overlap);                                        \
    return a;                                                                                 \
  }
#define DEFINE_TRANSFER(function, from, load, to, store)                                        \
  RUBATO_TM_EXPORT void* _ITM_##function##from##to(void* a, const void* b, std::size_t bytes) { \
    transfer(a, b, bytes, Load::load, Store::store);                                            \
    return a;                                                                                   \
  }
#define DEFINE_FROM(function, from, load)                 \
  DEFINE_TRANSFER(function, from, load, Wt, plain)        \
  DEFINE_TRANSFER(function, from, load, WtaR, after_read) \
  DEFINE_TRANSFER(function, from, load, WtaW, after_write)
#define DEFINE_COPY(function, may_overlap)               \
  DEFINE_READ(function, Rt, plain, may_overlap)          \
  DEFINE_READ(function, RtaR, after_read, may_overlap)   \
  DEFINE_READ(function, RtaW, after_write, may_overlap)  \
  DEFINE_WRITE(function, Wt, plain, may_overlap)         \
  DEFINE_WRITE(function, WtaR, after_read, may_overlap)  \
  DEFINE_WRITE(function, WtaW, after_write, may_overlap) \
  DEFINE_FROM(function, Rt, plain)                       \
  DEFINE_FROM(function, RtaR, after_read)                \
  DEFINE_FROM(function, RtaW, after_write)
#define DEFINE_FILL(to, kind)                                                          \
  RUBATO_TM_EXPORT void* _ITM_memset##to(void* a, int byte, std::size_t bytes) {       \
    rubato_tm_current->barriers->fill(a, byte, bytes, Store::kind, rubato_tm_current); \
    return a;                                                                          \
  }

DEFINE_COPY(memcpy, false)
DEFINE_COPY(memmove, true)
DEFINE_FILL(W, plain)
DEFINE_FILL(WaR, after_read)
DEFINE_FILL(WaW, after_write)
