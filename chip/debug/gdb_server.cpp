// SPDX-License-Identifier: MIT
#include "chip/debug/gdb_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "chip/debug/register_map.hpp"

namespace rubato::chip {
namespace {

constexpr std::size_t kPacketBytes = 0x4000;
constexpr std::string_view kOk = "OK", kError = "E01";
constexpr std::string_view kUnknown = "";  // what the protocol wants for what a stub does not know

/// Reads a hexadecimal number off the front of `text`, and `separator` behind it if that is not 0.
std::optional<std::uint64_t> take_number(std::string_view& text, char separator) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (separator == 0) return value;
  if (text.empty() || text.front() != separator) return std::nullopt;
  text.remove_prefix(1);
  return value;
}

std::string little_endian(std::uint64_t value, unsigned bytes) {
  std::string text(bytes, '\0');
  for (unsigned i = 0; i < bytes; ++i) text[i] = static_cast<char>(value >> 8 * i);
  return to_hex(text);
}

std::optional<std::uint64_t> from_little_endian(std::string_view digits, unsigned bytes) {
  const auto text = from_hex(digits);
  if (!text || text->size() != bytes) return std::nullopt;
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{static_cast<std::uint8_t>((*text)[i])} << 8 * i;
  return value;
}

std::string all_registers(const HartState& hart) {
  std::string text;
  for (unsigned i = 0; i < kDebugRegisters; ++i)
    text += little_endian(read_register(hart, i), register_bytes(i));
  return text;
}

bool set_all_registers(HartState& hart, std::string_view digits) {
  for (unsigned i = 0; i < kDebugRegisters; ++i) {
    const auto value = from_little_endian(digits.substr(0, 2 * register_bytes(i)), register_bytes(i));
    if (!value) return false;
    write_register(hart, i, *value);
    digits.remove_prefix(2 * register_bytes(i));
  }
  return digits.empty();
}

/// m ADDRESS,LENGTH
std::string read_memory(std::string_view packet, const DebugTarget& target) {
  const auto address = take_number(packet, ',');
  const auto length = take_number(packet, 0);
  if (!address || !length) return std::string(kError);
  std::string bytes(std::min<std::size_t>(*length, kPacketBytes / 2), '\0');
  bytes.resize(target.read(*address, std::as_writable_bytes(std::span(bytes))));
  return bytes.empty() && *length != 0 ? std::string(kError) : to_hex(bytes);
}

/// M ADDRESS,LENGTH:HEX, or X ADDRESS,LENGTH:BYTES
std::string write_memory(std::string_view packet, bool is_binary, DebugTarget& target) {
  const auto address = take_number(packet, ',');
  const auto length = take_number(packet, ':');
  const auto bytes = is_binary ? std::optional(std::string(packet)) : from_hex(packet);
  if (!address || !length || !bytes || bytes->size() != *length) return std::string(kError);
  return std::string(target.write(*address, std::as_bytes(std::span(*bytes))) ? kOk : kError);
}

/// qXfer:features:read:target.xml:OFFSET,LENGTH
std::string read_description(std::string_view window) {
  const auto offset = take_number(window, ',');
  const auto length = take_number(window, 0);
  if (!offset || !length) return std::string(kError);
  const std::string& text = register_description();
  if (*offset >= text.size()) return "l";
  const std::string part = text.substr(*offset, *length);
  return (*offset + part.size() < text.size() ? "m" : "l") + part;
}

}  // namespace

GdbServer::GdbServer(std::uint16_t port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (listener_ < 0 || ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener_, generic, size) != 0 || ::listen(listener_, 1) != 0 ||
      ::getsockname(listener_, generic, &size) != 0)
    throw UsageError("--gdb {}: cannot listen on this port: {}", port, std::strerror(errno));
  port_ = ntohs(address.sin_port);
}

std::unique_ptr<GdbServer> GdbServer::connected(int socket) {
  auto server = std::unique_ptr<GdbServer>(new GdbServer);
  server->packets_ = std::make_unique<Packets>(socket);
  return server;
}

GdbServer::~GdbServer() {
  if (listener_ >= 0) ::close(listener_);
}

bool GdbServer::accept(int milliseconds) {
  if (packets_) return true;
  pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, milliseconds) <= 0) return false;
  const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) return false;
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  packets_ = std::make_unique<Packets>(socket);
  return true;
}

std::string GdbServer::stop_reason() const { return fmt::format("T{:02x}thread:{:x};", signal_, tid_); }

GdbServer::Wish GdbServer::stopped(DebugTarget& target, int tid, int signal) {
  if (!packets_) return Wish::detach;
  const bool was_told = std::exchange(signal_, signal) == 0;  // the first stop is asked for
  tid_ = chosen_ = tid;
  if (!was_told) packets_->send(stop_reason());
  while (true) {
    const auto packet = packets_->receive();
    if (!packet) break;
    const char kind = packet->empty() ? '\0' : packet->front();
    if (kind == 'c' || kind == 'C') return Wish::go_on;
    if (kind == 'k' || packet->starts_with("vKill")) break;
    if (kind == 'D') {
      packets_->send(kOk);
      packets_.reset();
      return Wish::detach;
    }
    packets_->send(answer(*packet, target));
    if (*packet == "QStartNoAckMode") packets_->end_acknowledging();
  }
  packets_.reset();  // the debugger is gone, or wants the program to be
  return Wish::end;
}

std::string GdbServer::answer(std::string_view packet, DebugTarget& target) {
  if (packet.empty()) return "";
  const char kind = packet.front();
  const std::string_view rest = packet.substr(1);
  const HartState* const hart = target.registers(chosen_);
  switch (kind) {
    case '?':
      return stop_reason();
    case 'q':
    case 'Q':
      return query(packet, target);
    case 'H': {  // Hg TID: whose registers; Hc: the threads that go on, which are all
      if (!rest.starts_with('g')) return std::string(kOk);
      std::string_view number = rest.substr(1);
      const auto tid = number.starts_with('-') ? std::uint64_t{0} : take_number(number, 0);
      if (!tid) return std::string(kError);
      const int wanted = *tid == 0 ? tid_ : static_cast<int>(*tid);
      if (target.registers(wanted) == nullptr) return std::string(kError);
      chosen_ = wanted;
      return std::string(kOk);
    }
    case 'T': {
      std::string_view number = rest;
      const auto tid = take_number(number, 0);
      return std::string(tid && target.registers(static_cast<int>(*tid)) != nullptr ? kOk : kError);
    }
    case 'g':
      return hart == nullptr ? std::string(kError) : all_registers(*hart);
    case 'G': {
      if (hart == nullptr) return std::string(kError);
      HartState changed = *hart;
      const bool is_done = set_all_registers(changed, rest) && target.set_registers(chosen_, changed);
      return std::string(is_done ? kOk : kError);
    }
    case 'p': {
      std::string_view number = rest;
      const auto index = take_number(number, 0);
      if (hart == nullptr || !index || *index >= kDebugRegisters) return std::string(kError);
      const auto i = static_cast<unsigned>(*index);
      return little_endian(read_register(*hart, i), register_bytes(i));
    }
    case 'P': {
      std::string_view assignment = rest;
      const auto index = take_number(assignment, '=');
      if (hart == nullptr || !index || *index >= kDebugRegisters) return std::string(kError);
      const auto i = static_cast<unsigned>(*index);
      const auto value = from_little_endian(assignment, register_bytes(i));
      if (!value) return std::string(kError);
      HartState changed = *hart;
      write_register(changed, i, *value);
      return std::string(target.set_registers(chosen_, changed) ? kOk : kError);
    }
    case 'm':
      return read_memory(rest, target);
    case 'M':
    case 'X':
      return write_memory(rest, kind == 'X', target);
    default:
      return std::string(kUnknown);
  }
}

std::string GdbServer::query(std::string_view packet, DebugTarget& target) const {
  constexpr std::string_view kDescription = "qXfer:features:read:target.xml:";
  if (packet.starts_with("qSupported"))
    return fmt::format("PacketSize={:x};qXfer:features:read+;QStartNoAckMode+", kPacketBytes);
  if (packet.starts_with(kDescription)) return read_description(packet.substr(kDescription.size()));
  if (packet == "QStartNoAckMode") return std::string(kOk);
  if (packet == "qC") return fmt::format("QC{:x}", tid_);
  if (packet == "qAttached") return "0";  // so quitting ends the run
  if (packet == "qfThreadInfo") return fmt::format("m{:x}", fmt::join(target.threads(), ","));
  if (packet == "qsThreadInfo") return "l";
  return std::string(kUnknown);
}

void GdbServer::ended(int status, int signal) {
  if (!packets_) return;
  packets_->send(signal != 0 ? fmt::format("X{:02x}", signal) : fmt::format("W{:02x}", status & 0xff));
  packets_.reset();
}

}  // namespace rubato::chip
