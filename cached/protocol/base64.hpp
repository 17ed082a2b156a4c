// Base64 of binary keys in meta commands (RFC 4648), read as memcached reads it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rubato::cached {

std::string to_base64(std::string_view bytes);
/// Skips bytes that are no letters of base64, and what follows a padded group. False if the letters, padding
/// among them, are none or no whole groups of four, or if a group has more than two of padding.
bool from_base64(std::string_view text, std::string& bytes);

}  // namespace rubato::cached
