// A socket of the program: what stream sockets (stream_socket.hpp) and datagram sockets (datagram_socket.hpp)
// have in common. Results are those of Linux, as OpenFile's are; kWouldBlock means that the call has to wait.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "chip/os/local_network.hpp"
#include "chip/os/open_file.hpp"
#include "chip/os/socket_address.hpp"
#include "chip/os/socket_options.hpp"

namespace rubato::chip {

using PassedFiles = std::vector<std::shared_ptr<OpenFile>>;

/// The partner that a call names. The caller looks up local names, the socket itself looks up others.
struct Destination {
  SocketAddress address;
  std::shared_ptr<Socket> local{};
};

/// Things that a call sends besides bytes.
struct Outgoing {
  std::optional<Destination> to{};
  PassedFiles files{};
  int sender = 0;  ///< that the call names; 0: the calling process, if it is to be told
};

/// Things that a call receives besides bytes.
struct Incoming {
  bool peeks = false;           ///< asked: what is received stays
  bool tells_sender = false;    ///< asked: bytes of different senders are not received together
  std::optional<int> sender{};  ///< a process; 0: it was not told
  bool has_source = false;
  SocketAddress source{};
  std::uint64_t whole = 0;  ///< the bytes of the message, also of those that did not fit
  bool is_cut = false;
  PassedFiles files{};
};

/// Bytes on their way to a socket: a stream, or messages one by one.
class SocketQueue {
 public:
  struct Item {
    std::vector<std::byte> bytes;
    SocketAddress source{};
    PassedFiles files{};
    int sender = 0;  ///< the process; 0: not told
    std::size_t taken = 0;
    std::size_t left() const { return bytes.size() - taken; }
  };

  bool empty() const { return items_.empty(); }
  std::size_t count() const { return items_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t first_bytes() const { return items_.empty() ? 0 : items_.front().left(); }
  void push(Item item);
  /// Appends to the stream.
  void append(std::span<const std::byte> bytes, PassedFiles files, int sender);
  /// Takes bytes of the stream; none beyond those that came with files.
  std::int64_t take_stream(std::span<std::byte> to, Incoming& with);
  /// Takes the first message. Precondition: there is one.
  std::int64_t take_message(std::span<std::byte> to, Incoming& with);

 private:
  std::deque<Item> items_;
  std::uint64_t bytes_ = 0;
};

class Socket : public OpenFile, public std::enable_shared_from_this<Socket> {
 public:
  struct Kind {
    Family family;
    SocketType type;
    int protocol;
  };
  Socket(LocalNetwork& network, const Kind& kind, std::uint32_t open_flags);

  Socket* as_socket() override { return this; }
  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t write(std::span<const std::byte> from) override;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::optional<Edges> edges() const override { return edges_; }

  /// -EINPROGRESS: is_connecting(), or a caller that does not wait is told so by the next call and by the
  /// option for errors: the answer of a TCP partner comes behind the call, also that of one on this computer.
  virtual std::int64_t connect(const Destination& to, bool waits) = 0;
  /// Forgets the partner (an address of no family).
  virtual std::int64_t disconnect() = 0;
  /// A connect() is under way: it ends when this is false.
  virtual bool is_connecting() const { return false; }
  virtual std::int64_t listen(int backlog);
  virtual std::int64_t accept(std::shared_ptr<Socket>& result);
  virtual bool is_listening() const { return false; }
  virtual std::int64_t send(std::span<const std::byte> from, const Outgoing& with) = 0;
  virtual std::int64_t receive(std::span<std::byte> to, Incoming& with) = 0;
  virtual std::int64_t shut_down(bool in, bool out) = 0;
  virtual std::int64_t peer_name(SocketAddress& result) const = 0;
  /// Bytes sent that the partner has not received.
  virtual std::uint64_t unreceived() const { return 0; }

  /// Takes the address; of a path only the name, whose file the caller has made.
  std::int64_t bind(SocketAddress address);
  const SocketAddress& local() const { return local_; }
  bool is_bound() const { return local_.family != Family::none; }

  const Kind& kind() const { return kind_; }
  std::uint64_t number() const { return number_; }
  bool is_stream() const { return kind_.type != SocketType::datagram; }
  bool is_local() const { return kind_.family == Family::local; }
  /// A call sends and receives whole messages.
  bool has_messages() const { return kind_.type != SocketType::stream; }
  bool only_v6() const { return kind_.family == Family::inet6 && options.is_set(SocketOptions::kOnlyV6); }
  /// Its messages tell their sender (SO_PASSCRED).
  bool passes_credentials() const { return options.is_set(SocketOptions::kPassCredentials); }
  bool reuses_address() const { return options.is_set(SocketOptions::kReuseAddress); }
  bool reuses_port() const { return options.is_set(SocketOptions::kReusePort); }

  /// The error that is to be reported (a positive number), once.
  int take_error() { return std::exchange(error_, 0); }

  SocketOptions options;
  int used_by = 0;   ///< the process that listens, connects, or has made the pair
  int peer_pid = 0;  ///< used_by of the partner, when they were connected

 protected:
  /// All bits of poll() that are true now.
  virtual std::uint32_t state_bits() const = 0;
  /// Takes a free port, if the socket has no address. @returns 0 or -errno.
  std::int64_t bind_if_needed();
  /// The own address as a partner at `to` sees it.
  SocketAddress seen_from(const IpAddress& to) const;
  /// The partner's address as it is meant: that of no host is this host's. @returns 0 or -errno.
  std::int64_t check_reachable(SocketAddress& to) const;
  /// The process that a message to the local socket `to` names; 0: no side asks for it.
  int sender_to(const Socket& to, const Outgoing& with) const;
  /// The address of a partner is no longer kept in the own one: it is as it was bound.
  void forget_source() { local_.ip = bound_ip_; }
  void became_readable() { ++edges_.in; }
  void became_writable() { ++edges_.out; }

  LocalNetwork& network_;
  SocketAddress local_{};
  int error_ = 0;

 private:
  const Kind kind_;
  const std::uint64_t number_;
  IpAddress bound_ip_{};
  Edges edges_{};
};

}  // namespace rubato::chip
