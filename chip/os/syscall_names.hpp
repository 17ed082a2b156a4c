// Names of system calls for reports.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace rubato::chip {

/// "openat", or "#1234" for a number Linux does not use on riscv64.
std::string syscall_name(std::uint64_t number);

}  // namespace rubato::chip
