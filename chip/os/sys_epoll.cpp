// epoll: waiting for several descriptors, as runtimes of languages do (Go's needs it to sleep at all).
// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <algorithm>

#include "chip/os/epoll_set.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint32_t kAlwaysReported = PollBits::kError | PollBits::kHangUp;

/// As the kernel lays it out on RISC-V.
struct EpollEvent {
  std::uint32_t events = 0, unused = 0;
  std::uint64_t data = 0;
};

/// Linux watches nothing that is always ready.
bool can_wait(OpenFile& file) {
  abi::Stat stat{};
  return file.stat(stat) >= 0 && (stat.mode & S_IFMT) != S_IFREG && (stat.mode & S_IFMT) != S_IFDIR;
}

}  // namespace

std::shared_ptr<OpenFile> EpollSet::Interest::watched() const {
  constexpr std::uint32_t kWrites = PollBits::kOut | PollBits::kWriteNormal,
                          kReads = PollBits::kIn | PollBits::kReadNormal | PollBits::kReadHangUp | 2;
  if (events == 0) return nullptr;
  auto open = file.lock();
  if (!open || (events & kEdgeTriggered) == 0 || !seen) return open;
  const std::optional<Edges> now = open->edges();
  const bool reads = (events & kReads) != 0 || (events & kWrites) == 0, writes = (events & kWrites) != 0;
  const bool is_new = !now || (reads && now->in != seen->in) || (writes && now->out != seen->out);
  return is_new ? open : nullptr;
}

std::int64_t EpollSet::add(std::int32_t fd, Interest interest) {
  const auto [it, is_new] = interests_.try_emplace(fd, interest);
  if (is_new) return 0;
  if (!it->second.file.expired() && it->second.file.lock() == interest.file.lock()) return -EEXIST;
  it->second = std::move(interest);  // the descriptor means another file by now
  return 0;
}

std::int64_t EpollSet::modify(std::int32_t fd, const std::shared_ptr<OpenFile>& file, Interest interest) {
  const auto it = interests_.find(fd);
  if (it == interests_.end() || it->second.file.lock() != file) return -ENOENT;
  it->second = std::move(interest);
  return 0;
}

std::int64_t EpollSet::remove(std::int32_t fd, const std::shared_ptr<OpenFile>& file) {
  const auto it = interests_.find(fd);
  if (it == interests_.end() || it->second.file.lock() != file) return -ENOENT;
  interests_.erase(it);
  return 0;
}

std::vector<std::pair<std::int32_t, EpollSet::Interest>> EpollSet::interests() {
  std::erase_if(interests_, [](const auto& entry) { return entry.second.file.expired(); });
  const auto first = interests_.lower_bound(first_);
  std::vector<std::pair<std::int32_t, Interest>> result(first, interests_.end());
  result.insert(result.end(), interests_.begin(), first);
  return result;
}

void EpollSet::reported(std::int32_t fd) {
  Interest& interest = interests_.at(fd);
  if (const auto file = interest.file.lock()) interest.seen = file->edges();
  if ((interest.events & kOneShot) != 0) interest.events = 0;
}

std::int64_t EpollSet::stat(abi::Stat& result) {
  result = {};
  result.mode = 0600;
  result.nlink = 1;
  return 0;
}

std::uint32_t EpollSet::poll(std::uint32_t events) {
  for (const auto& [fd, interest] : interests()) {
    const auto file = interest.watched();
    if (file && (file->poll(interest.events) & (interest.events | kAlwaysReported)) != 0)
      return events & PollBits::kIn;
  }
  return 0;
}

std::int64_t Process::Impl::sys_epoll_create1(Call& call) {
  if ((call.u32(0) & ~std::uint32_t{abi::kCloseOnExec}) != 0) return -EINVAL;
  return install(std::make_shared<EpollSet>(abi::kReadWrite), (call.u32(0) & abi::kCloseOnExec) != 0);
}

std::int64_t Process::Impl::sys_epoll_ctl(Call& call) {
  enum : std::uint32_t { kAdd = 1, kRemove = 2, kModify = 3 };
  const std::uint32_t operation = call.u32(1);
  EpollEvent event;
  if (operation != kRemove) {
    const auto given = user.get<EpollEvent>(call.a[3]);
    if (!given) return -EFAULT;
    event = *given;
  }
  const auto set_file = files.find(call.i32(0)), file = files.find(call.i32(2));
  if (!set_file || !file) return -EBADF;
  if (!can_wait(*file)) return -EPERM;
  const auto set = std::dynamic_pointer_cast<EpollSet>(set_file);
  // A set within a set, which Linux allows, could contain itself.
  if (!set || std::dynamic_pointer_cast<EpollSet>(file)) return -EINVAL;
  const EpollSet::Interest interest{file, event.events | kAlwaysReported, event.data, {}};
  files_changed = true;  // for threads that wait for the set: what they watch from now on may be ready
  switch (operation) {
    case kAdd:
      return set->add(call.i32(2), interest);
    case kModify:
      return set->modify(call.i32(2), file, interest);
    case kRemove:
      return set->remove(call.i32(2), file);
    default:
      return -EINVAL;
  }
}

std::int64_t Process::Impl::sys_epoll_pwait(Call& call) {
  constexpr std::uint64_t kMillisecond = 1000000;
  std::optional<std::uint64_t> deadline;
  if (call.i32(3) >= 0) deadline = now() + static_cast<std::uint64_t>(call.i32(3)) * kMillisecond;
  return epoll_wait(call, deadline);
}

std::int64_t Process::Impl::sys_epoll_pwait2(Call& call) {
  std::optional<std::uint64_t> deadline;
  std::int64_t error = 0;
  if (!read_deadline(call.a[3], false, false, deadline, error)) return error;
  return epoll_wait(call, deadline);
}

// `deadline`: of a call that has not waited yet.
std::int64_t Process::Impl::epoll_wait(Call& call, std::optional<std::uint64_t> deadline) {
  const bool is_retry = call.thread.state == ThreadState::blocked;
  const std::int32_t most = call.i32(2);
  const auto set_file = files.find(call.i32(0));
  if (most <= 0 || most > 1 << 20) return -EINVAL;
  if (!is_user_address(call.a[1], static_cast<std::uint64_t>(most) * sizeof(EpollEvent))) return -EFAULT;
  if (!set_file) return -EBADF;
  const auto set = std::dynamic_pointer_cast<EpollSet>(set_file);
  if (!set) return -EINVAL;
  if (is_retry) deadline = call.info.wait.deadline;
  if (!is_retry) {
    if (call.a[4] != 0) {
      if (call.a[5] != 8) return -EINVAL;
      const auto mask = user.get<std::uint64_t>(call.a[4]);
      if (!mask) return -EFAULT;
      use_mask_for_wait(call, *mask);
    }
  }
  const auto interests = set->interests();
  std::vector<std::pair<std::shared_ptr<OpenFile>, std::uint32_t>> requests;
  for (const auto& [fd, interest] : interests) requests.emplace_back(interest.watched(), interest.events);
  std::vector<std::uint32_t> ready;
  poll_files(call, requests, ready, deadline);
  if (call.outcome == SyscallOutcome::blocked) return 0;
  std::int64_t count = 0;
  set->begin_with(0);
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (ready[i] == 0) continue;
    if (count == most) {
      set->begin_with(interests[i].first);
      break;
    }
    const EpollEvent event{ready[i], 0, interests[i].second.data};
    if (!user.write(call.a[1] + static_cast<std::uint64_t>(count) * sizeof event, &event, sizeof event)) {
      set->begin_with(interests[i].first);
      return count != 0 ? count : -EFAULT;
    }
    set->reported(interests[i].first);
    ++count;
  }
  return count;
}

}  // namespace rubato::chip
