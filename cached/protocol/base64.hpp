// Base64 of binary keys in meta commands (RFC 4648).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rubato::cached {

std::string to_base64(std::string_view bytes);
/// False if the text is not base64 with its padding.
bool from_base64(std::string_view text, std::string& bytes);

}  // namespace rubato::cached
