// Lets GDB look at a program on the simulated chip: `target remote` of riscv64 GDB.
//
// It knows threads, registers and memory. Breakpoints are the debugger's: it writes `ebreak` into the
// program, which stops the thread that executes it, and so it steps too. Watchpoints of hardware there are
// none; GDB steps instead. Source: the GDB manual, appendix "GDB Remote Serial Protocol".
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "chip/debug/debug_target.hpp"
#include "chip/debug/packets.hpp"

namespace rubato::chip {

class GdbServer {
 public:
  /// The debugger's request after a stop.
  enum class Wish : std::uint8_t { go_on, detach, end };

  /// Listens on this port of the loopback interface (0: any free one, see port()). @throws UsageError if it
  /// cannot.
  explicit GdbServer(std::uint16_t port);
  /// A server for a debugger that is connected already: `socket` is closed in the end.
  static std::unique_ptr<GdbServer> connected(int socket);
  ~GdbServer();
  GdbServer(const GdbServer&) = delete;
  GdbServer& operator=(const GdbServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// Waits for a debugger to connect, so many milliseconds at most. Whether one is connected.
  bool accept(int milliseconds);

  /// Thread `tid` has stopped by `signal` (Linux's number): serves the debugger until the program is to go
  /// on.
  Wish stopped(DebugTarget& target, int tid, int signal);
  /// Whether the running program is to stop, or the debugger is gone.
  bool is_interrupted() { return packets_ && packets_->is_interrupted(); }
  /// The program has ended, by itself with `status`, or by `signal` if that is not 0.
  void ended(int status, int signal);

 private:
  GdbServer() = default;
  std::string answer(std::string_view packet, DebugTarget& target);
  std::string query(std::string_view packet, DebugTarget& target) const;
  std::string stop_reason() const;

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::unique_ptr<Packets> packets_;
  int tid_ = 0, signal_ = 0;  // of the stop
  int chosen_ = 0;            // the thread whose registers are meant
};

}  // namespace rubato::chip
