// SPDX-License-Identifier: MIT
#include "cached/net/worker.hpp"

#include <unistd.h>

namespace rubato::cached {

void Worker::start() {
  if (context_.settings.idle_timeout) loop_.every(1000, [this] { drop_idle(); });
  counters_.shared = context_.engine.executor() != nullptr;
  thread_ = std::thread([this] { loop_.run(); });
}

void Worker::stop() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
  for (auto& [descriptor, connection] : connections_) connection->last_flush();
  connections_.clear();
}

void Worker::adopt(int descriptor, std::string peer) {
  loop_.post([this, descriptor, name = std::move(peer)]() mutable {
    try {
      connections_[descriptor] = std::make_unique<Connection>(*this, context_, descriptor, std::move(name));
    } catch (const std::bad_alloc&) {
      connections_.erase(descriptor);
      ::close(descriptor);
      keeper_.connection_closed();
    }
  });
}

void Worker::remove(Connection& connection) {
  connections_.erase(connection.descriptor());
  keeper_.connection_closed();
}

void Worker::drop_idle() {
  std::vector<Connection*> old;
  for_each([&](Connection& connection) {
    if (connection.idle_for(context_.settings.idle_timeout)) old.push_back(&connection);
  });
  for (Connection* connection : old) remove(*connection);
}

}  // namespace rubato::cached
