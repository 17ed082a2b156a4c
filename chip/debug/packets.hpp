// Packets of GDB's remote serial protocol over a stream socket: `$data#checksum`, acknowledged by `+` or
// asked for again by `-` until the debugger turns that off. Source: the GDB manual, "Overview" and "Packet
// Acknowledgment" of the appendix on the protocol.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rubato::chip {

class Packets {
 public:
  /// @param socket a connected stream socket, which is closed in the end.
  explicit Packets(int socket) : socket_(socket) {}
  ~Packets();
  Packets(const Packets&) = delete;
  Packets& operator=(const Packets&) = delete;

  /// Waits for the next packet. Nothing: the debugger is gone.
  std::optional<std::string> receive();
  void send(std::string_view data);
  /// From the next packet on neither side acknowledges.
  void end_acknowledging() { acknowledges_ = false; }
  /// Whether the debugger wants the program to stop (byte 3), or is gone. Does not wait.
  bool is_interrupted();

 private:
  /// The next byte; -1: there is none.
  int next(bool waits = true);
  void write(std::string_view bytes);

  int socket_;
  bool acknowledges_ = true, is_gone_ = false;
  std::string received_;  // and not yet looked at, from position_ on
  std::size_t position_ = 0;
  std::string last_;  // sent
};

/// Two hexadecimal digits a byte, lower case.
std::string to_hex(std::string_view bytes);
/// Nothing if it is no even number of hexadecimal digits.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace rubato::chip
