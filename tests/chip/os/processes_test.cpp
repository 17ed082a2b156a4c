// Processes that system calls make, without a chip: what a fork copies and what it shares, how processes end,
// who hears of it, what an execve keeps.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "chip/memory/checkpoint_file.hpp"
#include "chip/os/file_table.hpp"
#include "chip/os/guest_space.hpp"
#include "chip/os/process.hpp"
#include "tests/chip/os/elf_image.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::chip {
namespace {

using ::testing::HasSubstr;

struct StandingClock : GuestClock {
  std::uint64_t nanoseconds() const override { return 0; }
};

constexpr std::uint64_t kDup3 = 24, kPipe = 59, kOpenat = 56, kClose = 57, kLseek = 62, kRead = 63,
                        kWrite = 64, kReadlinkat = 78, kExit = 93, kExitGroup = 94, kWaitid = 95, kFutex = 98,
                        kKill = 129, kSigaction = 134, kGetpid = 172, kGetppid = 173, kClone = 220,
                        kExecve = 221, kMmap = 222, kWait4 = 260;
constexpr std::uint64_t kSigChld = 17, kSigUsr1 = 10, kSigTerm = 15, kSigPipe = 13;
constexpr std::uint64_t kCloneVm = 0x100, kCloneFiles = 0x400, kCloneVfork = 0x4000, kCloneThread = 0x10f00;
constexpr std::uint64_t kNoHang = 1, kNoWait = 0x01000000, kExited = 4,
                        kHere = static_cast<std::uint64_t>(-100);
constexpr Addr kBuffer = 0x1000000000;

struct Family {
  Family() : process(options(), memory, clock) {
    memory.map(kBuffer, 4 * AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  }
  ProcessOptions options() {
    ProcessOptions of;
    write_elf_image(folder / "program");
    std::filesystem::permissions(folder / "program", std::filesystem::perms::all);
    of.program = (folder / "program").string();
    of.argv0 = "named";
    of.stdin_fd = of.stdout_fd = of.stderr_fd = -1;
    of.log = [this](const std::string& sentence) { told += sentence + "\n"; };
    return of;
  }
  Thread& first() { return process.main_thread(); }
  static std::int64_t result_of(const Thread& thread) { return static_cast<std::int64_t>(thread.regs.x[10]); }
  SyscallOutcome begin(Thread& thread, std::uint64_t number, std::vector<std::uint64_t> arguments = {}) {
    EXPECT_EQ(thread.state, ThreadState::runnable);
    arguments.resize(6);
    thread.regs.x[17] = number;
    for (std::size_t i = 0; i < arguments.size(); ++i) thread.regs.x[10 + i] = arguments[i];
    return process.syscall(thread);
  }
  std::int64_t call(Thread& thread, std::uint64_t number, std::vector<std::uint64_t> arguments = {}) {
    EXPECT_EQ(begin(thread, number, std::move(arguments)), SyscallOutcome::done);
    return result_of(thread);
  }
  /// The first thread of a new process.
  Thread& fork(Thread& by, std::uint64_t flags = kSigChld) {
    const std::int64_t pid = call(by, kClone, {flags});
    Thread& child = *process.threads().back();
    EXPECT_EQ(pid, child.tid);
    EXPECT_EQ(result_of(child), 0);
    return child;
  }
  AddressSpace& memory_of(const Thread& thread) {
    return thread.space != nullptr ? thread.space->memory : memory;
  }
  Addr put(Thread& thread, const std::string& text, Addr at = kBuffer) {
    std::memcpy(memory_of(thread).host(at), text.c_str(), text.size() + 1);
    return at;
  }
  /// The descriptors that pipe2() has written into the first process's buffer.
  std::pair<std::uint64_t, std::uint64_t> ends_of_pipe() const {
    return {memory.load<std::uint32_t>(kBuffer), memory.load<std::uint32_t>(kBuffer + 4)};
  }
  std::uint32_t status(Thread& thread) { return memory_of(thread).load<std::uint32_t>(kBuffer + 64); }
  std::int64_t wait(Thread& thread, std::int64_t whom = -1, std::uint64_t flags = 0) {
    return call(thread, kWait4, {static_cast<std::uint64_t>(whom), kBuffer + 64, flags, 0});
  }

  TemporaryFolder folder;
  std::string told;
  AddressSpace memory;
  StandingClock clock;
  Process process;
};

// ---- What a fork copies and shares ----

TEST(Fork, CopiesMemoryAtOnce) {
  Family family;
  family.memory.store<std::uint64_t>(kBuffer, 1);
  Thread& child = family.fork(family.first());
  ASSERT_NE(child.space, nullptr);
  family.memory.store<std::uint64_t>(kBuffer, 2);
  EXPECT_EQ(family.memory_of(child).load<std::uint64_t>(kBuffer), 1U);
  Thread& grandchild = family.fork(child);
  EXPECT_NE(grandchild.space, child.space);
  family.memory_of(child).store<std::uint64_t>(kBuffer, 3);
  EXPECT_EQ(family.memory_of(grandchild).load<std::uint64_t>(kBuffer), 1U);
  EXPECT_EQ(family.call(grandchild, kGetppid), child.tid);
  EXPECT_EQ(family.process.processes_made(), 2U);
}

TEST(Fork, CopiesDescriptorsAndSharesOpenFiles) {
  Family family;
  const std::string path = family.folder.write("text", "0123456789");
  Thread& parent = family.first();
  const auto fd = static_cast<std::uint64_t>(
      family.call(parent, kOpenat, {kHere, family.put(parent, path), O_RDONLY, 0}));
  Thread& child = family.fork(parent);
  EXPECT_EQ(family.call(child, kRead, {fd, kBuffer, 4}), 4);
  EXPECT_EQ(family.call(parent, kLseek, {fd, 0, SEEK_CUR}), 4) << "one position";
  EXPECT_EQ(family.call(child, kClose, {fd}), 0);
  EXPECT_EQ(family.call(child, kLseek, {fd, 0, SEEK_CUR}), -EBADF);
  EXPECT_EQ(family.call(parent, kLseek, {fd, 0, SEEK_CUR}), 4);
  Thread& sharing = family.fork(parent, kSigChld | kCloneFiles);
  EXPECT_EQ(family.call(sharing, kClose, {fd}), 0);
  EXPECT_EQ(family.call(parent, kLseek, {fd, 0, SEEK_CUR}), -EBADF);
}

TEST(Fork, OfAThreadTakesNoOtherThreadAlong) {
  Family family;
  family.call(family.first(), kClone, {kCloneThread, kBuffer + 4096});
  Thread& second = *family.process.threads().back();
  Thread& child = family.fork(second);
  EXPECT_EQ(family.call(child, kGetpid), child.tid);
  EXPECT_EQ(family.call(second, kGetpid), family.first().tid);
  EXPECT_EQ(family.begin(child, kExit, {7}), SyscallOutcome::thread_exited);
  EXPECT_EQ(family.wait(family.first()), child.tid) << "its last thread was its only one";
  EXPECT_EQ(family.status(family.first()), 7U << 8);
}

TEST(Fork, WakesThreadsOfTheParentThatWaitInSharedMemory) {
  constexpr std::uint64_t kReadWrite = 3, kSharedAnonymous = 0x21, kPrivateAnonymous = 0x22, kNone = ~0ULL;
  constexpr std::uint64_t kFutexWait = 0, kFutexWake = 1;
  for (const bool is_shared : {true, false}) {
    Family family;
    Thread& parent = family.first();
    const auto word = static_cast<Addr>(family.call(
        parent, kMmap, {0, 4096, kReadWrite, is_shared ? kSharedAnonymous : kPrivateAnonymous, kNone, 0}));
    family.call(parent, kClone, {kCloneThread, kBuffer + 4096});
    Thread& waiting = *family.process.threads().back();
    EXPECT_EQ(family.begin(waiting, kFutex, {word, kFutexWait, 0, 0}), SyscallOutcome::blocked);
    // The memory has no file when the wait begins, and a fork gives it one.
    Thread& child = family.fork(parent);
    family.memory_of(child).store<std::uint32_t>(word, 5);
    EXPECT_EQ(family.memory.load<std::uint32_t>(word), is_shared ? 5U : 0U);
    EXPECT_EQ(family.call(child, kFutex, {word, kFutexWake, 8}), is_shared ? 1 : 0);
    EXPECT_EQ(waiting.state, is_shared ? ThreadState::runnable : ThreadState::blocked);
  }
}

TEST(Vfork, HoldsTheParentUntilTheChildHasEnded) {
  Family family;
  Thread& parent = family.first();
  EXPECT_EQ(family.begin(parent, kClone, {kCloneVm | kCloneVfork | kSigChld}), SyscallOutcome::blocked);
  Thread& child = *family.process.threads().back();
  EXPECT_EQ(child.space, nullptr);
  EXPECT_EQ(family.call(child, kKill, {static_cast<std::uint64_t>(parent.tid), 0}), 0);
  EXPECT_EQ(family.begin(child, kExitGroup, {3}), SyscallOutcome::thread_exited);
  ASSERT_EQ(parent.state, ThreadState::runnable);
  EXPECT_EQ(Family::result_of(parent), child.tid);
  EXPECT_EQ(family.wait(parent), child.tid);
}

// ---- Its end ----

TEST(Child, IsThereUntilItsParentHasWaited) {
  Family family;
  Thread& parent = family.first();
  EXPECT_EQ(family.wait(parent), -ECHILD);
  Thread& child = family.fork(parent);
  const auto pid = static_cast<std::uint64_t>(child.tid);
  EXPECT_EQ(family.wait(parent, -1, kNoHang), 0);
  EXPECT_EQ(family.begin(parent, kWait4, {pid, kBuffer + 64, 0, 0}), SyscallOutcome::blocked);
  EXPECT_EQ(family.begin(child, kExitGroup, {0x1234}), SyscallOutcome::thread_exited);
  ASSERT_EQ(parent.state, ThreadState::runnable);
  EXPECT_EQ(Family::result_of(parent), child.tid);
  EXPECT_EQ(family.status(parent), 0x3400U);
  EXPECT_EQ(family.call(parent, kKill, {pid, 0}), -ESRCH);
  Thread& second = family.fork(parent);
  EXPECT_EQ(family.begin(second, kExitGroup, {0}), SyscallOutcome::thread_exited);
  EXPECT_EQ(family.call(parent, kKill, {static_cast<std::uint64_t>(second.tid), 0}), 0) << "a zombie";
  EXPECT_EQ(family.call(parent, kWaitid, {0, 0, 0, kExited | kNoWait, 0}), 0);
  EXPECT_EQ(family.wait(parent), second.tid);
  EXPECT_EQ(family.wait(parent, -1, kNoHang), -ECHILD);
}

TEST(Child, ThatASignalKillsSaysSo) {
  Family family;
  Thread& parent = family.first();
  Thread& child = family.fork(parent);
  EXPECT_EQ(family.call(parent, kKill, {static_cast<std::uint64_t>(child.tid), kSigTerm}), 0);
  // A runnable thread dies when it is to run.
  if (child.state == ThreadState::runnable) {
    EXPECT_EQ(family.process.deliver_signals(child), SyscallOutcome::thread_exited);
  }
  EXPECT_EQ(child.state, ThreadState::exited);
  EXPECT_EQ(family.wait(parent), child.tid);
  EXPECT_EQ(family.status(parent), kSigTerm);
}

TEST(Child, OfAnEndedParentIsAdoptedAndLeavesNoZombie) {
  Family family;
  Thread& parent = family.first();
  Thread& child = family.fork(parent);
  Thread& early = family.fork(child);
  Thread& late = family.fork(child);
  EXPECT_EQ(family.begin(early, kExitGroup, {1}), SyscallOutcome::thread_exited);
  EXPECT_EQ(family.call(parent, kKill, {static_cast<std::uint64_t>(early.tid), 0}), 0);
  EXPECT_EQ(family.begin(child, kExitGroup, {2}), SyscallOutcome::thread_exited);
  EXPECT_EQ(family.call(parent, kKill, {static_cast<std::uint64_t>(early.tid), 0}), -ESRCH);
  EXPECT_EQ(family.call(late, kGetppid), 1);
  EXPECT_EQ(family.begin(late, kExitGroup, {3}), SyscallOutcome::thread_exited);
  EXPECT_EQ(family.call(parent, kKill, {static_cast<std::uint64_t>(late.tid), 0}), -ESRCH);
  EXPECT_EQ(family.wait(parent), child.tid) << "grandchildren are none of its own";
  EXPECT_EQ(family.wait(parent), -ECHILD);
}

TEST(Child, WhoseParentIgnoresItsEndIsForgotten) {
  Family family;
  Thread& parent = family.first();
  const std::array<std::uint64_t, 4> ignored{1, 0, 0, 0};
  std::memcpy(family.memory.host(kBuffer), ignored.data(), sizeof ignored);
  ASSERT_EQ(family.call(parent, kSigaction, {kSigChld, kBuffer, 0, 8}), 0);
  Thread& child = family.fork(parent);
  EXPECT_EQ(family.begin(parent, kWait4, {~0ULL, 0, 0, 0}), SyscallOutcome::blocked);
  EXPECT_EQ(family.begin(child, kExitGroup, {1}), SyscallOutcome::thread_exited);
  ASSERT_EQ(parent.state, ThreadState::runnable);
  EXPECT_EQ(Family::result_of(parent), -ECHILD);
}

TEST(Child, ThatEndsClosesItsEndsOfPipes) {
  Family family;
  Thread& parent = family.first();
  ASSERT_EQ(family.call(parent, kPipe, {kBuffer, 0}), 0);
  const auto [from, to] = family.ends_of_pipe();
  Thread& writer = family.fork(parent);
  Thread& other = family.fork(parent);
  EXPECT_EQ(family.call(parent, kClose, {to}), 0);
  EXPECT_EQ(family.begin(parent, kRead, {from, kBuffer, 8}), SyscallOutcome::blocked);
  EXPECT_EQ(family.begin(other, kExitGroup, {0}), SyscallOutcome::thread_exited);
  EXPECT_EQ(parent.state, ThreadState::blocked) << "the writer still has its end";
  EXPECT_EQ(family.begin(writer, kExitGroup, {0}), SyscallOutcome::thread_exited);
  ASSERT_EQ(parent.state, ThreadState::runnable);
  EXPECT_EQ(Family::result_of(parent), 0) << "the end of the pipe";
}

TEST(Child, ThatWritesToABrokenPipeIsKilled) {
  Family family;
  Thread& parent = family.first();
  ASSERT_EQ(family.call(parent, kPipe, {kBuffer, 0}), 0);
  const auto [from, to] = family.ends_of_pipe();
  Thread& writer = family.fork(parent);
  EXPECT_EQ(family.call(writer, kClose, {from}), 0);
  EXPECT_EQ(family.call(writer, kWrite, {to, kBuffer, 8}), 8);
  EXPECT_EQ(family.call(parent, kClose, {from}), 0);
  EXPECT_EQ(family.begin(writer, kWrite, {to, kBuffer, 8}), SyscallOutcome::thread_exited);
  EXPECT_EQ(family.wait(parent), writer.tid);
  EXPECT_EQ(family.status(parent), kSigPipe);
}

TEST(Process, ThatEndsFirstEndsTheRun) {
  Family family;
  family.fork(family.first());
  EXPECT_EQ(family.begin(family.first(), kExitGroup, {4}), SyscallOutcome::process_exited);
  EXPECT_EQ(family.process.exit_status(), 4);
  EXPECT_THAT(family.told, HasSubstr("with it a process that it had started"));
}

// ---- execve ----

struct ExecveTest : testing::Test {
  SyscallOutcome execute(Thread& thread, const std::string& path) {
    constexpr Addr kNothing = kBuffer + 1024;
    family.memory_of(thread).store<std::uint64_t>(kNothing, 0);
    return family.begin(thread, kExecve, {family.put(thread, path), kNothing, kNothing});
  }
  Family family;
};

TEST_F(ExecveTest, ThatFailsChangesNothing) {
  Thread& thread = family.first();
  const std::string text = family.folder.write("text", "no program"),
                    empty = family.folder.write("script", "#!\n");
  std::filesystem::permissions(text, std::filesystem::perms::all);
  std::filesystem::permissions(empty, std::filesystem::perms::all);
  const std::array<std::pair<std::string, int>, 5> refused{{{text, ENOEXEC},
                                                            {empty, ENOEXEC},
                                                            {(family.folder / "absent").string(), ENOENT},
                                                            {family.folder.path().string(), EACCES},
                                                            {text + "/x", ENOTDIR}}};
  for (const auto& [path, error] : refused) {
    EXPECT_EQ(execute(thread, path), SyscallOutcome::done) << path;
    EXPECT_EQ(Family::result_of(thread), -error) << path;
  }
  EXPECT_EQ(thread.space, nullptr);
  EXPECT_EQ(family.call(thread, kGetpid), thread.tid);
}

TEST_F(ExecveTest, GoesOnInMemoryOfItsOwn) {
  Thread& child = family.fork(family.first());
  const GuestSpace* const before = child.space;
  EXPECT_EQ(execute(child, (family.folder / "program").string()), SyscallOutcome::moved);
  EXPECT_NE(child.space, before);
  EXPECT_EQ(child.regs.pc, kImageEntry);
  EXPECT_EQ(family.memory_of(child).attributes(kBuffer), 0);
  EXPECT_EQ(family.call(child, kGetpid), child.tid);
  EXPECT_EQ(family.call(child, kGetppid), family.first().tid);
}

TEST_F(ExecveTest, FindsTheProgramOfTheRunByTheNameThatItHas) {
  Thread& thread = family.first();
  const std::int64_t length =
      family.call(thread, kReadlinkat, {kHere, family.put(thread, "/proc/self/exe"), kBuffer + 512, 256});
  ASSERT_GT(length, 0);
  const std::string name(reinterpret_cast<const char*>(family.memory.host(kBuffer + 512)),
                         static_cast<std::size_t>(length));
  EXPECT_EQ(name, "/named");
  EXPECT_EQ(execute(thread, name), SyscallOutcome::moved);
  // The program that was executed has the same name, and finds itself, too.
  family.memory_of(thread).map(kBuffer, AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  EXPECT_EQ(execute(thread, name), SyscallOutcome::moved);
  family.memory_of(thread).map(kBuffer, AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  EXPECT_EQ(execute(thread, "/proc/self/exe"), SyscallOutcome::moved);
}

TEST_F(ExecveTest, EndsTheOtherThreadsAndKeepsTheNumber) {
  Thread& child = family.fork(family.first());
  family.call(child, kClone, {kCloneThread, kBuffer + 4096});
  Thread& second = *family.process.threads().back();
  EXPECT_EQ(execute(second, "/named"), SyscallOutcome::thread_exited);
  EXPECT_EQ(second.state, ThreadState::exited);
  ASSERT_EQ(child.state, ThreadState::runnable);
  EXPECT_EQ(child.regs.pc, kImageEntry);
  EXPECT_EQ(family.call(child, kGetpid), child.tid);
}

TEST_F(ExecveTest, ResetsHandlersAndClosesDescriptorsSoMarked) {
  Thread& thread = family.first();
  const std::array<std::uint64_t, 4> handled{0x10100, 0, 0, 0}, ignored{1, 0, 0, 0};
  std::memcpy(family.memory.host(kBuffer), handled.data(), sizeof handled);
  ASSERT_EQ(family.call(thread, kSigaction, {kSigUsr1, kBuffer, 0, 8}), 0);
  std::memcpy(family.memory.host(kBuffer), ignored.data(), sizeof ignored);
  ASSERT_EQ(family.call(thread, kSigaction, {kSigTerm, kBuffer, 0, 8}), 0);
  ASSERT_EQ(family.call(thread, kPipe, {kBuffer, 0}), 0);
  const std::uint64_t from = family.memory.load<std::uint32_t>(kBuffer);
  ASSERT_EQ(family.call(thread, kDup3, {from, 9, O_CLOEXEC}), 9);
  ASSERT_EQ(execute(thread, "/named"), SyscallOutcome::moved);
  family.memory_of(thread).map(kBuffer, AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  EXPECT_EQ(family.call(thread, kClose, {9}), -EBADF);
  EXPECT_EQ(family.call(thread, kClose, {from}), 0);
  const auto handler = [&](std::uint64_t signal) {
    EXPECT_EQ(family.call(thread, kSigaction, {signal, 0, kBuffer, 8}), 0);
    return family.memory_of(thread).load<std::uint64_t>(kBuffer);
  };
  EXPECT_EQ(handler(kSigUsr1), 0U);
  EXPECT_EQ(handler(kSigTerm), 1U);
}

// ---- Its parts ----

TEST(FileTable, ClosesOnExecWhatIsSoMarked) {
  FileTable files;
  const auto file = std::make_shared<EventCounter>(0, false, 2);
  EXPECT_EQ(files.install(file, false), 0);
  EXPECT_EQ(files.install(file, true), 1);
  EXPECT_EQ(files.install(file, false), 2);
  FileTable copy = files;
  copy.close_on_exec();
  EXPECT_NE(copy.find(0), nullptr);
  EXPECT_EQ(copy.find(1), nullptr);
  EXPECT_NE(copy.find(2), nullptr);
  EXPECT_EQ(copy.install(file, true), 1);
  EXPECT_NE(files.find(1), nullptr) << "the other table has its own entries";
}

TEST(Checkpoint, IsRefusedOnceThereWereProcesses) {
  const auto refusal = [](Family& family) {
    CheckpointWriter file(family.folder / "checkpoint");
    try {
      family.process.save(file);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Family with_child;
  Thread& child = with_child.fork(with_child.first());
  EXPECT_THAT(refusal(with_child), HasSubstr("the program has started other processes"));
  with_child.begin(child, kExitGroup, {0});
  EXPECT_EQ(with_child.wait(with_child.first()), child.tid);
  EXPECT_THAT(refusal(with_child), HasSubstr("the program has started other processes"));
}

}  // namespace
}  // namespace rubato::chip
