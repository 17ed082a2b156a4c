// System calls that wait for several files: ppoll and pselect6. epoll is in sys_epoll.cpp.
// SPDX-License-Identifier: MIT
#include <poll.h>

#include <algorithm>

#include "chip/os/guest_time.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {

// Fills `ready`; returns how many are, 0 when the time is over, or waits.
std::int64_t Process::Impl::poll_files(
    Call& call, std::vector<std::pair<std::shared_ptr<OpenFile>, std::uint32_t>>& requests,
    std::vector<std::uint32_t>& ready, std::optional<std::uint64_t> deadline) {
  while (true) {
    std::int64_t count = 0;
    ready.assign(requests.size(), 0);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto& [file, events] = requests[i];
      constexpr std::uint32_t kAlways = PollBits::kError | PollBits::kHangUp | PollBits::kInvalid;
      if (file) ready[i] = file->poll(events) & (events | kAlways);
      if (ready[i] != 0) ++count;
    }
    if (count != 0 || call.timed_out || (deadline && *deadline <= now())) return count;
    // Only the host can tell when a terminal or pipe on standard input is ready; without a time limit it is
    // asked to wait. With one the limit is in simulated time, which the host knows nothing of.
    std::vector<pollfd> host;
    for (const auto& [file, events] : requests)
      if (file && file->waits_for_host()) host.push_back({options.stdin_fd, static_cast<short>(events), 0});
    if (host.empty() || deadline || ::poll(host.data(), host.size(), -1) <= 0) break;
  }
  Wait wait;
  wait.kind = WaitKind::files;
  wait.deadline = deadline;
  return block(call, wait);
}

// As Linux, which ignores that the program may have the time in read-only memory.
void Process::Impl::put_time_left(std::uint64_t number, const std::array<std::uint64_t, 6>& arguments,
                                  std::optional<std::uint64_t> deadline) {
  constexpr std::uint64_t kPselect6 = 72, kPpoll = 73;
  if (!deadline || (number != kPselect6 && number != kPpoll)) return;
  user.put(arguments[number == kPselect6 ? 4 : 2], timespec_of(*deadline - std::min(*deadline, now())));
}

std::int64_t Process::Impl::sys_ppoll(Call& call) {
  struct Request {
    std::int32_t fd;
    std::int16_t events, ready;
  };
  const bool is_retry = call.thread.state == ThreadState::blocked;
  if (call.a[1] > files.most) return -EINVAL;
  std::vector<Request> list(call.a[1]);
  const std::uint64_t bytes = list.size() * sizeof(Request);
  if (!user.read(call.a[0], list.data(), bytes) || !user.writable(call.a[0], bytes)) return -EFAULT;
  std::optional<std::uint64_t> deadline = call.info.wait.deadline, mask;
  std::int64_t error = 0;
  if (!is_retry && !read_deadline(call.a[2], false, false, deadline, error)) return error;
  if (!is_retry && call.a[3] != 0) {
    if (call.a[4] != 8) return -EINVAL;
    if (!(mask = user.get<std::uint64_t>(call.a[3]))) return -EFAULT;
    use_mask_for_wait(call, *mask);
  }
  std::vector<std::pair<std::shared_ptr<OpenFile>, std::uint32_t>> requests;
  std::int64_t invalid = 0;
  for (auto& request : list) {
    requests.emplace_back(files.find(request.fd), static_cast<std::uint16_t>(request.events));
    request.ready = 0;
    if (request.fd >= 0 && !requests.back().first) {
      request.ready = PollBits::kInvalid;
      ++invalid;
    }
  }
  std::vector<std::uint32_t> ready;
  const std::int64_t count = poll_files(call, requests, ready, invalid != 0 ? now() : deadline);
  if (call.outcome == SyscallOutcome::blocked) return 0;
  put_time_left(call.number, call.a, deadline);
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i].ready = static_cast<std::int16_t>(list[i].ready | ready[i]);
  user.write(call.a[0], list.data(), bytes);
  return count + invalid;
}

std::int64_t Process::Impl::sys_pselect6(Call& call) {
  const bool is_retry = call.thread.state == ThreadState::blocked;
  if (call.i32(0) < 0) return -EINVAL;
  const std::uint64_t count = std::min<std::uint64_t>(call.u32(0), FileTable::kLimit);
  const std::uint64_t bytes = (count + 63) / 64 * 8;
  std::array<std::array<std::uint8_t, 128>, 3> sets{};
  for (unsigned i = 0; i < 3; ++i)
    if (call.a[1 + i] != 0 &&
        (!user.read(call.a[1 + i], sets[i].data(), bytes) || !user.writable(call.a[1 + i], bytes)))
      return -EFAULT;
  std::optional<std::uint64_t> deadline = call.info.wait.deadline;
  std::int64_t error = 0;
  if (!is_retry && !read_deadline(call.a[4], false, false, deadline, error)) return error;
  std::vector<std::pair<std::shared_ptr<OpenFile>, std::uint32_t>> requests;
  for (std::uint64_t fd = 0; fd < count; ++fd) {
    std::uint32_t events = 0;
    for (unsigned i = 0; i < 3; ++i)
      if ((sets[i][fd / 8] >> fd % 8 & 1) != 0)
        events |= i == 0 ? PollBits::kIn : i == 1 ? PollBits::kOut : 0x40000000;
    const auto file = events != 0 ? files.find(static_cast<std::int64_t>(fd)) : nullptr;
    if (events != 0 && !file) return -EBADF;
    requests.emplace_back(file, events);
  }
  if (!is_retry && call.a[5] != 0) {
    struct Mask {
      std::uint64_t address, bytes;
    };
    const auto argument = user.get<Mask>(call.a[5]);
    if (!argument) return -EFAULT;
    if (argument->address != 0) {
      const auto mask = user.get<std::uint64_t>(argument->address);
      if (argument->bytes != 8) return -EINVAL;
      if (!mask) return -EFAULT;
      use_mask_for_wait(call, *mask);
    }
  }
  std::vector<std::uint32_t> ready;
  poll_files(call, requests, ready, deadline);
  if (call.outcome == SyscallOutcome::blocked) return 0;
  put_time_left(call.number, call.a, deadline);
  std::array<std::array<std::uint8_t, 128>, 3> results{};
  std::int64_t bits = 0;
  for (std::uint64_t fd = 0; fd < count; ++fd) {
    const std::uint32_t events = requests[fd].second, now_ready = ready[fd];
    constexpr std::uint32_t kReads = PollBits::kIn | PollBits::kHangUp | PollBits::kError;
    constexpr std::uint32_t kWrites = PollBits::kOut | PollBits::kError;
    const bool hits[2] = {(events & PollBits::kIn) != 0 && (now_ready & kReads) != 0,
                          (events & PollBits::kOut) != 0 && (now_ready & kWrites) != 0};
    for (unsigned i = 0; i < 2; ++i) {
      if (!hits[i]) continue;
      results[i][fd / 8] |= static_cast<std::uint8_t>(1u << fd % 8);
      ++bits;
    }
  }
  for (unsigned i = 0; i < 3; ++i)
    if (call.a[1 + i] != 0) user.write(call.a[1 + i], results[i].data(), bytes);
  return bits;
}

}  // namespace rubato::chip
