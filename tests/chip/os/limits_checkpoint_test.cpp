// Limits of resources that a program has set are those of the program that goes on from a checkpoint.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "chip/memory/checkpoint_file.hpp"
#include "chip/os/process.hpp"
#include "tests/chip/os/elf_image.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::chip {
namespace {

struct LimitsClock : GuestClock {
  std::uint64_t nanoseconds() const override { return 0; }
};

struct Guest {
  explicit Guest(const TemporaryFolder& folder) : process(options_in(folder), memory, clock) {
    memory.map(kBuffer, AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  }
  static ProcessOptions options_in(const TemporaryFolder& folder) {
    ProcessOptions options;
    write_elf_image(folder / "program");
    options.program = (folder / "program").string();
    options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
    return options;
  }
  std::int64_t call(std::uint64_t number, std::array<std::uint64_t, 4> arguments) {
    Thread& thread = process.main_thread();
    thread.regs.x[17] = number;
    for (std::size_t i = 0; i < arguments.size(); ++i) thread.regs.x[10 + i] = arguments[i];
    process.syscall(thread);
    return static_cast<std::int64_t>(thread.regs.x[10]);
  }
  std::int64_t set(std::uint64_t which, std::uint64_t now, std::uint64_t most) {
    memory.store(kBuffer, now);
    memory.store(kBuffer + 8, most);
    return call(kPrlimit, {0, which, kBuffer, 0});
  }
  std::array<std::uint64_t, 2> limit(std::uint64_t which) {
    EXPECT_EQ(call(kPrlimit, {0, which, 0, kBuffer}), 0);
    return {memory.load<std::uint64_t>(kBuffer), memory.load<std::uint64_t>(kBuffer + 8)};
  }
  static constexpr Addr kBuffer = 0x1000000000;
  static constexpr std::uint64_t kPrlimit = 261;
  AddressSpace memory;
  LimitsClock clock;
  Process process;
};

constexpr std::uint64_t kFiles = 7, kSignalsPending = 11, kEventfd = 19;

TEST(LimitsInCheckpoints, AreRestored) {
  const TemporaryFolder folder;
  Guest before(folder), after(folder);
  ASSERT_EQ(before.set(kFiles, 4, 50), 0);
  ASSERT_EQ(before.set(kSignalsPending, 3, 9), 0);
  {
    CheckpointWriter file(folder / "checkpoint");
    before.process.save(file);
    file.close();
  }
  EXPECT_EQ(after.limit(kFiles)[0], 1024U);
  after.memory.unmap(Guest::kBuffer, AddressSpace::kPageBytes);
  CheckpointReader file(folder / "checkpoint");
  after.process.restore(file);
  EXPECT_EQ(after.limit(kFiles), (std::array<std::uint64_t, 2>{4, 50}));
  EXPECT_EQ(after.limit(kSignalsPending), (std::array<std::uint64_t, 2>{3, 9}));
  EXPECT_EQ(after.call(kEventfd, {0, 0, 0, 0}), 3);
  EXPECT_EQ(after.call(kEventfd, {0, 0, 0, 0}), -EMFILE);
  EXPECT_EQ(after.set(kFiles, 4, 51), -EPERM);
}

}  // namespace
}  // namespace rubato::chip
