// SPDX-License-Identifier: MIT
#include "cached/net/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cached/net/worker.hpp"
#include "cached/protocol/dump.hpp"

namespace rubato::cached {

Connection::Connection(Worker& worker, Context& context, int descriptor, std::string peer)
    : worker_(worker),
      context_(context),
      descriptor_(descriptor),
      peer_(std::move(peer)),
      output_(context.engine),
      session_(context, worker.counters(), output_),
      watch_(worker.loop(), descriptor, Loop::kRead, &ready, this) {}

Connection::~Connection() { ::close(descriptor_); }

void Connection::ready(void* self, int events) {
  auto& connection = *static_cast<Connection*>(self);
  try {
    if (events & Loop::kWrite) connection.broken_ |= !connection.flush();
    if (!connection.broken_ && (events & Loop::kRead)) connection.readable();
  } catch (const std::bad_alloc&) {
    connection.worker_.counters().add(Count::response_oom);
    connection.broken_ = true;
  }
  connection.settle();
}

// Requests that were left when the budget was used up come first; else bytes are received.
void Connection::readable() {
  if (std::exchange(yielded_, false)) {
    std::string rest;
    rest.swap(partial_);
    return process(rest.data(), rest.size(), true);
  }
  receive();
}

bool Connection::receive() {
  const std::span<char> wanted = session_.wanted();
  if (!wanted.empty() && partial_.empty()) {
    const ssize_t got = ::recv(descriptor_, wanted.data(), wanted.size(), 0);
    if (got <= 0) {
      broken_ |= got == 0 || (errno != EAGAIN && errno != EINTR);
      return false;
    }
    worker_.counters().add(Count::bytes_read, static_cast<std::uint64_t>(got));
    session_.received(static_cast<std::size_t>(got));
    broken_ |= !flush();
    return true;
  }
  std::vector<char>& buffer = worker_.buffer();
  const std::size_t kept = partial_.size();
  if (kept + 4096 > buffer.size()) {
    // A long multiget: it grows where it is.
    if (kept > kMostPartial) {
      broken_ = true;
      return false;
    }
    partial_.resize(kept * 2 + 4096);
    const ssize_t got = ::recv(descriptor_, partial_.data() + kept, partial_.size() - kept, 0);
    if (got <= 0) {
      partial_.resize(kept);
      broken_ |= got == 0 || (errno != EAGAIN && errno != EINTR);
      return false;
    }
    partial_.resize(kept + static_cast<std::size_t>(got));
    worker_.counters().add(Count::bytes_read, static_cast<std::uint64_t>(got));
    std::string all;
    all.swap(partial_);
    process(all.data(), all.size(), true);
    return true;
  }
  if (kept) std::memcpy(buffer.data(), partial_.data(), kept);
  const ssize_t got = ::recv(descriptor_, buffer.data() + kept, buffer.size() - kept, 0);
  if (got <= 0) {
    broken_ |= got == 0 || (errno != EAGAIN && errno != EINTR);
    return false;
  }
  worker_.counters().add(Count::bytes_read, static_cast<std::uint64_t>(got));
  partial_.clear();
  process(buffer.data(), kept + static_cast<std::size_t>(got), false);
  return true;
}

void Connection::process(const char* data, std::size_t n, bool) {
  int budget = context_.settings.requests_per_event;
  const std::size_t used = session_.consume(data, n, budget);
  if (used < n) partial_.assign(data + used, n - used);
  if (dump_classes_ == 0) {
    dump_classes_ = session_.take_dump(dump_kind_);
    dump_position_ = 0;
  }
  if (!flush()) {
    broken_ = true;
    return;
  }
  if (used < n && budget == 0) {
    worker_.counters().add(Count::yields);
    yielded_ = true;
  }
}

bool Connection::flush() {
  do {
    while (output_.pending()) {
      ssize_t sent;
      if (output_.contiguous()) {
        sent = ::send(descriptor_, output_.begin(), output_.pending(), MSG_NOSIGNAL);
      } else {
        iovec pieces[64];
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = static_cast<std::size_t>(output_.gather(pieces, 64));
        sent = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
      }
      if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
      worker_.counters().add(Count::bytes_written, static_cast<std::uint64_t>(sent));
      output_.sent(static_cast<std::size_t>(sent));
    }
  } while (continue_dump());
  return true;
}

bool Connection::continue_dump() {
  if (!dump_classes_) return false;
  dump_position_ = context_.engine.crawl(dump_position_, dump_classes_, [&](const ItemReport& report) {
    append_dump_line(output_, dump_kind_, report, context_.clock);
  });
  if (dump_position_ == 0) {
    dump_classes_ = 0;
    output_.append(dump_kind_ == Dump::metadump ? "END\r\n" : "EN\r\n");
  }
  return true;
}

/// What the loop should wait for now; the last thing that a callback does, since it may destroy the
/// connection.
void Connection::settle() {
  if (broken_ || (session_.closing() && !output_.pending())) return worker_.remove(*this);
  const std::size_t pending = output_.pending();
  if (pending) {
    // Slow readers are not read from before they have taken what waits for them.
    const bool read = pending < kMostPending && !session_.closing() && !yielded_ && !dump_classes_;
    watch_.change(static_cast<short>(Loop::kWrite | (read ? Loop::kRead : 0)));
    return;
  }
  watch_.change(Loop::kRead);
  if (yielded_) watch_.again(Loop::kRead);
}

}  // namespace rubato::cached
