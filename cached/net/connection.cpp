// SPDX-License-Identifier: MIT
#include "cached/net/connection.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "cached/net/worker.hpp"
#include "cached/protocol/address.hpp"
#include "cached/protocol/dump.hpp"

namespace rubato::cached {

Connection::Connection(Worker& worker, Context& context, int descriptor, std::unique_ptr<TlsStream> tls)
    : worker_(worker),
      context_(context),
      transport_(descriptor, std::move(tls)),
      output_(context.engine),
      session_(context, worker.counters(), output_, descriptor),
      watch_(worker.loop(), descriptor, Loop::kRead, &ready, this) {
  if (context.log.wants(EventLog::kConnections)) context.log.connection(descriptor, {});
}

Connection::~Connection() {
  if (watching_) {
    context_.log.remove((*watching_)->watcher);
    (*watching_)->connection = nullptr;
  }
  if (context_.log.wants(EventLog::kConnections)) {
    const Session::End end = session_.closing() ? session_.end()
                             : has_left_        ? Session::End::left
                                                : Session::End::error;
    context_.log.connection(descriptor(), was_idle_                       ? "idle_timeout"
                                          : end == Session::End::left     ? "normal"
                                          : end == Session::End::shutdown ? "shutdown"
                                                                          : "error");
  }
}

void Connection::ready(void* self, int events) {
  auto& connection = *static_cast<Connection*>(self);
  Turn turn = connection.turn_.load(std::memory_order_acquire);
  while (turn != Turn::thread) {
    // More arrives while requests are under way: their turn notes it, and the loop need not report it.
    if (turn != Turn::requests) return connection.watch_.change(0);
    if (connection.turn_.compare_exchange_weak(turn, Turn::requests_and_more, std::memory_order_acquire))
      return connection.watch_.change(0);
  }
  if (!connection.transport_.admit(events)) [[unlikely]]
    return connection.fail_handshake();
  try {
    // A dump is appended as requests are worked through, since it asks the engine.
    if (connection.dump_ && connection.context_.engine.executor())
      return static_cast<void>(connection.hand_over());
    if (events & Loop::kWrite) connection.broken_ |= !connection.flush();
    if (!connection.broken_ && (events & Loop::kRead) && !connection.readable()) return;
  } catch (const std::bad_alloc&) {
    connection.worker_.counters().add(Count::response_oom);
    connection.broken_ = true;
  }
  connection.settle();
}

void Connection::fail_handshake() {
  worker_.counters().add(Count::handshake_errors);
  broken_ = true;
  settle();
}

// Requests that were left when the budget was used up come first; else bytes are received.
bool Connection::readable() {
  if (watching_) return discard();
  if (std::exchange(yielded_, false)) {
    const std::unique_ptr<std::string> rest = std::move(partial_);
    return process(rest->data(), rest->size());
  }
  return receive();
}

bool Connection::receive() {
  if (!partial_ && !session_.wanted().empty()) return receive_value();
  std::vector<char>& buffer = worker_.buffer();
  const std::size_t kept = partial_ ? partial_->size() : 0;
  if (kept + 4096 > buffer.size()) {
    // A long multiget: it grows where it is.
    if (kept > kMostPartial) {
      broken_ = true;
      return true;
    }
    partial_->resize(kept * 2 + 4096);
    const ssize_t got = transport_.receive(partial_->data() + kept, partial_->size() - kept);
    partial_->resize(kept + static_cast<std::size_t>(got > 0 ? got : 0));
    if (!arrived(got)) return true;
    const std::unique_ptr<std::string> all = std::move(partial_);
    return process(all->data(), all->size());
  }
  if (kept) std::memcpy(buffer.data(), partial_->data(), kept);
  const ssize_t got = transport_.receive(buffer.data() + kept, buffer.size() - kept);
  if (!arrived(got)) return true;
  partial_.reset();
  const std::size_t there = kept + static_cast<std::size_t>(got);
  if (!process(buffer.data(), there)) return false;
  // More has come than the buffer holds. If it is the rest of a value, the loop need not say so.
  const bool more = there == buffer.size() && !broken_ && !partial_ && !session_.wanted().empty();
  return more ? receive_value() : true;
}

bool Connection::receive_value() {
  const std::span<char> wanted = session_.wanted();
  const ssize_t got = transport_.receive(wanted.data(), wanted.size());
  if (!arrived(got)) return true;
  received_ = static_cast<std::size_t>(got);
  if (context_.engine.executor()) return hand_over();
  session_.received(std::exchange(received_, 0));
  broken_ |= !flush();
  return true;
}

/// Whether a receipt brought something; notes what went wrong.
bool Connection::arrived(ssize_t got) {
  if (got > 0) return worker_.counters().add(Count::bytes_read, static_cast<std::uint64_t>(got)), true;
  has_left_ |= got == 0;
  broken_ |= got == 0 || (errno != EAGAIN && errno != EINTR);
  return false;
}

bool Connection::process(const char* data, std::size_t n) {
  if (context_.engine.executor()) {
    if (!arrived_) arrived_ = std::make_unique<std::string>();
    arrived_->assign(data, n);
    return hand_over();
  }
  consume(data, n);
  broken_ |= !flush();
  return true;
}

void Connection::consume(const char* data, std::size_t n) {
  int budget = context_.settings.requests_per_event;
  note(State::parse_cmd);
  const std::size_t used = session_.consume(data, n, budget);
  if (used < n) partial_ = std::make_unique<std::string>(data + used, n - used);
  if (const unsigned kinds = session_.take_watch()) return begin_watch(kinds);
  if (!dump_) {
    DumpUnderWay dump;
    dump.classes = session_.take_dump(dump.kind);
    if (dump.classes) dump_ = std::make_unique<DumpUnderWay>(dump);
  }
  if (used < n && budget == 0) worker_.counters().add(Count::yields);
  if (used < n && (budget == 0 || dump_)) yielded_ = true;
  note_wait();
}

void Connection::note_wait() {
  if (watching_) return note(State::watch);
  note(session_.awaits_value() ? State::nread : session_.swallows() ? State::swallow : State::read);
}

ConnectionReport Connection::report() const {
  constexpr std::string_view kNames[] = {"conn_read",    "conn_parse_cmd", "conn_nread",
                                         "conn_swallow", "conn_mwrite",    "conn_watch"};
  const State state = state_.load(std::memory_order_relaxed);
  const std::uint32_t last = session_.last_request(), now = context_.clock.now();
  return {descriptor(), client_address(descriptor()), own_address(descriptor()),
          kNames[static_cast<unsigned>(state)], now > last ? now - last : 0};
}

/// Its requests go where the executor has them worked through. False: they may still be under way.
bool Connection::hand_over() {
  turn_.store(Turn::requests, std::memory_order_relaxed);
  try {
    context_.engine.executor()->execute(*this);
  } catch (...) {
    turn_.store(Turn::thread, std::memory_order_relaxed);
    throw;
  }
  return false;
}

void Connection::work() {
  try {
    if (received_) {
      session_.received(std::exchange(received_, 0));
      note_wait();
    } else if (arrived_ && !arrived_->empty()) {
      consume(arrived_->data(), arrived_->size());
      arrived_->clear();
    }
    if (output_.pending()) context_.engine.executor()->step_aside();
    broken_ |= !flush();
  } catch (const std::bad_alloc&) {
    worker_.counters().add(Count::response_oom);
    broken_ = true;
  }
  hand_back();
}

/// The last that requests do with it: from then on its thread may destroy it.
void Connection::hand_back() {
  Turn turn = Turn::requests;
  const bool simple =
      !broken_ && !session_.closing() && !output_.pending() && !yielded_ && !transport_.holds_more();
  if (simple && watch_.events() == Loop::kRead &&
      turn_.compare_exchange_strong(turn, Turn::thread, std::memory_order_acq_rel))
    return;  // it waits for the next request as before
  Loop& loop = worker_.loop();
  if (loop.is_turned_here()) {
    turn_.store(Turn::thread, std::memory_order_relaxed);
    return settle();
  }
  turn_.store(Turn::posted, std::memory_order_release);
  loop.post([this] {
    turn_.store(Turn::thread, std::memory_order_relaxed);
    settle();
  });
}

bool Connection::flush() {
  do {
    while (output_.pending()) {
      const ssize_t sent = transport_.send(output_, context_.settings.tls.wbuf_size);
      if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
      worker_.counters().add(Count::bytes_written, static_cast<std::uint64_t>(sent));
      output_.sent(static_cast<std::size_t>(sent));
    }
  } while (continue_dump() || continue_watch());
  return true;
}

void Connection::begin_watch(unsigned kinds) {
  note(State::watch);
  Loop& loop = worker_.loop();
  const auto watching = std::make_shared<Watching>(Watching{this, nullptr});
  const std::weak_ptr<Watching> weak = watching;
  watching->watcher = context_.log.add(kinds, [&loop, weak] {
    loop.post([weak] {
      const auto there = weak.lock();
      if (there && there->connection) there->connection->lines_are_there();
    });
  });
  if (!watching->watcher) return output_.append("WATCHER_TOO_MANY log watcher limit reached\r\n");
  output_.append("OK\r\n");
  partial_.reset(), yielded_ = false;
  watching_ = std::make_unique<std::shared_ptr<Watching>>(watching);
}

void Connection::lines_are_there() {
  if (turn_.load(std::memory_order_acquire) != Turn::thread)  // the request to watch itself is under way
    return worker_.loop().post([weak = std::weak_ptr(*watching_)] {
      const auto there = weak.lock();
      if (there && there->connection) there->connection->lines_are_there();
    });
  broken_ |= !flush();
  settle();
}

bool Connection::continue_watch() {
  if (!watching_) return false;
  const std::string lines = context_.log.take(*(*watching_)->watcher);
  output_.append(lines);
  return !lines.empty();
}

bool Connection::discard() {
  std::vector<char>& buffer = worker_.buffer();
  arrived(transport_.receive(buffer.data(), buffer.size()));
  return true;
}

bool Connection::continue_dump() {
  if (!dump_) return false;
  dump_->position = context_.engine.crawl(dump_->position, dump_->classes, [&](const ItemReport& report) {
    append_dump_line(output_, dump_->kind, report, context_.clock);
  });
  if (dump_->position == 0) {
    output_.append(dump_->kind == Dump::metadump ? "END\r\n" : "EN\r\n");
    dump_.reset();
  }
  return true;
}

/// Sets the events that the loop should wait for now. The last action of a callback, since it may destroy the
/// connection.
void Connection::settle() {
  if (broken_ || (session_.closing() && !output_.pending())) return worker_.remove(*this);
  const std::size_t pending = output_.pending();
  if (pending) {
    note(State::mwrite);
    // Slow readers are not read from before they have taken what waits for them.
    const bool read = pending < kMostPending && !session_.closing() && !yielded_ && !dump_;
    watch_.change(transport_.needed(static_cast<short>(Loop::kWrite | (read ? Loop::kRead : 0))));
    if (read && transport_.holds_more()) watch_.again(Loop::kRead);
    return;
  }
  note_wait();
  watch_.change(transport_.needed(Loop::kRead));
  if (yielded_ || transport_.holds_more()) watch_.again(Loop::kRead);
}

}  // namespace rubato::cached
