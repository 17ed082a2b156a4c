// SPDX-License-Identifier: MIT
#include "chip/os/posix_queues.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {
namespace mq {

/// struct mq_attr.
struct Attributes {
  std::int64_t flags, most_messages, most_of_message, messages, unused[4];
};
static_assert(sizeof(Attributes) == 64);

constexpr std::int32_t kSignal = 0, kNone = 1;  // sigev_notify
constexpr std::int32_t kSiMessage = -3;

Attributes attributes_of(PosixQueueFile& file) {
  const PosixQueue& queue = file.queue();
  return {file.flags & abi::kNonBlock,
          queue.most_messages,
          queue.most_of_message,
          static_cast<std::int64_t>(queue.messages.size()),
          {}};
}

}  // namespace mq
}  // namespace

std::int64_t PosixQueueFile::read(std::span<std::byte> to) {
  const auto& notification = queue_->notification;
  const std::string text =
      fmt::format("QSIZE:{:<10} NOTIFY:{:<5} SIGNO:{:<5} NOTIFY_PID:{:<6}\n", queue_->bytes,
                  notification && notification->signal == 0 ? mq::kNone : 0,
                  notification ? notification->signal : 0, notification ? notification->process : 0);
  const std::size_t n = std::min(to.size(), text.size() - std::min(text.size(), position_));
  std::memcpy(to.data(), text.data() + position_, n);
  position_ += n;
  return static_cast<std::int64_t>(n);
}

std::int64_t PosixQueueFile::stat(abi::Stat& result) {
  constexpr std::uint64_t kDevice = 20;
  constexpr std::int64_t kBytesOfText = 80;
  stat_of_made_up(kDevice, queue_->ino, S_IFREG | queue_->mode, result);
  result.size = kBytesOfText;
  return 0;
}

std::uint32_t PosixQueueFile::poll(std::uint32_t events) {
  std::uint32_t ready = 0;
  if (!queue_->messages.empty()) ready |= PollBits::kIn | PollBits::kReadNormal;
  if (!queue_->is_full()) ready |= PollBits::kOut | PollBits::kWriteNormal;
  return ready & events;
}

// --- system calls
// --------------------------------------------------------------------------------------------

std::int64_t Process::Impl::make_queue(Call& call, PosixQueue& queue) {
  mq::Attributes wanted{};
  if (call.a[3] != 0) {
    const auto read = user.get<mq::Attributes>(call.a[3]);
    if (!read) return -EFAULT;
    wanted = *read;
    if (wanted.most_messages <= 0 || wanted.most_messages > PosixQueue::kMostMessages ||
        wanted.most_of_message <= 0 || wanted.most_of_message > PosixQueue::kMostOfMessage)
      return -EINVAL;
    queue.most_messages = wanted.most_messages;
    queue.most_of_message = wanted.most_of_message;
  }
  if (kernel.posix_queues.size() >= PosixQueue::kMostQueues) return -ENOSPC;
  queue.mode = call.u32(2) & ~umask & ipc::kModes;
  queue.ino = next_pipe++;
  return 0;
}

std::int64_t Process::Impl::sys_mq_open(Call& call) {
  const std::uint32_t flags = call.u32(1);
  const auto name = user.string(call.a[0], PATH_MAX);
  if (!name) return -EFAULT;
  if ((flags & abi::kAccessMask) == 3) return -EINVAL;
  if (name->empty()) return -ENOENT;
  if (name->size() > NAME_MAX) return -ENAMETOOLONG;
  if (name->find('/') != std::string::npos || *name == "." || *name == "..") return -EACCES;
  if (!files.has_room()) return -EMFILE;
  auto found = kernel.posix_queues.find(*name);
  if (found != kernel.posix_queues.end()) {
    if ((flags & abi::kCreate) != 0 && (flags & abi::kExclusive) != 0) return -EEXIST;
    if (!owner_may(found->second->mode, rights_of_access(flags))) return -EACCES;
  } else {
    if ((flags & abi::kCreate) == 0) return -ENOENT;
    auto queue = std::make_shared<PosixQueue>();
    if (const auto error = make_queue(call, *queue); error < 0) return error;
    found = kernel.posix_queues.emplace(*name, std::move(queue)).first;
  }
  return install(
      std::make_shared<PosixQueueFile>(found->second, flags & (abi::kAccessMask | abi::kNonBlock), *name),
      true);  // a program that an exec starts has none
}

std::int64_t Process::Impl::sys_mq_unlink(Call& call) {
  const auto name = user.string(call.a[0], PATH_MAX);
  if (!name) return -EFAULT;
  if (name->size() > NAME_MAX) return -ENAMETOOLONG;
  return kernel.posix_queues.erase(*name) != 0 ? 0 : -ENOENT;
}

std::shared_ptr<PosixQueueFile> Process::Impl::posix_queue(const Call& call) const {
  return std::dynamic_pointer_cast<PosixQueueFile>(files.find(call.i32(0)));
}

/// The call waits, if it may, until `deadline`.
std::int64_t Process::Impl::wait_for_queue(Call& call, const PosixQueueFile& file,
                                           std::optional<std::uint64_t> deadline) {
  if ((file.flags & abi::kNonBlock) != 0) return -EAGAIN;
  if (call.timed_out || (deadline && *deadline <= now())) return -ETIMEDOUT;
  Wait wait;
  wait.kind = WaitKind::files;
  wait.deadline = deadline;
  return block(call, std::move(wait));
}

std::int64_t Process::Impl::sys_mq_timedsend(Call& call) {
  std::optional<std::uint64_t> deadline;
  std::int64_t error = 0;
  if (call.u32(3) >= PosixQueue::kPriorities) return -EINVAL;
  if (!read_deadline(call.a[4], true, true, deadline, error)) return error;
  const auto file = posix_queue(call);
  if (!file || !file->can_write()) return -EBADF;
  PosixQueue& queue = file->queue();
  if (call.a[2] > static_cast<std::uint64_t>(queue.most_of_message)) return -EMSGSIZE;
  std::vector<std::byte> text(call.a[2]);
  if (!user.read(call.a[1], text.data(), text.size())) return -EFAULT;
  if (queue.is_full()) return wait_for_queue(call, *file, deadline);
  const bool is_first = queue.messages.empty();
  queue.bytes += static_cast<std::int64_t>(text.size());
  queue.messages.emplace(call.u32(3), std::move(text));
  ++queue.edges.in;
  files_changed = true;
  if (is_first) notify(queue);
  return 0;
}

// A thread that waits in mq_timedreceive() gets the message instead of the one that wants to hear of it.
void Process::Impl::notify(PosixQueue& queue) {
  if (!queue.notification) return;
  constexpr std::uint64_t kMqTimedreceive = 183;
  for (const Thread* const thread : file_waits) {
    const ThreadInfo& of = info(*thread);
    Impl* const process = kernel.find(of.pid);
    if (of.wait.number != kMqTimedreceive || process == nullptr) continue;
    const auto file = std::dynamic_pointer_cast<PosixQueueFile>(
        process->files.find(static_cast<std::int32_t>(of.wait.arguments[0])));
    if (file && &file->queue() == &queue) return;
  }
  const PosixQueue::Notification told = *std::exchange(queue.notification, std::nullopt);
  Impl* const process = kernel.find(told.process);
  if (process == nullptr || told.signal == 0) return;
  abi::Siginfo siginfo{};
  siginfo.signo = told.signal;
  siginfo.code = mq::kSiMessage;
  siginfo.sender = {pid, kGuestUser, told.value};
  process->send_signal(nullptr, siginfo);
}

std::int64_t Process::Impl::sys_mq_timedreceive(Call& call) {
  std::optional<std::uint64_t> deadline;
  std::int64_t error = 0;
  if (!read_deadline(call.a[4], true, true, deadline, error)) return error;
  const auto file = posix_queue(call);
  if (!file || !file->can_read()) return -EBADF;
  PosixQueue& queue = file->queue();
  if (call.a[2] < static_cast<std::uint64_t>(queue.most_of_message)) return -EMSGSIZE;
  if (queue.messages.empty()) return wait_for_queue(call, *file, deadline);
  const auto first = queue.messages.begin();
  const std::uint64_t bytes = first->second.size();
  if (!user.writable(call.a[1], bytes) || (call.a[3] != 0 && !user.writable(call.a[3], 4))) return -EFAULT;
  user.write(call.a[1], first->second.data(), bytes);
  if (call.a[3] != 0) user.put(call.a[3], first->first);
  queue.bytes -= static_cast<std::int64_t>(bytes);
  queue.messages.erase(first);
  ++queue.edges.out;
  files_changed = true;
  return static_cast<std::int64_t>(bytes);
}

std::int64_t Process::Impl::sys_mq_notify(Call& call) {
  struct Event {  // sigevent
    std::uint64_t value;
    std::int32_t signal, notify;
  };
  std::optional<Event> event;
  if (call.a[1] != 0) {
    event = user.get<Event>(call.a[1]);
    if (!event) return -EFAULT;
    if (event->notify != mq::kSignal && event->notify != mq::kNone) return -EINVAL;
    if (event->notify == mq::kSignal && (event->signal < 1 || event->signal > abi::kSignals)) return -EINVAL;
  }
  const auto file = posix_queue(call);
  if (!file) return -EBADF;
  auto& notification = file->queue().notification;
  if (notification && kernel.find(notification->process) == nullptr) notification.reset();
  if (!event) {
    if (notification && notification->process == pid) notification.reset();
    return 0;
  }
  if (notification) return -EBUSY;
  notification = {pid, event->notify == mq::kNone ? 0 : event->signal, event->value};
  return 0;
}

std::int64_t Process::Impl::sys_mq_getsetattr(Call& call) {
  std::optional<mq::Attributes> wanted;
  if (call.a[1] != 0) {
    wanted = user.get<mq::Attributes>(call.a[1]);
    if (!wanted) return -EFAULT;
    if ((wanted->flags & ~std::int64_t{abi::kNonBlock}) != 0) return -EINVAL;
  }
  const auto file = posix_queue(call);
  if (!file) return -EBADF;
  if (call.a[2] != 0 && !user.put(call.a[2], mq::attributes_of(*file))) return -EFAULT;
  if (wanted)
    file->flags =
        (file->flags & ~abi::kNonBlock) | (static_cast<std::uint32_t>(wanted->flags) & abi::kNonBlock);
  return 0;
}

}  // namespace rubato::chip
