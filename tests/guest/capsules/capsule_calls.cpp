// System calls of capsules (P49): made at once and for good, in a doomed run too; on untracked memory, the
// own stack and read-only data alone; nothing is taken from tracked pages. A call that waits does so
// speculatively; one that needs more or sends a signal promotes.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

namespace capsule = rubato::capsule;

struct Seen {
  volatile std::uint64_t calls, is_inside, is_again, written, refused, mapped, speculative, begun, promoted;
  int pipe[2];
};
RUBATO_UNTRACKED rubato::untracked<Seen> seen;
volatile std::uint64_t word;
alignas(4096) char page[4096] = "tracked";

/// Both runs of a task may be in its capsule.
void count(volatile std::uint64_t& counter, bool is_so = true) {
  __atomic_fetch_add(&counter, is_so ? 1 : 0, __ATOMIC_RELAXED);
}

template <class... Args>
bool gives(std::int64_t result, std::int64_t number, Args... args) {
  return capsule::system_call(number, args...) == result;
}

}  // namespace

RUBATO_CAPSULE(void, call_at_once, ()) {
  seen->calls = seen->calls + 1;
  if (seen->calls == 1) {  // aborted meanwhile
    seen->is_inside = 1;
    while (seen->is_again == 0) {
    }
  } else {
    seen->is_again = 1;
  }
  const char on_stack[] = "s";
  constexpr int kNew = MAP_PRIVATE | MAP_ANONYMOUS, kMapUntracked = 0x02000000;
  count(seen->written, gives(1, SYS_write, seen->pipe[1], on_stack, 1));
  count(seen->written, gives(1, SYS_write, seen->pipe[1], "r", 1));
  count(seen->refused, gives(-EPERM, SYS_mprotect, page, sizeof page, PROT_READ));
  constexpr int kUntracked = 0x10000000;
  count(seen->refused, gives(-EPERM, SYS_mprotect, page, sizeof page, PROT_READ | PROT_WRITE | kUntracked));
  count(seen->refused, gives(-EPERM, SYS_munmap, page, sizeof page));
  count(seen->refused, gives(-EPERM, SYS_mmap, page, sizeof page, PROT_READ, kNew | MAP_FIXED, -1, 0));
  count(seen->refused, gives(-EPERM, SYS_madvise, page, sizeof page, MADV_DONTNEED));
  const std::int64_t at = capsule::system_call(SYS_mmap, 0, 8192, PROT_NONE, kNew | kMapUntracked, -1, 0);
  if (at > 0 && gives(0, SYS_mprotect, at, 4096, PROT_READ | PROT_WRITE) &&
      gives(0, SYS_munmap, at + 4096, 4096)) {
    *reinterpret_cast<volatile char*>(at) = 1;
    count(seen->mapped);
  }
  count(seen->speculative, capsule::is_speculative());
}

RUBATO_CAPSULE(void, write_tracked, ()) {
  count(seen->begun);
  count(seen->written, gives(1, SYS_write, seen->pipe[1], page, 1));
  if (!capsule::is_speculative()) count(seen->promoted);
}
RUBATO_CAPSULE(void, sleep_inside, ()) {
  const timespec time{0, 1000};
  count(seen->begun);
  capsule::system_call(SYS_nanosleep, &time, 0);
  if (!capsule::is_speculative()) count(seen->promoted);
}
RUBATO_CAPSULE(void, signal_inside, ()) {
  count(seen->begun);
  capsule::system_call(SYS_kill, 1 << 20, 0);  // no such process
  if (!capsule::is_speculative()) count(seen->promoted);
}

namespace {

void change_word() {
  while (seen->is_inside == 0) {
  }
  word = 1;
}
void look() {
  if (word != 2) call_at_once();
}

}  // namespace

int main() {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) return 2;
  seen->pipe[0] = ends[0];
  seen->pipe[1] = ends[1];
  rubato::create<rubato::nonspec>(change_word, {.at = 0});
  rubato::create<rubato::spec>(look, {.at = 1, .on = 7});
  rubato::create<rubato::spec>([] { write_tracked(); }, {.at = 2});
  rubato::create<rubato::spec>([] { sleep_inside(); }, {.at = 3});
  rubato::create<rubato::spec>([] { signal_inside(); }, {.at = 4});
  rubato::run();
  char text[16];
  const auto bytes = read(ends[0], text, sizeof text);
  std::printf(
      "calls %lu, speculative %lu, bytes %ld of %lu, refused %lu, mapped %lu, begun %lu, promoted %lu\n",
      seen->calls, seen->speculative, static_cast<long>(bytes), seen->written, seen->refused, seen->mapped,
      seen->begun, seen->promoted);
  return 0;
}
