// SPDX-License-Identifier: MIT
#include "chip/os/local_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "chip/os/socket.hpp"

namespace rubato::chip {
namespace {

// The address of `socket` means all that are reached by `ip`, too.
bool covers(const SocketAddress& address, bool only_v6, const IpAddress& ip) {
  if (address.ip == ip) return true;
  if (!address.ip.is_any()) return false;
  return address.ip.is_v4() ? ip.is_v4() : !ip.is_v4() || !only_v6;
}

}  // namespace

std::vector<LocalNetwork::Binding>& LocalNetwork::bindings(bool is_stream, std::uint16_t port) {
  auto& list = ports_[is_stream ? 1 : 0][port];
  std::erase_if(list, [](const Binding& binding) { return binding.socket.expired(); });
  return list;
}

bool LocalNetwork::conflicts(const Binding& other, const Socket& socket, const SocketAddress& address) const {
  const auto holder = other.socket.lock();
  const bool meets = covers(other.address, holder->only_v6(), address.ip) ||
                     covers(address, socket.only_v6(), other.address.ip);
  if (!meets) return false;
  if (holder->reuses_port() && socket.reuses_port()) return false;
  return !(holder->reuses_address() && socket.reuses_address() && !holder->is_listening());
}

std::int64_t LocalNetwork::bind(const std::shared_ptr<Socket>& socket, SocketAddress& address) {
  constexpr std::uint16_t kPrivileged = 1024;
  if (!address.ip.is_any() && !address.ip.is_loopback()) return -EADDRNOTAVAIL;
  if (address.port != 0 && address.port < kPrivileged) return -EACCES;
  const bool is_stream = socket->is_stream();
  const auto is_free = [&](std::uint16_t port) {
    const auto& list = bindings(is_stream, port);
    return std::none_of(list.begin(), list.end(),
                        [&](const Binding& other) { return conflicts(other, *socket, address); });
  };
  if (address.port == 0) {
    // A port that nothing has: reuse is for ports that were asked for.
    for (unsigned tries = 0; tries <= kLastFree - kFirstFree && address.port == 0; ++tries) {
      if (bindings(is_stream, next_port_).empty()) address.port = next_port_;
      next_port_ = next_port_ == kLastFree ? kFirstFree : static_cast<std::uint16_t>(next_port_ + 1);
    }
    if (address.port == 0) return -EADDRINUSE;
  } else if (!is_free(address.port)) {
    return -EADDRINUSE;
  }
  bindings(is_stream, address.port).push_back({address, socket});
  return 0;
}

std::vector<std::shared_ptr<Socket>> LocalNetwork::bound(bool is_stream, const SocketAddress& to) {
  std::vector<std::shared_ptr<Socket>> exact, wide;
  for (const Binding& binding : bindings(is_stream, to.port)) {
    auto socket = binding.socket.lock();
    // A socket that was connected meanwhile has an address of its own.
    const SocketAddress& address = socket->local();
    if (!covers(address, socket->only_v6(), to.ip)) continue;
    (address.ip == to.ip ? exact : wide).push_back(std::move(socket));
  }
  exact.insert(exact.end(), wide.begin(), wide.end());
  return exact;
}

bool LocalNetwork::bind_name(const std::shared_ptr<Socket>& socket, std::string& name) {
  std::erase_if(names_, [](const auto& entry) { return entry.second.expired(); });
  for (unsigned number = 0; name.empty(); ++number) {
    std::string candidate = std::string(1, '\0') + fmt::format("{:05x}", number);
    if (!names_.contains(candidate)) name = std::move(candidate);
  }
  return names_.emplace(name, socket).second;
}

std::shared_ptr<Socket> LocalNetwork::named(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<Socket> LocalNetwork::of_file(FileKey key) const {
  const auto found = files_.find(key);
  return found == files_.end() ? nullptr : found->second.lock();
}

}  // namespace rubato::chip
