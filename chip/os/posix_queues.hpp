// POSIX message queues: mq_open() and the calls on what it opens. Queues have names of their own, which are
// those of the run: none is a queue of the host.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chip/os/open_file.hpp"

namespace rubato::chip {

/// A queue, which lives as long as it has a name or is open.
struct PosixQueue {
  static constexpr std::int64_t kMostMessages = 10, kMostOfMessage = 8192;  ///< for an ordinary user
  static constexpr std::size_t kMostQueues = 256;
  static constexpr std::uint32_t kPriorities = 32768;

  /// The process that hears of a message in the empty queue.
  struct Notification {
    int process = 0;
    std::int32_t signal = 0;  ///< 0: none is sent
    std::uint64_t value = 0;
  };

  std::int64_t most_messages = kMostMessages, most_of_message = kMostOfMessage;
  std::uint32_t mode = 0;
  std::uint64_t ino = 0;
  /// By priority, the highest first; of one priority the oldest first.
  std::multimap<std::uint32_t, std::vector<std::byte>, std::greater<>> messages{};
  std::int64_t bytes = 0;
  std::optional<Notification> notification{};
  Edges edges{};

  bool is_full() const { return static_cast<std::int64_t>(messages.size()) >= most_messages; }
};

/// An open queue.
class PosixQueueFile final : public OpenFile {
 public:
  PosixQueueFile(std::shared_ptr<PosixQueue> queue, std::uint32_t open_flags, const std::string& name)
      : OpenFile(open_flags, "/" + name), queue_(std::move(queue)) {}

  /// A line on the queue, as Linux has it.
  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::optional<Edges> edges() const override { return queue_->edges; }
  PosixQueue& queue() const { return *queue_; }
  /// The process closes a descriptor of the queue: it does not want to hear of messages any longer.
  void closed_by(int process) const {
    if (queue_->notification && queue_->notification->process == process) queue_->notification.reset();
  }

 private:
  std::shared_ptr<PosixQueue> queue_;
  std::size_t position_ = 0;
};

/// The names of queues, without the '/' in front.
using PosixQueues = std::map<std::string, std::shared_ptr<PosixQueue>>;

}  // namespace rubato::chip
