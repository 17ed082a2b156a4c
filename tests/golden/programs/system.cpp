// The kernel with system calls. It ends with exit code 7, which is part of what is compared.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "tests/golden/programs/kernels.hpp"

namespace {

std::uint64_t sum_of(const unsigned char* bytes, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum = sum * 31 + bytes[i];
  return sum;
}

}  // namespace

int golden::system_calls() {
  constexpr std::size_t kPages = 8, kPage = 4096;
  auto* const memory = static_cast<unsigned char*>(
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 3;
  for (std::size_t i = 0; i < kPages * kPage; i += 8) memory[i] = static_cast<unsigned char>(i >> 3);

  int ends[2];
  if (pipe(ends) != 0) return 3;
  if (write(ends[1], memory, kPage) != static_cast<ssize_t>(kPage)) return 3;
  if (read(ends[0], memory + kPage, kPage) != static_cast<ssize_t>(kPage)) return 3;
  say("piped", sum_of(memory + kPage, kPage));

  say("unmapped", static_cast<std::uint64_t>(munmap(memory + 2 * kPage, kPage)));
  say("protected", static_cast<std::uint64_t>(mprotect(memory, kPage, PROT_READ)));
  errno = 0;
  say("absent", open("/nothing/is/here", O_RDONLY) < 0 ? static_cast<std::uint64_t>(errno) : 0);
  errno = 0;
  say("closed", close(77) < 0 ? static_cast<std::uint64_t>(errno) : 0);
  struct stat status;
  say("is a pipe", fstat(ends[0], &status) == 0 && S_ISFIFO(status.st_mode));

  timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  const timespec nap{0, 20'000};
  nanosleep(&nap, nullptr);
  clock_gettime(CLOCK_MONOTONIC, &after);
  say("slept", static_cast<std::uint64_t>((after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec -
                                          before.tv_nsec));
  return 7;
}
