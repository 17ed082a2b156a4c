// Privileges that are given up: what still works, and how a process ends that does something else. Each case
// is a process of its own, since nothing brings privileges back.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "cached/privileges/privileges.hpp"

namespace rubato::cached {
namespace {

using testing::ExitedWithCode;
using testing::KilledBySignal;

class Privileges : public testing::Test {
 protected:
  void SetUp() override {
    if (missing_for_privileges()) GTEST_SKIP() << "built without libseccomp";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer makes system calls of its own";
#endif
  }

  /// In a process that then ends: 0 if `act` is true, else 3.
  template <class F>
  [[noreturn]] static void end_after(const KeptPrivileges& kept, F&& act) {
    drop_privileges(kept);
    _exit(act() ? 0 : 3);
  }
  /// The sentence about a system call.
  static std::string about(long call) {
    return "drop_privileges does not allow system call " + std::to_string(call) + ", so it ends";
  }
  static bool reads(const char* path) {
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    return descriptor >= 0 && ::close(descriptor) == 0;
  }
};

using PrivilegesDeathTest = Privileges;

struct Forbidden {
  long call;
  bool (*act)();
};

TEST_F(PrivilegesDeathTest, WhatAServerNeverDoesEndsTheProcess) {
  const Forbidden all[] = {
      {SYS_socket, [] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; }},
      {SYS_connect, [] { return ::connect(0, nullptr, 0) == 0; }},
      {SYS_bind, [] { return ::bind(0, nullptr, 0) == 0; }},
      {SYS_execve, [] { return ::execl("/bin/true", "true", nullptr) == 0; }},
      {SYS_clone, [] { return ::fork() >= 0; }},
      {SYS_ptrace, [] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }},
      {SYS_kill, [] { return ::kill(1, 0) == 0; }},
      {SYS_setuid, [] { return ::setuid(0) == 0; }},
      {SYS_openat, [] { return ::open("/dev/null", O_WRONLY) >= 0; }},
      {SYS_unlink, [] { return ::unlink("/nonexistent") == 0; }},
      {SYS_mmap,
       [] {
         return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != nullptr;
       }},
      {SYS_tgkill, [] { return ::syscall(SYS_tgkill, 1, 1, 0) == 0; }},
  };
  for (const Forbidden& one : all)
    EXPECT_EXIT(end_after({}, one.act), ExitedWithCode(EXIT_FAILURE), about(one.call));
}

TEST_F(PrivilegesDeathTest, ThreadsThatWereThereHaveLostThemToo) {
  const auto act = [] {
    std::atomic<bool> dropped{false};
    std::thread before([&] {
      dropped.wait(false);
      static_cast<void>(::socket(AF_INET, SOCK_STREAM, 0));
    });
    drop_privileges({});
    dropped = true;
    dropped.notify_all();
    before.join();
    _exit(0);
  };
  EXPECT_EXIT(act(), ExitedWithCode(EXIT_FAILURE), about(SYS_socket));
}

TEST_F(PrivilegesDeathTest, MisbehaviourIsPossibleBeforeAndNotAfterwards) {
  EXPECT_TRUE(misbehave());
  EXPECT_EXIT(end_after({}, &misbehave), ExitedWithCode(EXIT_FAILURE), about(SYS_socket));
}

TEST_F(PrivilegesDeathTest, FilesAreReadAndRemovedOnlyIfThatIsKept) {
  const auto reads_one = [] { return reads("/dev/null"); };
  EXPECT_EXIT(end_after({.reads_files = true}, reads_one), ExitedWithCode(0), "");
  EXPECT_EXIT(end_after({.removes_files = true}, [&] { return !reads_one() && errno == EACCES; }),
              ExitedWithCode(0), "");
  EXPECT_EXIT(end_after({.reads_files = true}, [] { return ::open("/dev/null", O_RDWR) >= 0; }),
              ExitedWithCode(EXIT_FAILURE), about(SYS_openat));
  const auto removes = [] { return ::unlink("/nonexistent") != 0 && errno == ENOENT; };
  EXPECT_EXIT(end_after({.removes_files = true}, removes), ExitedWithCode(0), "");
  EXPECT_EXIT(end_after({.reads_files = true}, removes), ExitedWithCode(EXIT_FAILURE), about(SYS_unlink));
}

TEST_F(PrivilegesDeathTest, AnOpenFileIsWrittenAndRenamedOnlyIfThatIsKept) {
  std::FILE* const file = std::tmpfile();
  ASSERT_TRUE(file);
  const auto keeps = [file] {
    const int descriptor = ::fileno(file);
    const bool written =
        ::pwrite(descriptor, "x", 1, 0) == 1 && ::ftruncate(descriptor, 0) == 0 && ::fsync(descriptor) == 0;
    return written && std::rename("/nonexistent", "/nonexistent") != 0 && errno == ENOENT;
  };
  EXPECT_EXIT(end_after({.keeps_items = true}, keeps), ExitedWithCode(0), "");
  EXPECT_EXIT(end_after({.removes_files = true}, keeps), ExitedWithCode(EXIT_FAILURE), about(SYS_pwrite64));
  std::fclose(file);
}

TEST_F(PrivilegesDeathTest, WhatAServerDoesGoesOn) {
  const auto threads = [] {
    std::vector<std::thread> all;
    std::atomic<std::size_t> bytes{0};
    for (int n = 0; n < 8; ++n)
      all.emplace_back([&] {
        for (std::size_t size = 16; size < (8u << 20); size *= 2) {
          const auto room = std::make_unique<std::string>(size, 'x');
          bytes += room->size();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    for (std::thread& one : all) one.join();
    return bytes != 0;
  };
  EXPECT_EXIT(end_after({}, threads), ExitedWithCode(0), "");
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const auto sends = [&] {
    char byte = 0;
    return ::send(ends[0], "x", 1, MSG_NOSIGNAL) == 1 && ::recv(ends[1], &byte, 1, 0) == 1 && byte == 'x';
  };
  EXPECT_EXIT(end_after({}, sends), ExitedWithCode(0), "");
  // A fault of the server leaves a core, as without.
  EXPECT_EXIT(end_after({}, []() -> bool { std::abort(); }), KilledBySignal(SIGABRT), "");
  ::close(ends[0]), ::close(ends[1]);
}

TEST(PrivilegesAbsent, ABuildWithoutLibseccompSaysWhatToInstall) {
  if (!missing_for_privileges()) GTEST_SKIP() << "built with libseccomp";
  try {
    drop_privileges({});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("install libseccomp-dev"), std::string::npos);
  }
}

}  // namespace
}  // namespace rubato::cached
