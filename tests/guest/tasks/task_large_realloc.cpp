// Blocks of hundreds of KiB that tasks resize, each its own, and then in order the same three. A tail that
// two blocks own, or that an abort takes from a block, shows in the contents.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/rubato.hpp"

extern "C" [[gnu::weak]] const char* capalloc_check();

namespace {

constexpr std::uint64_t kOwners = 12, kAppends = 60, kBuffers = 3, kPage = 4096, kChunk = 6 * kPage;

struct alignas(64) Buffer {
  rubato::tracked<unsigned char*> data = nullptr;
  rubato::tracked<std::uint64_t> bytes = 0;
};

Buffer buffers[kBuffers];
rubato::tracked<std::uint64_t> wrong[64 * 8];  // a line a task

void write(unsigned char* data, std::uint64_t from, std::uint64_t to, std::uint64_t seed) {
  for (std::uint64_t at = from; at < to; at += kPage)
    data[at] = static_cast<unsigned char>(seed + at / kPage);
}

std::uint64_t differences(const unsigned char* data, std::uint64_t from, std::uint64_t to,
                          std::uint64_t seed) {
  std::uint64_t count = 0;
  for (std::uint64_t at = from; at < to; at += kPage)
    count += data[at] != static_cast<unsigned char>(seed + at / kPage) ? 1 : 0;
  return count;
}

template <class Pointer>
Pointer checked(Pointer block) {
  if (block == nullptr) std::abort();
  return block;
}

void own(std::uint64_t i) {
  const std::uint64_t bytes = (1 + i % 5) * 50 * kPage;
  auto* data = static_cast<unsigned char*>(checked(std::malloc(bytes)));
  write(data, 0, bytes, i);
  data = static_cast<unsigned char*>(checked(std::realloc(data, 2 * bytes)));
  std::uint64_t count = differences(data, 0, bytes, i);
  write(data, bytes, 2 * bytes, i);
  data = static_cast<unsigned char*>(checked(std::realloc(data, bytes / 2)));
  count += differences(data, 0, bytes / 2, i);
  wrong[i * 8] = wrong[i * 8] + count;
  std::free(data);
}

void append(std::uint64_t i) {
  Buffer& buffer = buffers[i % kBuffers];
  const std::uint64_t bytes = buffer.bytes;
  auto* const data = static_cast<unsigned char*>(checked(std::realloc(buffer.data, bytes + kChunk)));
  write(data, bytes, bytes + kChunk, i % kBuffers);
  buffer.data = data;
  buffer.bytes = bytes + kChunk;
}

}  // namespace

int main(int argc, char** argv) {
  const bool are_shared = argc > 1;
  static_cast<void>(argv);
  const std::uint64_t tasks = are_shared ? kAppends : kOwners;
  for (std::uint64_t i = 0; i < tasks; ++i)
    rubato::create<rubato::mayspec>(are_shared ? append : own, {.at = i + 1}, i);
  rubato::run();
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < kOwners; ++i) count += wrong[i * 8];
  for (std::uint64_t b = 0; b < kBuffers && are_shared; ++b) {
    count += differences(buffers[b].data, 0, buffers[b].bytes, b);
    if (buffers[b].bytes != kAppends / kBuffers * kChunk) ++count;
    std::free(buffers[b].data);
  }
  const char* const fault = capalloc_check != nullptr ? capalloc_check() : nullptr;
  if (fault != nullptr) std::printf("heap: %s\n", fault);
  std::printf("%llu differences\ncheck: %s\n", static_cast<unsigned long long>(count),
              count == 0 && fault == nullptr ? "passed" : "failed");
  return count == 0 && fault == nullptr ? 0 : 1;
}
