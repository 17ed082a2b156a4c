// signalfd4(): reads give signals that are pending, and take them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "chip/os/open_file.hpp"

namespace rubato::chip {

/// The signals that a call of the program may take: those sent to its thread, and to the process.
class SignalSource {
 public:
  virtual ~SignalSource() = default;
  virtual std::uint64_t pending_signals() const = 0;
  /// Takes the oldest of the lowest number among `signals`, of which one is pending.
  virtual abi::Siginfo take_pending(std::uint64_t signals) = 0;
  /// Signals sent so far.
  virtual std::uint64_t signals_sent() const = 0;
};

class SignalFile : public OpenFile {
 public:
  SignalFile(SignalSource& source, std::uint64_t signals, std::uint32_t open_flags)
      : OpenFile(open_flags), source_(source), signals_(signals) {}
  void set(std::uint64_t signals) { signals_ = signals; }

  std::int64_t read(std::span<std::byte> to) override;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::optional<Edges> edges() const override { return Edges{source_.signals_sent(), 0}; }

 private:
  SignalSource& source_;
  std::uint64_t signals_;
};

}  // namespace rubato::chip
