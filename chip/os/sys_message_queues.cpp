// System calls on System V message queues: msgget, msgsnd, msgrcv and msgctl.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {
namespace msg {

constexpr std::uint32_t kCutsText = 010000, kOtherType = 020000, kCopies = 040000;
enum Command : std::int32_t { kStatusAt = 11, kUsage = 12, kStatusAtAny = 13 };

struct QueueStatus {
  IpcStatus rights;
  std::int64_t sent_at, received_at, changed_at;
  std::uint64_t bytes, messages, most_bytes;
  std::int32_t last_sender, last_receiver;
  std::uint64_t unused[2];
};
static_assert(sizeof(QueueStatus) == 120);

/// struct msginfo.
struct Limits {
  std::int32_t pool, map, most_of_message, most_of_queue, queues, segment, headers;
  std::uint16_t segments, pad;
};

/// The message that a receiver of `type` gets: its place, or the number of messages.
std::size_t find_message(const MessageQueue& queue, std::int64_t type, std::uint32_t flags) {
  const auto& messages = queue.messages;
  if ((flags & kCopies) != 0)
    return std::min(messages.size(), static_cast<std::size_t>(std::max<std::int64_t>(type, 0)));
  auto found = messages.begin();
  if (type < 0) {
    const std::int64_t most =
        type == std::numeric_limits<std::int64_t>::min() ? std::numeric_limits<std::int64_t>::max() : -type;
    found = std::min_element(messages.begin(), messages.end(),
                             [](const auto& a, const auto& b) { return a.type < b.type; });
    if (found != messages.end() && found->type > most) found = messages.end();
  } else if (type > 0) {
    const bool wants_other = (flags & kOtherType) != 0;
    found = std::find_if(messages.begin(), messages.end(),
                         [&](const auto& message) { return (message.type == type) != wants_other; });
  }
  return static_cast<std::size_t>(found - messages.begin());
}

}  // namespace msg
}  // namespace

std::int64_t Process::Impl::sys_msgget(Call& call) {
  const auto make = [&](MessageQueue& queue) -> std::int64_t {
    queue.changed_at = date();
    return 0;
  };
  return kernel.ipc.queues.get(
      call.i32(0), call.u32(1), [](const MessageQueue&) { return true; }, make);
}

std::int64_t Process::Impl::sys_msgsnd(Call& call) {
  const auto type = user.get<std::int64_t>(call.a[1]);
  if (!type) return -EFAULT;
  if (call.i32(0) < 0 || call.a[2] > MessageQueue::kMostOfMessage || *type < 1) return -EINVAL;
  MessageQueue::Message message{*type, std::vector<std::byte>(call.a[2])};
  if (!user.read(call.a[1] + sizeof *type, message.text.data(), message.text.size())) return -EFAULT;
  MessageQueue* queue = nullptr;
  if (const auto error = kernel.ipc.queues.find(call.i32(0), queue, call.is_retried()); error < 0)
    return error;
  if (!queue->head.allows(ipc::kMayWrite)) return -EACCES;
  if (queue->bytes + message.text.size() > queue->most_bytes || queue->messages.size() >= queue->most_bytes)
    return wait_for_files(call, (call.u32(3) & ipc::kNoWait) == 0, std::nullopt);
  queue->bytes += message.text.size();
  queue->messages.push_back(std::move(message));
  queue->last_sender = pid;
  queue->sent_at = date();
  files_changed = true;
  return 0;
}

std::int64_t Process::Impl::sys_msgrcv(Call& call) {
  const std::uint32_t flags = call.u32(4);
  if (call.i32(0) < 0 || call.i64(2) < 0) return -EINVAL;
  if ((flags & msg::kCopies) != 0 && ((flags & msg::kOtherType) != 0 || (flags & ipc::kNoWait) == 0))
    return -EINVAL;
  MessageQueue* queue = nullptr;
  if (const auto error = kernel.ipc.queues.find(call.i32(0), queue, call.is_retried()); error < 0)
    return error;
  if (!queue->head.allows(ipc::kMayRead)) return -EACCES;
  const std::size_t place = msg::find_message(*queue, call.i64(3), flags);
  if (place == queue->messages.size())
    return (flags & ipc::kNoWait) != 0 ? -ENOMSG : wait_for_files(call, true, std::nullopt);
  const MessageQueue::Message& message = queue->messages[place];
  if (message.text.size() > call.a[2] && (flags & msg::kCutsText) == 0) return -E2BIG;
  const std::uint64_t bytes = std::min<std::uint64_t>(message.text.size(), call.a[2]);
  if (!user.writable(call.a[1], sizeof message.type + bytes)) return -EFAULT;
  user.put(call.a[1], message.type);
  user.write(call.a[1] + sizeof message.type, message.text.data(), bytes);
  if ((flags & msg::kCopies) != 0) return static_cast<std::int64_t>(bytes);
  queue->bytes -= message.text.size();
  queue->messages.erase(queue->messages.begin() + static_cast<std::ptrdiff_t>(place));
  queue->last_receiver = pid;
  queue->received_at = date();
  files_changed = true;
  return static_cast<std::int64_t>(bytes);
}

std::int64_t Process::Impl::put_queue_status(Call& call, const MessageQueue& queue) {
  if (!queue.head.allows(call.i32(1) == msg::kStatusAtAny ? 0 : ipc::kMayRead)) return -EACCES;
  msg::QueueStatus status{};
  status.rights = status_of(queue.head);
  status.sent_at = queue.sent_at;
  status.received_at = queue.received_at;
  status.changed_at = queue.changed_at;
  status.bytes = queue.bytes;
  status.messages = queue.messages.size();
  status.most_bytes = queue.most_bytes;
  status.last_sender = queue.last_sender;
  status.last_receiver = queue.last_receiver;
  if (!user.put(call.a[2], status)) return -EFAULT;
  return call.i32(1) == ipc::kStatus ? 0 : queue.head.id;
}

std::int64_t Process::Impl::sys_msgctl(Call& call) {
  auto& queues = kernel.ipc.queues;
  MessageQueue* queue = nullptr;
  const std::int32_t command = call.i32(1);
  if (call.i32(0) < 0) return -EINVAL;
  if (command == ipc::kInfo || command == msg::kUsage) {
    constexpr std::int32_t kSegment = 16;
    msg::Limits bounds{512000,
                       16384,
                       MessageQueue::kMostOfMessage,
                       MessageQueue::kMostBytes,
                       IpcObjects::kMostOthers,
                       kSegment,
                       16384,
                       0xffff,
                       0};
    if (command == msg::kUsage) {
      bounds.pool = static_cast<std::int32_t>(queues.size());
      bounds.map = bounds.headers = 0;
      for (const auto& [place, one] : queues) {
        bounds.map += static_cast<std::int32_t>(one.messages.size());
        bounds.headers += static_cast<std::int32_t>(one.bytes);
      }
    }
    return user.put(call.a[2], bounds) ? queues.last_place() : -EFAULT;
  }
  if (command == msg::kStatusAt || command == msg::kStatusAtAny) {
    const auto error = queues.at_place(call.i32(0), queue);
    return error < 0 ? error : put_queue_status(call, *queue);
  }
  if (command != ipc::kStatus && command != ipc::kSet && command != ipc::kRemove) return -EINVAL;
  const auto wanted = command == ipc::kSet ? user.get<msg::QueueStatus>(call.a[2]) : msg::QueueStatus{};
  if (!wanted) return -EFAULT;
  if (const auto error = queues.find(call.i32(0), queue); error < 0) return error;
  if (command == ipc::kStatus) return put_queue_status(call, *queue);
  if (command == ipc::kSet) {
    if (wanted->most_bytes > MessageQueue::kMostBytes) return -EPERM;  // for an ordinary user
    set_rights(queue->head, wanted->rights);
    queue->most_bytes = wanted->most_bytes;
    queue->changed_at = date();
  } else {
    queues.remove(call.i32(0));
  }
  files_changed = true;
  return 0;
}

}  // namespace rubato::chip
