// The host's memory that guests may fill, from files as Linux has them; and a guest that gets ENOMEM there.
// SPDX-License-Identifier: MIT
#include "chip/os/memory_limit.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "chip/memory/address_space.hpp"
#include "chip/os/process.hpp"
#include "tests/chip/os/elf_image.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::chip {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = std::uint64_t{1} << 30;

class MemoryLimit : public ::testing::Test {
 protected:
  MemoryLimit() {
    fs::create_directories(root_ / "proc/self");
    fs::create_directories(root_ / "sys/fs/cgroup/box/inner");
  }
  std::optional<std::uint64_t> limit() const { return host_memory_for_guests(root_.path()); }
  const TemporaryFolder root_;
};

TEST_F(MemoryLimit, IsTheHostsMemoryLessAnEighth) {
  EXPECT_EQ(limit(), std::nullopt);
  root_.write("proc/meminfo", "Buffers: 7 kB\nMemTotal:       16777216 kB\nMemFree: 5 kB\n");
  EXPECT_EQ(limit(), 14 * kGiB);
}

TEST_F(MemoryLimit, KeepsHalfAGibibyteOfASmallHostAndHalfOfATinyOne) {
  root_.write("proc/meminfo", "MemTotal: 2097152 kB\n");
  EXPECT_EQ(limit(), 2 * kGiB - 512 * kMiB);
  root_.write("proc/meminfo", "MemTotal: 524288 kB\n");
  EXPECT_EQ(limit(), 256 * kMiB);
}

TEST_F(MemoryLimit, IsThatOfTheNarrowestControlGroupAbove) {
  root_.write("proc/meminfo", "MemTotal: 16777216 kB\n");
  root_.write("proc/self/cgroup", "0::/box/inner\n");
  root_.write("sys/fs/cgroup/box/inner/memory.max", "max\n");
  EXPECT_EQ(limit(), 14 * kGiB);
  root_.write("sys/fs/cgroup/box/memory.max", "8589934592\n");
  EXPECT_EQ(limit(), 7 * kGiB);
  root_.write("sys/fs/cgroup/memory.max", "4294967296\n");
  EXPECT_EQ(limit(), 4 * kGiB - 512 * kMiB);
}

TEST_F(MemoryLimit, OfThisHostIsKnown) {
  EXPECT_TRUE(host_memory_for_guests().has_value());
  EXPECT_GT(resident_bytes(), kMiB);
}

struct Clock : GuestClock {
  std::uint64_t nanoseconds() const override { return 0; }
};

TEST_F(MemoryLimit, AMappingBeyondItIsRefusedButForOneWithoutReserve) {
  constexpr std::uint64_t kMmap = 222, kPrivateAnonymous = 0x22, kNoReserve = 0x4000;
  ProcessOptions options;
  write_elf_image(root_ / "program");
  options.program = (root_ / "program").string();
  options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
  options.host_bytes = resident_bytes() + 256 * kMiB;
  AddressSpace memory;
  Clock clock;
  Process process(options, memory, clock);
  const auto map = [&](std::uint64_t bytes, std::uint64_t flags) {
    Thread& thread = process.main_thread();
    auto& x = thread.regs.x;
    x[17] = kMmap;
    x[10] = 0, x[11] = bytes, x[12] = 3, x[13] = flags, x[14] = ~std::uint64_t{0}, x[15] = 0;
    process.syscall(thread);
    return static_cast<std::int64_t>(x[10]);
  };
  EXPECT_GT(map(64 * kMiB, kPrivateAnonymous), 0);
  EXPECT_EQ(map(32 * kGiB, kPrivateAnonymous), -ENOMEM);
  EXPECT_GT(map(32 * kGiB, kPrivateAnonymous | kNoReserve), 0);
}

}  // namespace
}  // namespace rubato::chip
