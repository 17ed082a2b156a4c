// System calls on sockets: making, naming and connecting them, and their options. sys_socket_data.cpp has
// those that send and receive.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "chip/os/datagram_socket.hpp"
#include "chip/os/process_impl.hpp"
#include "chip/os/stream_socket.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint32_t kTypeMask = 15, kTypeFlags = abi::kCloseOnExec | abi::kNonBlock;
constexpr int kTcpNumber = 6, kUdpNumber = 17, kLocalNumber = 1;

/// The kind that the arguments of socket() name. @returns 0 or -errno.
std::int64_t kind_of(std::int32_t family, std::uint32_t type, std::int32_t protocol, Socket::Kind& result) {
  if ((type & ~(kTypeMask | kTypeFlags)) != 0) return -EINVAL;
  type &= kTypeMask;
  result.family = static_cast<Family>(family);
  result.type = static_cast<SocketType>(type);
  const bool is_local = result.family == Family::local;
  if (!is_local && family != static_cast<int>(Family::inet) && family != static_cast<int>(Family::inet6))
    return -EAFNOSUPPORT;
  constexpr std::uint32_t kRaw = 3;
  if (type == kRaw && is_local) result.type = SocketType::datagram;
  if (type == kRaw && !is_local) return protocol == 0 ? -EPROTONOSUPPORT : -EPERM;
  if (result.type != SocketType::stream && result.type != SocketType::datagram &&
      (result.type != SocketType::packets || !is_local))
    return -ESOCKTNOSUPPORT;
  const int usual = is_local ? kLocalNumber : result.type == SocketType::stream ? kTcpNumber : kUdpNumber;
  if (protocol != 0 && protocol != usual) return -EPROTONOSUPPORT;
  result.protocol = is_local ? 0 : usual;
  return 0;
}

std::shared_ptr<Socket> make_socket(LocalNetwork& network, const Socket::Kind& kind, std::uint32_t type) {
  const std::uint32_t flags = abi::kReadWrite | (type & abi::kNonBlock);
  if (kind.type == SocketType::datagram) return std::make_shared<DatagramSocket>(network, kind, flags);
  return std::make_shared<StreamSocket>(network, kind, flags);
}

}  // namespace

std::shared_ptr<Socket> Process::Impl::find_socket(std::int64_t fd, std::int64_t& error) const {
  const auto file = files.find(fd);
  Socket* const socket = file ? file->as_socket() : nullptr;
  error = file ? -ENOTSOCK : -EBADF;
  return socket != nullptr ? socket->shared_from_this() : nullptr;
}

std::int64_t Process::Impl::wait_for_files(Call& call, bool may_wait, std::optional<std::uint64_t> timeout) {
  if (!may_wait || call.timed_out)
    return call.progress != 0 ? static_cast<std::int64_t>(call.progress) : -EAGAIN;
  Wait wait;
  wait.kind = WaitKind::files;
  wait.progress = call.progress;
  if (timeout) wait.deadline = now() + *timeout;
  return block(call, wait);
}

// --- making sockets
// --------------------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_socket(Call& call) {
  Socket::Kind kind{};
  if (const auto error = kind_of(call.i32(0), call.u32(1), call.i32(2), kind); error < 0) return error;
  return install(make_socket(network, kind, call.u32(1)), (call.u32(1) & abi::kCloseOnExec) != 0);
}

std::int64_t Process::Impl::sys_socketpair(Call& call) {
  Socket::Kind kind{};
  const std::uint32_t type = call.u32(1);
  if (const auto error = kind_of(call.i32(0), type, call.i32(2), kind); error < 0) return error;
  if (kind.family != Family::local) return -EOPNOTSUPP;
  if (!user.writable(call.a[3], 8)) return -EFAULT;
  const auto first = make_socket(network, kind, type), second = make_socket(network, kind, type);
  if (kind.type == SocketType::datagram) {
    DatagramSocket::pair(std::static_pointer_cast<DatagramSocket>(first),
                         std::static_pointer_cast<DatagramSocket>(second));
  } else {
    StreamSocket::pair(std::static_pointer_cast<StreamSocket>(first),
                       std::static_pointer_cast<StreamSocket>(second));
  }
  first->peer_pid = second->peer_pid = pid;
  const bool cloexec = (type & abi::kCloseOnExec) != 0;
  const std::int64_t a = install(first, cloexec);
  if (a < 0) return a;
  const std::int64_t b = install(second, cloexec);
  if (b < 0) {
    files.close(a);
    return b;
  }
  const std::int32_t numbers[2] = {static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)};
  user.write(call.a[3], numbers, sizeof numbers);
  return 0;
}

// --- addresses
// -------------------------------------------------------------------------------------------------

std::int64_t Process::Impl::get_address(const Socket& socket, Addr a, std::uint32_t bytes,
                                        SocketAddress& result) const {
  std::array<std::byte, SocketAddress::kMostBytes> buffer;
  if (static_cast<std::int32_t>(bytes) < 0 || bytes > buffer.size()) return -EINVAL;
  if (!user.read(a, buffer.data(), bytes)) return -EFAULT;
  return parse_address(std::span(buffer).first(bytes), socket.kind().family, result);
}

std::int64_t Process::Impl::get_destination(const Socket& socket, Addr a, std::uint32_t bytes,
                                            Destination& result) {
  if (const auto error = get_address(socket, a, bytes, result.address); error < 0) return error;
  if (!socket.is_local()) return 0;
  const std::string& name = result.address.name;
  if (name.empty()) return -EINVAL;
  if (result.address.is_abstract()) {
    result.local = network.named(name);
    return 0;
  }
  ResolvedPath where;
  if (const auto error = resolve(abi::kAtCwd, name, PathResolver::Follow::yes, where); error < 0)
    return error;
  if (where.is_virtual) return -ECONNREFUSED;
  abi::Stat info{};
  if (const auto error = stat_of_host_path(where.parent.get(), where.name.c_str(), info); error < 0)
    return error;
  // A socket of the host's programs, or of a run before, has no listener in this one.
  if (S_ISSOCK(info.mode)) result.local = network.of_file({info.dev, info.ino});
  return 0;
}

std::int64_t Process::Impl::put_address(const SocketAddress& address, Family family, Addr a, Addr length) {
  const auto room = user.get<std::int32_t>(length);
  if (!room || !user.writable(length, 4)) return -EFAULT;
  if (*room < 0) return -EINVAL;
  const auto bytes = guest_form(address, family);
  if (!user.write(a, bytes.data(), std::min<std::uint64_t>(static_cast<std::uint32_t>(*room), bytes.size())))
    return -EFAULT;
  user.put(length, static_cast<std::uint32_t>(bytes.size()));
  return 0;
}

std::int64_t Process::Impl::sys_bind(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  SocketAddress address;
  if (error = get_address(*socket, call.a[1], call.u32(2), address); error < 0) return error;
  if (!socket->is_local() && address.family != socket->kind().family) return -EAFNOSUPPORT;
  if (socket->is_bound()) return -EINVAL;
  if (!socket->is_local() || address.name.empty() || address.is_abstract()) return socket->bind(address);
  // A path: a file that stands for the socket, by which connect() finds it.
  ResolvedPath where;
  if (error = resolve(abi::kAtCwd, address.name, PathResolver::Follow::no, where); error < 0) return error;
  if (where.is_virtual) return -EACCES;
  if (where.is_device || !resolver.may_write(where)) return resolver.refuse("change", where.absolute);
  const int parent = where.parent.get();
  if (::mknodat(parent, where.name.c_str(), S_IFSOCK | (0777 & ~umask), 0) != 0)
    return errno == EEXIST ? -EADDRINUSE : -errno;
  abi::Stat info{};
  if (error = stat_of_host_path(parent, where.name.c_str(), info); error < 0) return error;
  network.bind_file(socket, {info.dev, info.ino});
  return socket->bind(address);
}

std::int64_t Process::Impl::sys_getsockname(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  SocketAddress address = socket->local();
  if (!socket->is_bound()) address.ip = IpAddress::any(socket->kind().family);
  return put_address(address, socket->kind().family, call.a[1], call.a[2]);
}

std::int64_t Process::Impl::sys_getpeername(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  SocketAddress address;
  if (error = socket->peer_name(address); error < 0) return error;
  return put_address(address, socket->kind().family, call.a[1], call.a[2]);
}

// --- connections
// -----------------------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_listen(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  files_changed = true;  // more room for connections
  socket->used_by = pid;
  return socket->listen(call.i32(1));
}

std::int64_t Process::Impl::sys_accept(Call& call) { return sys_accept4(call); }

std::int64_t Process::Impl::sys_accept4(Call& call) {
  std::int64_t error = 0;
  const auto listener = find_socket(call.i32(0), error);
  if (!listener) return error;
  const std::uint32_t flags = call.number == 202 ? 0 : call.u32(3);  // accept() has no fourth argument
  if ((flags & ~kTypeFlags) != 0) return -EINVAL;
  if (!files.has_room()) return listener->is_listening() ? -EMFILE : -EINVAL;
  std::shared_ptr<Socket> accepted;
  error = listener->accept(accepted);
  if (error == kWouldBlock)
    return wait_for_files(call, (listener->flags & abi::kNonBlock) == 0, listener->options.receive_timeout);
  if (error < 0) return error;
  files_changed = true;
  accepted->flags |= flags & abi::kNonBlock;
  SocketAddress peer;
  accepted->peer_name(peer);
  if (call.a[1] != 0) {
    error = put_address(peer, accepted->kind().family, call.a[1], call.a[2]);
    if (error < 0) return error;  // as Linux: the connection is lost
  }
  return install(std::move(accepted), (flags & abi::kCloseOnExec) != 0);
}

std::int64_t Process::Impl::sys_connect(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  const bool may_wait = (socket->flags & abi::kNonBlock) == 0;
  std::uint16_t family = 0;
  if (call.u32(2) < 2) return -EINVAL;
  if (!user.read(call.a[1], &family, sizeof family)) return -EFAULT;
  if (family == 0) {
    files_changed = true;
    return socket->disconnect();
  }
  Destination to;
  if (error = get_destination(*socket, call.a[1], call.u32(2), to); error < 0) return error;
  if (socket->is_stream() && !socket->is_local() && to.address.family != socket->kind().family)
    return -EAFNOSUPPORT;
  socket->used_by = pid;
  error = socket->connect(to, may_wait);
  // A wait that goes on, or a call that is made again after a signal.
  if (error == -EALREADY && may_wait) error = -EINPROGRESS;
  if (error == kWouldBlock || (error == -EINPROGRESS && may_wait)) {
    if (call.timed_out) return error == kWouldBlock ? -EAGAIN : -EINPROGRESS;
    return wait_for_files(call, may_wait, socket->options.send_timeout);
  }
  files_changed = true;
  return error;
}

std::int64_t Process::Impl::sys_shutdown(Call& call) {
  constexpr std::int32_t kIn = 0, kOut = 1, kBoth = 2;
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  const std::int32_t how = call.i32(1);
  if (how < kIn || how > kBoth) return -EINVAL;
  files_changed = true;
  return socket->shut_down(how != kOut, how != kIn);
}

// --- options
// ---------------------------------------------------------------------------------------------------

namespace {

struct Linger {
  std::int32_t is_on, seconds;
};
struct Credentials {
  std::int32_t pid;
  std::uint32_t uid, gid;
};

bool is_timeout(SocketOptions::Name name) {
  return name == SocketOptions::kReceiveTimeout || name == SocketOptions::kSendTimeout;
}

}  // namespace

std::int64_t Process::Impl::sys_setsockopt(Call& call) {
  constexpr std::int64_t kMicrosecondsPerSecond = 1000000;
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  const SocketOptions::Name name{call.i32(1), call.i32(2)};
  const std::int32_t bytes = call.i32(4);
  if (bytes < 0) return -EINVAL;
  SocketOptions& options_of = socket->options;
  if (is_timeout(name)) {
    if (static_cast<std::size_t>(bytes) < sizeof(abi::Timeval)) return -EINVAL;
    const auto time = user.get<abi::Timeval>(call.a[3]);
    if (!time) return -EFAULT;
    if (time->microseconds < 0 || time->microseconds >= kMicrosecondsPerSecond) return -EDOM;
    std::optional<std::uint64_t> limit;
    constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;
    const std::int64_t seconds = std::clamp<std::int64_t>(time->seconds, 0, kMostSeconds);
    if (time->seconds != 0 || time->microseconds != 0)
      limit = static_cast<std::uint64_t>(seconds * kMicrosecondsPerSecond + time->microseconds) * 1000;
    (name == SocketOptions::kSendTimeout ? options_of.send_timeout : options_of.receive_timeout) = limit;
    return 0;
  }
  if (name == SocketOptions::kLinger) {
    if (static_cast<std::size_t>(bytes) < sizeof(Linger)) return -EINVAL;
    const auto linger = user.get<Linger>(call.a[3]);
    if (!linger) return -EFAULT;
    options_of.linger.reset();
    if (linger->is_on != 0) options_of.linger = linger->seconds;
    return 0;
  }
  if (name == SocketOptions::kCongestion && socket->is_stream() && !socket->is_local()) {
    std::string wanted(std::min<std::size_t>(static_cast<std::size_t>(bytes), 16), '\0');
    if (!user.read(call.a[3], wanted.data(), wanted.size())) return -EFAULT;
    return std::string_view(wanted.c_str()) == "cubic" ? 0 : -ENOENT;
  }
  std::int32_t value = 0;
  if (bytes >= 4) {
    if (!user.read(call.a[3], &value, sizeof value)) return -EFAULT;
  } else {
    // At the level of IP a single byte is enough.
    if (name.first != 0 || bytes == 0) return -EINVAL;
    const auto byte = user.get<std::uint8_t>(call.a[3]);
    if (!byte) return -EFAULT;
    value = *byte;
  }
  if (name == SocketOptions::kOnlyV6 && socket->is_bound()) return -EINVAL;
  return options_of.set(name, value);
}

std::int64_t Process::Impl::sys_getsockopt(Call& call) {
  std::int64_t error = 0;
  const auto socket = find_socket(call.i32(0), error);
  if (!socket) return error;
  const auto room = user.get<std::int32_t>(call.a[4]);
  if (!room || !user.writable(call.a[4], 4)) return -EFAULT;
  if (*room < 0) return -EINVAL;
  const auto give = [&](const void* value, std::size_t bytes) -> std::int64_t {
    const auto n = std::min<std::uint64_t>(static_cast<std::uint32_t>(*room), bytes);
    if (!user.write(call.a[3], value, n)) return -EFAULT;
    user.put(call.a[4], static_cast<std::uint32_t>(n));
    return 0;
  };
  const SocketOptions::Name name{call.i32(1), call.i32(2)};
  const SocketOptions& options_of = socket->options;
  if (is_timeout(name)) {
    const std::uint64_t time =
        (name == SocketOptions::kSendTimeout ? options_of.send_timeout : options_of.receive_timeout)
            .value_or(0);
    const abi::Timeval value{static_cast<std::int64_t>(time / 1000000000),
                             static_cast<std::int64_t>(time % 1000000000 / 1000)};
    return give(&value, sizeof value);
  }
  if (name == SocketOptions::kLinger) {
    const Linger value{options_of.linger ? 1 : 0, options_of.linger.value_or(0)};
    return give(&value, sizeof value);
  }
  if (name == SocketOptions::kPeerCredentials) {
    SocketAddress peer;
    const bool is_known = socket->is_local() && socket->peer_name(peer) == 0;
    const Credentials value = is_known ? Credentials{socket->peer_pid, kGuestUser, kGuestUser}
                                       : Credentials{0, 0xffffffff, 0xffffffff};
    return give(&value, sizeof value);
  }
  if (name == SocketOptions::kCongestion && socket->is_stream() && !socket->is_local()) {
    const char value[16] = "cubic";
    return give(value, sizeof value);
  }
  std::optional<std::int32_t> value;
  if (name == SocketOptions::kError) {
    value = socket->take_error();
  } else if (name == SocketOptions::kType) {
    value = static_cast<std::int32_t>(socket->kind().type);
  } else if (name == SocketOptions::kDomain) {
    value = static_cast<std::int32_t>(socket->kind().family);
  } else if (name == SocketOptions::kProtocol) {
    value = socket->kind().protocol;
  } else if (name == SocketOptions::kAccepts) {
    value = socket->is_listening() ? 1 : 0;
  } else {
    value = options_of.get(name);
  }
  if (!value)
    return options_of.has_level(name.first) || !options_of.refuses_levels() ? -ENOPROTOOPT : -EOPNOTSUPP;
  return give(&*value, sizeof *value);
}

}  // namespace rubato::chip
