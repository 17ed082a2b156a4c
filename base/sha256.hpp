// SHA-256 (FIPS 180-4): names the exact program of a run in run.toml.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rubato {

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace rubato
