// How much of the host's memory a guest may fill: a guest that leaks gets ENOMEM before the host's
// out-of-memory killer ends the simulator. No other result depends on it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rubato::chip {

/// The host's memory, or what its control group allows, less a reserve: an eighth, at least 512 MiB (but no
/// more than half). Nothing: unknown. `root` is "/" but for tests.
std::optional<std::uint64_t> host_memory_for_guests(const std::filesystem::path& root = "/");

/// The host's memory that this process has now, or 0 if that is unknown.
std::uint64_t resident_bytes();

}  // namespace rubato::chip
