// SPDX-License-Identifier: MIT
#include "chip/memory/lost_pages.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <csignal>
#include <span>

#include "base/error.hpp"

namespace rubato::chip {
namespace {

constexpr std::uintptr_t kPageBytes = 4096;

// The handler may run at any instruction of any thread: all that it reads is atomic and lock-free.
struct Watched {
  std::atomic<std::uintptr_t> begin{0}, end{0}, lost{0};
};
constexpr std::size_t kMostWatched = 1 << 15;  // as many as a program can have processes
std::array<Watched, kMostWatched> watched_memory;
std::atomic<std::size_t> watched_count{0};  // entries behind it were never used

std::span<Watched> all_watched() { return std::span(watched_memory).first(watched_count.load()); }
struct sigaction action_before {};

void on_bus_error(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const std::uintptr_t page = address & ~(kPageBytes - 1);
  for (Watched& memory : all_watched()) {
    if (address < memory.begin.load() || address >= memory.end.load()) continue;
    if (mmap(reinterpret_cast<void*>(page), kPageBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
      break;
    std::uintptr_t none = 0;
    memory.lost.compare_exchange_strong(none, page);
    return;
  }
  // Not guest memory: the access is made again, and ends the simulator as it would have without this.
  sigaction(SIGBUS, &action_before, nullptr);
}

Watched* find(const std::byte* base) {
  for (Watched& memory : all_watched())
    if (memory.begin.load() == reinterpret_cast<std::uintptr_t>(base)) return &memory;
  return nullptr;
}

}  // namespace

void LostPages::watch(std::byte* base, std::uint64_t bytes) {
  static const bool is_installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGBUS, &action, &action_before) == 0;
  }();
  if (!is_installed) throw Error(ExitCode::usage, "the host refuses a handler of SIGBUS");
  if (find(base) != nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  for (std::size_t i = 0; i < kMostWatched; ++i) {
    Watched& memory = watched_memory[i];
    std::uintptr_t none = 0;
    if (!memory.begin.compare_exchange_strong(none, begin)) continue;
    memory.lost = 0;
    memory.end = begin + bytes;
    for (std::size_t count = watched_count; count < i + 1;)
      if (watched_count.compare_exchange_weak(count, i + 1)) break;
    return;
  }
  throw Error(ExitCode::usage, "more guest memories show files than one process can watch");
}

void LostPages::forget(const std::byte* base) {
  Watched* const memory = find(base);
  if (memory == nullptr) return;
  memory->end = 0;
  memory->begin = 0;
}

const std::byte* LostPages::take(const std::byte* base) {
  Watched* const memory = find(base);
  return memory == nullptr ? nullptr : reinterpret_cast<const std::byte*>(memory->lost.exchange(0));
}

}  // namespace rubato::chip
