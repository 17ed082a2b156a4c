// SPDX-License-Identifier: MIT
#include "chip/debug/packets.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>

namespace rubato::chip {
namespace {

constexpr char kInterrupt = '\x03', kEscape = '}', kEscapeBit = 0x20;

std::uint8_t checksum(std::string_view data) {
  std::uint8_t sum = 0;
  for (const char c : data) sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(c));
  return sum;
}

}  // namespace

Packets::~Packets() { ::close(socket_); }

int Packets::next(bool waits) {
  if (position_ == received_.size()) {
    received_.resize(4096);
    position_ = 0;
    ssize_t count;
    do {
      count = ::recv(socket_, received_.data(), received_.size(), waits ? 0 : MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    const bool has_nothing_yet = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    received_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    if (count <= 0) {
      is_gone_ = is_gone_ || !has_nothing_yet;
      return -1;
    }
  }
  return static_cast<std::uint8_t>(received_[position_++]);
}

std::optional<std::string> Packets::receive() {
  while (true) {
    int c = next();
    while (c >= 0 && c != '$') {
      if (c == '-') write(last_);
      c = next();
    }
    if (c < 0) return std::nullopt;
    std::string raw;
    for (c = next(); c >= 0 && c != '#'; c = next()) raw += static_cast<char>(c);
    std::string sum;
    for (int i = 0; i < 2 && c >= 0; ++i) {
      c = next();
      if (c >= 0) sum += static_cast<char>(c);
    }
    if (c < 0) return std::nullopt;
    if (acknowledges_) {
      const bool is_whole = from_hex(sum) == std::string(1, static_cast<char>(checksum(raw)));
      write(is_whole ? "+" : "-");
      if (!is_whole) continue;
    }
    std::string data;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == kEscape && i + 1 < raw.size()) {
        data += static_cast<char>(raw[++i] ^ kEscapeBit);
      } else {
        data += raw[i];
      }
    }
    return data;
  }
}

void Packets::send(std::string_view data) {
  std::string escaped;
  for (const char c : data) {
    if (c == '$' || c == '#' || c == kEscape || c == '*') {
      escaped += {kEscape, static_cast<char>(c ^ kEscapeBit)};
    } else {
      escaped += c;
    }
  }
  last_ = fmt::format("${}#{:02x}", escaped, checksum(escaped));
  write(last_);
}

void Packets::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // the debugger is gone: receive() says so
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

bool Packets::is_interrupted() {
  for (int c = next(false); c >= 0; c = next(false))
    if (c == kInterrupt) return true;
  return is_gone_;
}

std::string to_hex(std::string_view bytes) {
  std::string digits;
  for (const char c : bytes) digits += fmt::format("{:02x}", static_cast<std::uint8_t>(c));
  return digits;
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (; !digits.empty(); digits.remove_prefix(2)) {
    std::uint8_t byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + 2, byte, 16);
    if (error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace rubato::chip
