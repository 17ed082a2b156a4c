// Random system calls with random and wild arguments: the process never crashes, hangs or writes outside of
// its directory; those of capsules, made at once, change nothing of tracked memory (P49). Meant for the asan
// build as well.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/os/process.hpp"
#include "tests/chip/os/elf_image.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::chip {
namespace {

namespace fs = std::filesystem;

struct Clock : GuestClock {
  std::uint64_t now = 0;
  std::uint64_t nanoseconds() const override { return now; }
};

/// A directory of its own with `box` (the working directory of the guest) and `outside` beside it.
class SyscallFuzz : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    fs::create_directories(root_ / "box" / "folder");
    fs::create_directories(root_ / "outside");
    root_.write("outside/precious", "precious");
    root_.write("box/file", "contents");
    fs::create_symlink("../outside/precious", root_ / "box" / "link");
    fs::create_symlink("../outside", root_ / "box" / "links");
    write_elf_image(root_ / "program");
    fs::current_path(root_ / "box");
  }
  void TearDown() override { fs::current_path(before_); }
  const TemporaryFolder root_;
  fs::path before_;
};

TEST_P(SyscallFuzz, NeverCrashesHangsOrEscapes) {
  Rng rng(static_cast<std::uint64_t>(GetParam()) + 1);
  ProcessOptions options;
  options.program = (root_ / "program").string();
  options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
  options.log = [](const std::string&) {};
  if (GetParam() % 2 == 1) options.sandbox = (root_ / "box").string();
  AddressSpace memory;
  Clock clock;
  Process process(options, memory, clock);

  constexpr Addr kArena = 0x1000000000;
  memory.map(kArena, 16 * AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  memory.map(kArena + 32 * AddressSpace::kPageBytes, AddressSpace::kPageBytes, Page::kRead);
  const std::vector<std::string> paths = {"file",
                                          "link",
                                          "links/precious",
                                          "../outside/precious",
                                          "folder/..",
                                          "/",
                                          ".",
                                          "new",
                                          "links/new",
                                          "/proc/self/maps",
                                          "/dev/null",
                                          "",
                                          "folder/../../outside/new",
                                          "/dev/urandom",
                                          "/proc/self/fd/1",
                                          (root_ / "outside" / "precious").string()};
  for (std::size_t i = 0; i < paths.size(); ++i)
    std::memcpy(memory.host(kArena + i * 256), paths[i].c_str(), paths[i].size() + 1);

  const auto argument = [&]() -> std::uint64_t {
    switch (rng.below(10)) {
      case 0:
        return rng();
      case 1:
        return rng.below(8);
      case 2:
        return kArena + rng.below(paths.size()) * 256;
      case 3:
        return kArena + 8192 + rng.below(56000);
      case 4:
        return kArena + 16 * AddressSpace::kPageBytes - rng.below(64);
      case 5:
        return kArena + (rng.below(40) << 12);
      case 6:
        return static_cast<std::uint64_t>(-100);
      case 7:
        return ~std::uint64_t{0} - rng.below(4096);
      case 8:
        return std::uint64_t{1} << rng.below(64);
      default:
        return rng.below(100000);
    }
  };
  constexpr int kCalls = 3000;
  for (int i = 0; i < kCalls && !process.exited(); ++i) {
    clock.now += rng.below(1000000);
    process.expire_timeouts();
    Thread* thread = nullptr;
    for (const auto& candidate : process.threads())
      if (candidate->state == ThreadState::runnable && (thread == nullptr || rng.below(2) == 0))
        thread = candidate.get();
    if (thread == nullptr) {
      const auto next = process.next_timeout();
      if (!next) break;  // all wait for ever: a deadlock is reported, not a hang
      clock.now = std::max(clock.now, *next);
      continue;
    }
    std::uint64_t number = rng.below(470);
    if (number == 93 || number == 94) number = 64;  // exits are rare, or nothing else would be tried
    thread->regs.x[reg::a7] = number;
    for (unsigned a = 0; a < 6; ++a) thread->regs.x[reg::a0 + a] = argument();
    for (std::uint64_t at = 0; at < 32; ++at)  // some structures are random, too
      if (memory.allows(kArena + 8192, 4096, Page::kWrite))
        memory.store(kArena + 8192 + rng.below(500) * 8, argument());
    process.syscall(*thread);
    for (const auto& each : process.threads()) ASSERT_EQ(each->regs.x[0], 0u);
  }
  std::ifstream precious(root_ / "outside" / "precious");
  std::string text;
  precious >> text;
  EXPECT_EQ(text, "precious");
  std::size_t outside = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(root_ / "outside")) ++outside;
  EXPECT_EQ(outside, 1u);
}

TEST_P(SyscallFuzz, AtOnceChangesNothingOfTrackedMemory) {
  Rng rng(static_cast<std::uint64_t>(GetParam()) + 1000);
  ProcessOptions options;
  options.program = (root_ / "program").string();
  options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
  options.log = [](const std::string&) {};
  AddressSpace memory;
  Clock clock;
  Process process(options, memory, clock);
  // Time stands still: a thread that waits does so for ever, and another one goes on.
  constexpr std::uint64_t kClone = 220, kThread = 0x50f00;
  for (int i = 0; i < 400; ++i) {
    auto& x = process.main_thread().regs.x;
    x[reg::a7] = kClone;
    x[reg::a0] = kThread;
    for (unsigned a = reg::a0 + 1; a < reg::a7; ++a) x[a] = 0x1000;
    ASSERT_EQ(process.syscall(process.main_thread()), SyscallOutcome::done);
  }
  const auto next_thread = [&]() -> Thread* {
    const auto found = std::find_if(process.threads().begin(), process.threads().end(),
                                    [](const auto& each) { return each->state == ThreadState::runnable; });
    return found == process.threads().end() ? nullptr : found->get();
  };

  constexpr std::uint64_t kPage = AddressSpace::kPageBytes, kPages = 16;
  constexpr Addr kTracked = 0x1000000000, kUntracked = kTracked + 2 * kPages * kPage;
  constexpr Addr kConstant = kTracked + kPages * kPage;
  constexpr Addr kStackLow = kTracked + 8 * kPage, kStackHigh = kStackLow + 2 * kPage;
  memory.map(kTracked, kPages * kPage, Page::kRead | Page::kWrite);
  memory.map(kConstant, kPage, Page::kRead);
  for (Addr a = kTracked; a < kConstant + kPage; a += 8)
    *reinterpret_cast<std::uint64_t*>(memory.host(a)) = rng();
  const std::vector<std::byte> before(memory.host(kTracked), memory.host(kConstant + kPage));
  const auto is_kept = [&](Addr a, Addr end) {
    return std::memcmp(memory.host(a), before.data() + (a - kTracked), end - a) == 0;
  };

  const auto argument = [&]() -> std::uint64_t {
    const Addr at = rng.below(3) == 0 ? kTracked : rng.below(4) == 0 ? kStackLow : kUntracked;
    switch (rng.below(10)) {
      case 0:
        return rng();
      case 1:
        return rng.below(8);
      case 2:
        return kConstant + rng.below(kPage);
      case 3:
      case 4:
        return at + rng.below(kPages) * kPage;
      case 5:
      case 6:
        return at + rng.below(kPages * kPage);
      case 7:
        return rng.below(2) == 0 ? static_cast<std::uint64_t>(-100) : std::uint64_t{1} << rng.below(64);
      case 8:
        return rng.below(kPages) * kPage;
      default:
        return rng.below(100000);
    }
  };
  constexpr int kCalls = 3000;
  int done = 0;
  for (int i = 0; i < kCalls; ++i) {
    // Calls may unmap it.
    memory.map(kUntracked, kPages * kPage, Page::kRead | Page::kWrite | Page::kUntracked);
    for (int at = 0; at < 32; ++at) memory.store(kUntracked + rng.below(kPages * kPage / 8) * 8, argument());
    constexpr std::uint64_t kOfMemory[] = {214, 215, 216, 222, 226, 227, 233};  // brk to madvise
    std::uint64_t number = rng.below(4) == 0 ? kOfMemory[rng.below(std::size(kOfMemory))] : rng.below(470);
    if (number == 93 || number == 94) number = 64;  // exits
    Thread* const runnable = next_thread();
    if (runnable == nullptr) break;
    Thread& thread = *runnable;
    thread.regs.x[reg::a7] = number;
    for (unsigned a = 0; a < 6; ++a) thread.regs.x[reg::a0 + a] = argument();
    const Addr pc = thread.regs.pc;
    const SyscallOutcome outcome = process.syscall_at_once(thread, kStackLow, kStackHigh);
    if (process.exited()) break;  // by a signal of its own
    ASSERT_EQ(outcome == SyscallOutcome::blocked, process.waits_at_once(thread)) << number;
    ASSERT_EQ(thread.regs.pc, pc + 4) << number;
    if (outcome != SyscallOutcome::blocked && static_cast<std::int64_t>(thread.regs.x[reg::a0]) >= 0) ++done;
    for (Addr a = kTracked; a < kConstant + kPage; a += kPage)
      ASSERT_FALSE((memory.attributes(a) & Page::kUntracked) != 0) << number;
    ASSERT_TRUE(memory.allows_range(kTracked, kPages * kPage, Page::kRead | Page::kWrite)) << number;
    ASSERT_FALSE(memory.allows(kConstant, 1, Page::kWrite)) << number;
    ASSERT_TRUE(is_kept(kTracked, kStackLow) && is_kept(kStackHigh, kConstant + kPage)) << number;
  }
  EXPECT_GT(done, kCalls / 20);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SyscallFuzz, ::testing::Range(0, 20));

}  // namespace
}  // namespace rubato::chip
