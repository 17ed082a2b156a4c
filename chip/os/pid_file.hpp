// A descriptor of a process (pidfd_open(), CLONE_PIDFD): readable when the process has ended. Numbers of
// processes are never used again, so the number names the process for good.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "chip/os/open_file.hpp"

namespace rubato::chip {

class PidFile : public OpenFile {
 public:
  using HasEnded = std::function<bool()>;

  PidFile(int pid, HasEnded has_ended, std::uint32_t open_flags)
      : OpenFile(open_flags), pid_(pid), has_ended_(std::move(has_ended)) {}
  int pid() const { return pid_; }

  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override;
  std::optional<Edges> edges() const override { return Edges{has_ended_() ? 1u : 0u, 0}; }

 private:
  const int pid_;
  const HasEnded has_ended_;
};

}  // namespace rubato::chip
