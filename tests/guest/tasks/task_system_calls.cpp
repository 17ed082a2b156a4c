// System calls of non-speculative tasks between speculative tasks that use the same memory, in the order of
// timestamps (C18): what is written out, read in and mapped anew is what the tasks before left and those
// behind find.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rubato/rubato.hpp"

namespace {

constexpr std::uint64_t kRounds = 40;

alignas(64) char text[64] = "0000\n";
alignas(64) volatile std::uint64_t input;
volatile std::uint64_t* page;
std::uint64_t* away;  // for the page
alignas(64) volatile std::uint64_t wrong;
int pipe_ends[2];

void fail(std::uint64_t what) { wrong = wrong * 10 + what; }

// Adds one to the number in `text`.
void count(std::uint64_t) {
  for (int i = 3; i >= 0; --i) {
    if (text[i] != '9') {
      ++text[i];
      return;
    }
    text[i] = '0';
  }
}
void print(std::uint64_t) {
  if (write(1, text, 5) != 5) fail(1);
}

// The page is dropped, moved away or mapped anew, and reads as zero: each round's task must find it so.
void clear(std::uint64_t round) {
  void* where = const_cast<std::uint64_t*>(page);
  if (round % 4 == 3) {
    if (mremap(where, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, away) != away || away[8] != round) fail(9);
    if (mmap(where, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != where)
      fail(9);
    return;
  }
  if (round % 3 == 0 && madvise(where, 4096, MADV_DONTNEED) != 0) fail(2);
  if (round % 3 == 1 &&
      mmap(where, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != where)
    fail(3);
  if (round % 3 == 2) {
    if (mprotect(where, 4096, PROT_READ) != 0 || page[8] != round) fail(4);
    if (mprotect(where, 4096, PROT_READ | PROT_WRITE) != 0) fail(4);
    page[8] = 0;
  }
}
void fill(std::uint64_t round) {
  if (page[8] != 0) fail(5);
  page[8] = round + 1;
}

// Reads what the round's number is into memory that the task behind reads.
void send(std::uint64_t round) {
  if (write(pipe_ends[1], &round, sizeof round) != sizeof round) fail(6);
  if (read(pipe_ends[0], const_cast<std::uint64_t*>(&input), sizeof input) != sizeof input) fail(7);
}
void receive(std::uint64_t round) {
  if (input != round) fail(8);
}

}  // namespace

int main() {
  page = static_cast<std::uint64_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  away = static_cast<std::uint64_t*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (pipe(pipe_ends) != 0) return 2;
  std::uint64_t at = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    rubato::create<rubato::spec>(count, {.at = ++at}, round);
    rubato::create<rubato::nonspec>(print, {.at = ++at}, round);
    rubato::create<rubato::nonspec>(clear, {.at = ++at}, round);
    rubato::create<rubato::spec>(fill, {.at = ++at}, round);
    rubato::create<rubato::nonspec>(send, {.at = ++at}, round);
    rubato::create<rubato::spec>(receive, {.at = ++at}, round);
  }
  rubato::run();
  std::printf("check: %s (%llu)\n", wrong == 0 ? "passed" : "failed", static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
