// SPDX-License-Identifier: MIT
#include "cached/net/worker.hpp"

#include <unistd.h>

namespace rubato::cached {

void Worker::start() {
  if (context_.settings.idle_timeout) loop_.every(1000, [this] { drop_idle(); });
  counters_.shared = context_.engine.executor() != nullptr;
  if (Executor* executor = context_.engine.executor()) return executor->serve(loop_);
  thread_ = std::thread([this] { loop_.run(); });
}

void Worker::stop() {
  loop_.stop();
  if (thread_.joinable())
    thread_.join();
  else
    loop_.wait_for_end();
  for_each([](Connection& connection) { connection.flush(); });
  connections_.clear();
}

void Worker::adopt(int descriptor, TlsServer* tls) {
  loop_.post([this, descriptor, tls] {
    try {
      std::lock_guard guard(connections_mutex_);
      const auto place = static_cast<std::size_t>(descriptor);
      if (connections_.size() <= place) connections_.resize(place + 1);
      std::unique_ptr<TlsStream> stream;
      if (tls) stream = tls->accept(descriptor);
      connections_[place] = std::make_unique<Connection>(*this, context_, descriptor, std::move(stream));
    } catch (const std::bad_alloc&) {
      ::close(descriptor);
      keeper_.connection_closed();
    }
  });
}

void Worker::remove(Connection& connection) {
  {
    std::lock_guard guard(connections_mutex_);
    connections_[static_cast<std::size_t>(connection.descriptor())].reset();
  }
  keeper_.connection_closed();
}

void Worker::describe(std::vector<ConnectionReport>& to) {
  std::lock_guard guard(connections_mutex_);
  for_each([&to](const Connection& connection) { to.push_back(connection.report()); });
}

void Worker::drop_idle() {
  std::vector<Connection*> old;
  for_each([&](Connection& connection) {
    if (connection.idle_for(context_.settings.idle_timeout)) old.push_back(&connection);
  });
  counters_.add(Count::idle_kicks, old.size());
  for (Connection* connection : old) {
    connection->note_idle();
    remove(*connection);
  }
}

}  // namespace rubato::cached
