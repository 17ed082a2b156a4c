// Runs generated programs one after another: each in turn, in transactions alone, and in transactions while
// another thread reads the same memory in transactions and writes back what it has read. All must give the
// same. The second thread changes nothing if transactions are isolated, and makes the first one's conflict
// and begin anew. Prints the name of each program that differs, and how; exit code 1 if there is one.
//
//   PROGRAM [no-nested-cancels] [alone-NAME]...
//
// leaves out those that cancel a nested transaction; runs NAME alone only.
// SPDX-License-Identifier: MIT
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include "shared.hpp"

extern const Program programs[];
extern const unsigned program_count;

namespace {

constexpr unsigned kWords = sizeof(Shared) / sizeof(Word);
constexpr int kBeside = 4;       ///< runs of a program beside the other thread
constexpr unsigned kLetsIn = 3;  ///< every n-th call gives up the processor
using AnyWord [[gnu::may_alias]] = Word;

Shared shared, expected;
std::atomic<bool> disturbing{false}, over{false};
/// The other thread is not to begin a transaction; it is in one. Each looks at the other's after it has set
/// its own.
std::atomic<bool> kept_out{false}, inside{false};

Word mixed(Word hash, Word word) { return (hash ^ word) * 0x9e3779b97f4a7c15ul + (hash >> 29); }

/// Without padding, which a copy need not keep.
Word digest(const Shared& s) {
  Word hash = 1;
  for (Word word : s.w) hash = mixed(hash, word);
  for (unsigned char byte : s.b) hash = mixed(hash, byte);
  for (short half : s.h) hash = mixed(hash, static_cast<Word>(half));
  for (const Pair& p : s.p) hash = mixed(mixed(hash, p.a), static_cast<Word>(p.b));
  for (const Triple& t : s.t) hash = mixed(mixed(mixed(hash, t.a), t.b), t.c);
  for (const Mixed& m : s.m)
    hash = mixed(mixed(mixed(hash, static_cast<Word>(m.c)), static_cast<Word>(m.d)),
                 m.e + static_cast<Word>(m.f));
  for (const Wide& w : s.v)
    for (Word word : w.v) hash = mixed(hash, word);
  return hash;
}

void fill(Shared& s, Word seed) {
  std::memset(&s, 0, sizeof s);
  const auto next = [&] { return seed = seed * 6364136223846793005ul + 1442695040888963407ul, seed >> 33; };
  for (Word& word : s.w) word = next();
  for (unsigned char& byte : s.b) byte = static_cast<unsigned char>(next());
  for (short& half : s.h) half = static_cast<short>(next());
  for (Pair& p : s.p) p.a = static_cast<unsigned>(next()), p.b = static_cast<short>(next());
  for (Triple& t : s.t)
    t.a = next(), t.b = static_cast<unsigned char>(next()), t.c = static_cast<unsigned short>(next());
  for (Mixed& m : s.m) {
    m.c = static_cast<signed char>(next()), m.d = static_cast<long>(next());
    m.e = static_cast<unsigned short>(next()), m.f = static_cast<double>(next() % 1000);
  }
  for (Wide& w : s.v)
    for (Word& word : w.v) word = next();
}

__attribute__((noinline)) void put(const Shared& from) {
  const auto* source = reinterpret_cast<const AnyWord*>(&from);
  auto* to = reinterpret_cast<AnyWord*>(&shared);
  __transaction_atomic {
    for (unsigned i = 0; i < kWords; ++i) to[i] = source[i];
  }
}
__attribute__((noinline)) void take(Shared& to) {
  auto* target = reinterpret_cast<AnyWord*>(&to);
  const auto* from = reinterpret_cast<const AnyWord*>(&shared);
  __transaction_atomic {
    for (unsigned i = 0; i < kWords; ++i) target[i] = from[i];
  }
}

void disturb() {
  auto* words = reinterpret_cast<AnyWord*>(&shared);
  volatile Word zero = 0;  // GCC leaves out stores of a value that it has just loaded from there
  for (Word n = 0; !over; ++n) {
    disturbing.wait(false);
    inside = true;
    if (kept_out) {
      inside = false;
      sched_yield();
      continue;
    }
    const Word i = n * 7 % kWords, j = n * 13 % kWords, nothing = zero;
    __transaction_atomic {
      const Word one = words[i], other = words[j];
      words[j] = other ^ nothing;
      words[i] = one ^ nothing;
    }
    inside = false;
  }
}

bool differs(const Program& program, Word seed, Word answer, const char* how) {
  Shared start, end;
  fill(start, seed);
  put(start);
  const Word got = program.transactional(&shared, seed);
  let_other_in();
  take(end);
  if (got == answer && digest(end) == digest(expected)) return false;
  std::printf("%s: differs from the serial run %s (seed %lu, %s)\n", program.name, how, seed,
              got == answer ? "memory" : "local variables");
  return true;
}

bool says(char** arguments, const char* first, const char* second) {
  const std::size_t size = std::strlen(first);
  for (; *arguments; ++arguments)
    if (!std::strncmp(*arguments, first, size) && !std::strcmp(*arguments + size, second)) return true;
  return false;
}

}  // namespace

void let_other_run() {
  static unsigned calls;
  if (disturbing && ++calls % kLetsIn == 0) sched_yield();
}
void keep_other_out() {
  kept_out = true;
  while (inside) sched_yield();
}
void let_other_in() { kept_out = false; }

int main(int, char** argv) {
  std::thread other(disturb);
  unsigned wrong = 0, run = 0;
  for (unsigned n = 0; n < program_count; ++n) {
    const Program& program = programs[n];
    if (program.cancels_nested && says(argv + 1, "no-nested-cancels", "")) continue;
    const int beside = says(argv + 1, "alone-", program.name) ? 0 : kBeside;
    ++run;
    for (Word seed = 1; seed <= 5; ++seed) {
      fill(expected, seed);
      const Word answer = program.serial(&expected, seed);
      bool is_wrong = differs(program, seed, answer, "alone");
      disturbing = true;
      disturbing.notify_one();
      for (int i = 0; i < beside && !is_wrong; ++i)
        is_wrong = differs(program, seed, answer, "beside another thread");
      disturbing = false;
      wrong += is_wrong;
      if (is_wrong) break;
    }
  }
  over = disturbing = true;
  disturbing.notify_one();
  other.join();
  std::printf("%u programs, %u differ\n", run, wrong);
  return wrong != 0;
}
