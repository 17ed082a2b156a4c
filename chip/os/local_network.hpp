// The network of a program: a loopback interface (127.0.0.0/8 and ::1) and local names, within the simulator.
// No socket of the host is ever made, and no other address can be reached.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chip/os/socket_address.hpp"

namespace rubato::chip {

class Socket;

class LocalNetwork {
 public:
  /// Device and inode of the file that stands for a local name.
  using FileKey = std::pair<std::uint64_t, std::uint64_t>;

  /// Gives the socket the address, and a free port if its port is 0. @returns 0 or -errno.
  std::int64_t bind(const std::shared_ptr<Socket>& socket, SocketAddress& address);
  /// The sockets of that protocol that may be meant by `to`: those with the very address first.
  std::vector<std::shared_ptr<Socket>> bound(bool is_stream, const SocketAddress& to);

  /// @returns false if the name is taken. An empty name: the network chooses one.
  bool bind_name(const std::shared_ptr<Socket>& socket, std::string& name);
  std::shared_ptr<Socket> named(const std::string& name) const;
  void bind_file(const std::shared_ptr<Socket>& socket, FileKey key) { files_[key] = socket; }
  std::shared_ptr<Socket> of_file(FileKey key) const;

  /// The process whose call is being made: messages name it as their sender.
  int caller() const { return caller_; }
  void set_caller(int pid) { caller_ = pid; }

  /// The number of a new socket, as fstat() shows it.
  std::uint64_t next_number() { return ++last_number_; }

  /// All that a network without sockets is: the numbers that come next.
  std::pair<std::uint64_t, std::uint16_t> numbers() const { return {last_number_, next_port_}; }
  void continue_with(std::uint64_t last_number, std::uint16_t next_port) {
    last_number_ = last_number;
    next_port_ = std::clamp(next_port, kFirstFree, kLastFree);
  }

 private:
  // As Linux, by default.
  static constexpr std::uint16_t kFirstFree = 32768, kLastFree = 60999;

  struct Binding {
    SocketAddress address;
    std::weak_ptr<Socket> socket;
  };
  using Ports = std::map<std::uint16_t, std::vector<Binding>>;

  std::vector<Binding>& bindings(bool is_stream, std::uint16_t port);
  bool conflicts(const Binding& other, const Socket& socket, const SocketAddress& address) const;

  std::array<Ports, 2> ports_;  // of datagrams, of streams
  std::uint16_t next_port_ = kFirstFree;
  std::map<std::string, std::weak_ptr<Socket>> names_;
  std::map<FileKey, std::weak_ptr<Socket>> files_;
  std::uint64_t last_number_ = 2000;
  int caller_ = 0;
};

}  // namespace rubato::chip
