// Loads and stores of all sizes that overlap in lines which are not in the caches: what a core that goes on
// past its misses could get wrong. Prints sums, which do not depend on timing; two threads share the lines.
// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

namespace {

constexpr unsigned kLine = 64, kLines = 3000, kRounds = 3;

template <class T>
void put(volatile unsigned char* at, T value) {
  *reinterpret_cast<volatile T*>(at) = value;
}
template <class T>
T get(const volatile unsigned char* at) {
  return *reinterpret_cast<const volatile T*>(at);
}

/// In its 32 bytes of each line: stores, and loads of all, of a part and of more than what was stored.
std::uint64_t work(volatile unsigned char* lines, unsigned offset) {
  std::uint64_t sum = 0, state = offset + 1;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < kLines; ++i) {
      volatile unsigned char* const mine = lines + i * 7 % kLines * kLine + offset;
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      put<std::uint64_t>(mine, state);
      sum += get<std::uint32_t>(mine + 4);  // a part of it
      put<std::uint16_t>(mine + 6, static_cast<std::uint16_t>(i));
      sum = sum * 31 + get<std::uint64_t>(mine);  // two stores
      sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(get<std::int16_t>(mine + 6)));
      sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(get<signed char>(mine + 7)));
      put<unsigned char>(mine + 9, static_cast<unsigned char>(state >> 9));
      sum = sum * 31 + get<std::uint32_t>(mine + 8);  // a store and what was there
      put<double>(mine + 16, static_cast<double>(state >> 40));
      sum += static_cast<std::uint64_t>(get<double>(mine + 16));
      put<float>(mine + 24, static_cast<float>(i));
      sum += static_cast<std::uint64_t>(get<float>(mine + 24)) + get<std::uint32_t>(mine + 24);
      std::uint64_t across;  // into the next 8 bytes
      std::memcpy(&across, const_cast<unsigned char*>(mine) + 4, sizeof across);
      sum ^= across;
    }
  }
  return sum;
}

/// Stores that wait when their page goes, or may not be written any longer.
std::uint64_t pages_go() {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < 50; ++i) {
    void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* const bytes = static_cast<volatile unsigned char*>(page);
    for (unsigned at = 0; at < 4096; at += 512) put<std::uint64_t>(bytes + at, at * i);
    mprotect(page, 4096, PROT_READ);
    for (unsigned at = 0; at < 4096; at += 512) sum += get<std::uint64_t>(bytes + at);
    munmap(page, 4096);
  }
  return sum;
}

}  // namespace

int main() {
  void* const memory =
      mmap(nullptr, kLines * kLine, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const lines = static_cast<volatile unsigned char*>(memory);
  std::uint64_t other = 0;
  std::thread thread([&] { other = work(lines, 32); });
  const std::uint64_t own = work(lines, 0);
  thread.join();
  std::printf("%016llx %016llx %llu\n", static_cast<unsigned long long>(own),
              static_cast<unsigned long long>(other), static_cast<unsigned long long>(pages_go()));
}
