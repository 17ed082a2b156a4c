// Text as a gzip member: a file may be several of them, one after another. Only where zlib was there when the
// engine was built.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rubato::inline v0::native {

bool has_gzip();
/// Empty if there is none, or no memory for it.
std::string gzip(std::string_view text);

}  // namespace rubato::inline v0::native
