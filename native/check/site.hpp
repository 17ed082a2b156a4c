// Places in a program's source, from return addresses: for the reports of the checked build (R12).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>

namespace rubato::inline v0::native {

struct CallStack {
  std::array<void*, 12> frames{};
  int depth = 0;
};

/// The call stack of the caller.
CallStack call_stack();

/// The innermost place that is not in Rubato's headers or in the standard library: "main.cpp:31
/// (insert(Node*))". Asks addr2line, which takes a while. Without it, or without debug information (-g), the
/// function or the address.
std::string site_of(const CallStack& stack);

}  // namespace rubato::inline v0::native
