// Privileges by seccomp: a list of system calls that stay allowed. It covers the C library, libevent and
// OpenSSL as well, which differ between systems; hence calls that some version of them makes are on it, too.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "cached/privileges/privileges.hpp"

namespace rubato::cached {

namespace {

constexpr ExitCode kNotPossible = ExitCode{71};
constexpr int kForbidden = EXIT_FAILURE;  // as memcached ends

constexpr int kAlways[] = {
    // connections
    SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(sendto),
    SCMP_SYS(sendmsg), SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close),
    SCMP_SYS(shutdown), SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(setsockopt),
    SCMP_SYS(getsockopt), SCMP_SYS(fcntl),
    // waiting
    SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_ctl), SCMP_SYS(poll),
    SCMP_SYS(ppoll), SCMP_SYS(futex), SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep), SCMP_SYS(sched_yield),
    SCMP_SYS(restart_syscall),
    // time
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(time),
    // memory, without code: below
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(mbind),
    SCMP_SYS(membarrier),
    // signals and the end
    SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction), SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    // threads that begin
    SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(gettid),
    // the process about itself
    SCMP_SYS(getpid), SCMP_SYS(getrusage), SCMP_SYS(getrandom), SCMP_SYS(getcpu), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(fstat), SCMP_SYS(lseek)};

/// Libraries ask for files, and go on without: a time zone, the number of CPUs.
constexpr int kRefused[] = {SCMP_SYS(access),   SCMP_SYS(faccessat),  SCMP_SYS(faccessat2),
                            SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(stat),
                            SCMP_SYS(lstat),    SCMP_SYS(statx)};

scmp_arg_cmp equal(unsigned argument, std::uint64_t value) { return {argument, SCMP_CMP_EQ, value, 0}; }
scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

/// The list, as libseccomp makes it.
class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_TRAP)) {
    if (!context_) throw std::bad_alloc();
  }

  void allow(int call, std::initializer_list<scmp_arg_cmp> where = {}) { add(SCMP_ACT_ALLOW, call, where); }
  void refuse(int call, unsigned error, std::initializer_list<scmp_arg_cmp> where = {}) {
    add(SCMP_ACT_ERRNO(error), call, where);
  }
  /// From now on, for all threads.
  void load() {
    note(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_TSYNC, 1));
    note(seccomp_load(context_.get()));
    if (error_)
      throw Error(kNotPossible, fmt::format("-o drop_privileges: this system does not allow it: {}",
                                            std::strerror(-error_)));
  }

 private:
  void add(std::uint32_t action, int call, std::initializer_list<scmp_arg_cmp> where) {
    note(seccomp_rule_add_array(context_.get(), action, call, static_cast<unsigned>(where.size()),
                                where.begin()));
  }
  void note(int result) {
    if (result < 0 && !error_) error_ = result;
  }

  struct Release {
    void operator()(void* context) const { seccomp_release(context); }
  };
  std::unique_ptr<void, Release> context_;
  int error_ = 0;
};

void allow_memory_without_code(Filter& filter) {
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) filter.allow(call, {masked(2, PROT_EXEC, 0)});
}

/// Threads, and no process: the flags of clone3 are in memory, where no filter sees them, and the C library
/// takes clone if clone3 is absent.
void allow_threads(Filter& filter) {
  filter.allow(SCMP_SYS(clone), {masked(0, CLONE_THREAD, CLONE_THREAD)});
  filter.refuse(SCMP_SYS(clone3), ENOSYS);
  filter.allow(SCMP_SYS(prctl), {equal(0, PR_SET_TIMERSLACK)});
  filter.allow(SCMP_SYS(tgkill), {equal(0, static_cast<std::uint64_t>(getpid()))});  // abort()
}

void allow_files(Filter& filter, const KeptPrivileges& kept) {
  constexpr std::uint64_t kWrites = O_ACCMODE | O_CREAT | O_TRUNC;
  for (const auto& [call, flags] : {std::pair{SCMP_SYS(open), 1u}, std::pair{SCMP_SYS(openat), 2u}}) {
    if (kept.reads_files)
      filter.allow(call, {masked(flags, kWrites, 0)});
    else
      filter.refuse(call, EACCES, {masked(flags, kWrites, 0)});
  }
  if (kept.keeps_items)
    for (const int call : {SCMP_SYS(pwrite64), SCMP_SYS(fsync), SCMP_SYS(ftruncate), SCMP_SYS(rename),
                           SCMP_SYS(renameat), SCMP_SYS(renameat2)})
      filter.allow(call);
  if (kept.removes_files || kept.keeps_items)
    for (const int call : {SCMP_SYS(unlink), SCMP_SYS(unlinkat)}) filter.allow(call);
  // The C library makes fstat of it, with an empty name.
  filter.allow(SCMP_SYS(newfstatat));
  filter.allow(SCMP_SYS(ioctl), {equal(1, TCGETS)});  // is it a terminal?
  for (const int call : kRefused) filter.refuse(call, EACCES);
}

// The heap may be broken, too: nothing is allocated here, and no handler of exit() runs.
void end_process(int, siginfo_t* info, void*) {
  char before[] = "rubato-cached: -o drop_privileges does not allow system call ", after[] = ", so it ends\n";
  char digits[12];
  char *const end = digits + sizeof digits, *begin = end;
  int number = info->si_syscall;
  do *--begin = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  const iovec parts[] = {
      {before, sizeof before - 1}, {begin, static_cast<std::size_t>(end - begin)}, {after, sizeof after - 1}};
  [[maybe_unused]] const ssize_t written = ::writev(STDERR_FILENO, parts, 3);
  _exit(kForbidden);
}

}  // namespace

const char* missing_for_privileges() { return nullptr; }

void drop_privileges(const KeptPrivileges& kept) {
  struct sigaction action {};
  action.sa_sigaction = &end_process, action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  Filter filter;
  for (const int call : kAlways) filter.allow(call);
  allow_memory_without_code(filter);
  allow_threads(filter);
  allow_files(filter, kept);
  filter.load();
}

}  // namespace rubato::cached
