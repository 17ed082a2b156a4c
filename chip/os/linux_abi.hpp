// Constants and memory layouts of the riscv64 Linux user interface, as the guest sees them: independent of
// the host's own headers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip::abi {

// open() flags.
inline constexpr std::uint32_t kAccessMask = 3, kReadOnly = 0, kWriteOnly = 1, kReadWrite = 2;
inline constexpr std::uint32_t kCreate = 0x40, kExclusive = 0x80, kNoTty = 0x100, kTruncate = 0x200,
                               kAppend = 0x400, kNonBlock = 0x800, kAsync = 0x2000, kDirect = 0x4000,
                               kDirectory = 0x10000, kNoFollow = 0x20000, kCloseOnExec = 0x80000,
                               kPath = 0x200000, kTemporary = 0x400000;
// *at() flags.
inline constexpr std::int32_t kAtCwd = -100;
inline constexpr std::uint32_t kAtSymlinkNoFollow = 0x100, kAtRemoveDirectory = 0x200,
                               kAtSymlinkFollow = 0x400, kAtEmptyPath = 0x1000;

// mmap() and mprotect().
inline constexpr std::uint64_t kProtRead = 1, kProtWrite = 2, kProtExecute = 4;
inline constexpr std::uint64_t kMapShared = 1, kMapPrivate = 2, kMapSharedValidate = 3, kMapTypeMask = 15,
                               kMapFixed = 0x10, kMapAnonymous = 0x20, kMapNoReserve = 0x4000,
                               kMapFixedNoReplace = 0x100000;
/// Ours: the pages are untracked memory (capsules.md P1). Bits that Linux leaves free.
inline constexpr std::uint64_t kMapUntracked = 0x02000000;
inline constexpr std::uint64_t kProtUntracked = 0x10000000;
inline constexpr std::uint64_t kProtTracked = 0x20000000;  ///< no longer

// clone().
inline constexpr std::uint64_t kCloneSignalMask = 0xff, kCloneVm = 0x100, kCloneFiles = 0x400,
                               kClonePidfd = 0x1000, kCloneVfork = 0x4000, kCloneThread = 0x10000,
                               kCloneSetTls = 0x80000, kCloneParentSetTid = 0x100000,
                               kCloneChildClearTid = 0x200000, kCloneChildSetTid = 0x1000000;

// Signals.
inline constexpr int kSigHup = 1, kSigIll = 4, kSigTrap = 5, kSigAbrt = 6, kSigBus = 7, kSigFpe = 8,
                     kSigKill = 9, kSigSegv = 11, kSigPipe = 13, kSigAlrm = 14, kSigChld = 17, kSigCont = 18,
                     kSigStop = 19, kSigVtAlrm = 26, kSigProf = 27, kSigTstp = 20, kSigTtin = 21,
                     kSigTtou = 22, kSigUrg = 23, kSigWinch = 28, kSigIo = 29, kSignals = 64,
                     kFirstRealtime = 32;  ///< SIGRTMIN of the kernel: C libraries keep the first few
inline constexpr std::uint64_t kSaNoChildStop = 1, kSaSigInfo = 4, kSaOnStack = 0x08000000,
                               kSaRestart = 0x10000000, kSaNoDefer = 0x40000000, kSaResetHand = 0x80000000;

struct Timespec {
  std::int64_t seconds, nanoseconds;
};
struct Timeval {
  std::int64_t seconds, microseconds;
};

struct Stat {
  std::uint64_t dev, ino;
  std::uint32_t mode, nlink, uid, gid;
  std::uint64_t rdev, pad1;
  std::int64_t size;
  std::int32_t blksize, pad2;
  std::int64_t blocks;
  std::int64_t atime;
  std::uint64_t atime_nsec;
  std::int64_t mtime;
  std::uint64_t mtime_nsec;
  std::int64_t ctime;
  std::uint64_t ctime_nsec;
  std::uint32_t unused[2];
};
static_assert(sizeof(Stat) == 128);

struct StatxTime {
  std::int64_t seconds;
  std::uint32_t nanoseconds;
  std::int32_t pad;
};
struct Statx {
  std::uint32_t mask, blksize;
  std::uint64_t attributes;
  std::uint32_t nlink, uid, gid;
  std::uint16_t mode, pad0;
  std::uint64_t ino, size, blocks, attributes_mask;
  StatxTime atime, btime, ctime, mtime;
  std::uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
  std::uint64_t spare[14];
};
static_assert(sizeof(Statx) == 256);

struct ResourceLimit {
  std::uint64_t now, most;
};

struct Iovec {
  std::uint64_t base, bytes;
};

struct Sigaction {  // without sa_restorer on riscv
  std::uint64_t handler, flags, mask;
};
struct StackT {
  std::uint64_t sp;
  std::int32_t flags, pad;
  std::uint64_t bytes;
};
inline constexpr std::int32_t kSsOnStack = 1, kSsDisable = 2;

/// siginfo_t: the members that are filled.
struct Siginfo {
  std::int32_t signo, error, code, pad;
  union {
    struct {
      std::int32_t pid;
      std::uint32_t uid;
      std::uint64_t value;
    } sender;
    struct {
      std::int32_t pid;
      std::uint32_t uid;
      std::int32_t status;
    } child;
    std::uint64_t address;
    std::uint8_t bytes[112];
  };
};
static_assert(sizeof(Siginfo) == 128);

struct Ucontext {
  std::uint64_t flags, link;
  StackT stack;
  std::uint64_t mask;
  std::uint8_t unused[120];
  std::uint64_t pad;            ///< mcontext is 16-byte aligned
  std::uint64_t registers[32];  ///< [0] is pc, then x1..x31
  std::uint64_t floats[32];     ///< the D state ...
  std::uint32_t fcsr;
  std::uint8_t reserved[268];  ///< ... in a union as large as the Q state
};
static_assert(sizeof(Ucontext) == 960);

struct SignalFrame {
  Siginfo info;
  Ucontext context;
};
static_assert(sizeof(SignalFrame) == 1088);

}  // namespace rubato::chip::abi
