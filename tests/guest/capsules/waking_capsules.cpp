// Calls that end the waits of others, made in capsules of speculative tasks (P49, P50): an earlier task's
// capsule waits for a file or a word, a later task's capsule changes it. `waking_capsules WHAT HOW` prints
// the result of the call that waited. WHAT is changed: pipe, close (of a pipe's other end), event, timer,
// socket, write, mode, direct (three changes of a watched file), futex. HOW the waiter waits: read, poll,
// epoll. Nothing else happens once the later task has made its call, so a waiter that it leaves asleep sleeps
// for ever.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

namespace capsule = rubato::capsule;

enum class What { pipe, close, event, timer, socket, write, mode, direct, futex };
enum class How { read, poll, epoll };

struct Seen {
  alignas(512) unsigned char block[512];
  What what;
  How how;
  int from, to, set;
  std::uint32_t word;
  std::int64_t result;
  bool is_speculative;
};
RUBATO_UNTRACKED rubato::untracked<Seen> seen;

std::int64_t wait_for_descriptor() {
  char bytes[64];
  pollfd one{seen->from, POLLIN, 0};
  epoll_event event{};
  switch (seen->how) {
    case How::read:
      return capsule::system_call(SYS_read, seen->from, bytes, sizeof bytes);
    case How::poll:
      return capsule::system_call(SYS_ppoll, &one, 1, 0, 0, 0) == 1 ? one.revents : -1;
    case How::epoll:
      return capsule::system_call(SYS_epoll_pwait, seen->set, &event, 1, -1, 0, 8) == 1
                 ? static_cast<std::int64_t>(event.events)
                 : -1;
  }
  return -1;
}

}  // namespace

RUBATO_CAPSULE(void, wait_for_change, ()) {
  seen->result = seen->what == What::futex
                     ? capsule::system_call(SYS_futex, &seen->word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0)
                     : wait_for_descriptor();
  seen->is_speculative = capsule::is_speculative();
}

RUBATO_CAPSULE(std::int64_t, change, ()) {
  const timespec until_the_other_waits{0, 20'000};
  capsule::system_call(SYS_nanosleep, &until_the_other_waits, 0);
  const std::uint64_t one = 1;
  const itimerspec soon{{0, 0}, {0, 1}};
  switch (seen->what) {
    case What::pipe:
    case What::write:
      return capsule::system_call(SYS_write, seen->to, &one, 1);
    case What::close:
      return capsule::system_call(SYS_close, seen->to);
    case What::event:
      return capsule::system_call(SYS_write, seen->to, &one, 8);
    case What::timer:
      return capsule::system_call(SYS_timerfd_settime, seen->to, 0, &soon, 0);
    case What::socket:
      return capsule::system_call(SYS_sendto, seen->to, &one, 1, 0, 0, 0);
    case What::mode:
      return capsule::system_call(SYS_fchmod, seen->to, 0400);
    case What::direct:
      return capsule::system_call(SYS_pwrite64, seen->to, seen->block, sizeof seen->block, 0);
    case What::futex:
      return capsule::system_call(SYS_futex, &seen->word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
  }
  return -1;
}

namespace {

/// Index of `name` in `names`, or -1.
template <std::size_t count>
int number_of(const char* name, const char* const (&names)[count]) {
  for (std::size_t i = 0; i < count; ++i)
    if (std::string(name) == names[i]) return static_cast<int>(i);
  return -1;
}

void watch(int flags) {
  seen->to = open("changed", O_RDWR | O_CREAT | flags, 0600);
  seen->from = inotify_init1(0);
  inotify_add_watch(seen->from, "changed", IN_MODIFY | IN_ATTRIB);
}

void open_descriptors() {
  int ends[2] = {-1, -1};
  switch (seen->what) {
    case What::pipe:
    case What::close:
      if (pipe(ends) != 0) std::perror("pipe");
      break;
    case What::socket:
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::perror("socketpair");
      break;
    case What::event:
      ends[0] = ends[1] = eventfd(0, 0);
      break;
    case What::timer:
      ends[0] = ends[1] = timerfd_create(CLOCK_MONOTONIC, 0);
      break;
    case What::write:
    case What::mode:
      return watch(0);
    case What::direct:
      return watch(O_DIRECT);
    case What::futex:
      return;
  }
  seen->from = ends[0];
  seen->to = ends[1];
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr const char* kWhats[] = {"pipe",  "close", "event",  "timer", "socket",
                                           "write", "mode",  "direct", "futex"};
  static constexpr const char* kHows[] = {"read", "poll", "epoll"};
  const int what = argc == 3 ? number_of(argv[1], kWhats) : -1;
  const int how = argc == 3 ? number_of(argv[2], kHows) : -1;
  if (what < 0 || how < 0) return std::fputs("waking_capsules WHAT HOW\n", stderr), 2;
  seen->what = static_cast<What>(what);
  seen->how = static_cast<How>(how);
  open_descriptors();
  seen->set = epoll_create1(0);
  epoll_event wanted{EPOLLIN, {}};
  if (seen->what != What::futex) epoll_ctl(seen->set, EPOLL_CTL_ADD, seen->from, &wanted);
  rubato::create<rubato::spec>([] { wait_for_change(); }, {.at = 1});
  rubato::create<rubato::spec>([] { change(); }, {.at = 2});
  rubato::run();
  std::printf("%s %s: %ld%s\n", argv[1], argv[2], static_cast<long>(seen->result),
              seen->is_speculative ? ", speculative" : "");
  return 0;
}
