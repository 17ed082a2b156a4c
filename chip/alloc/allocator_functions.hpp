// The functions that programs ask for memory by, under the names that C, C++, Linux and widespread allocators
// give them: how many bytes a call asks for, and where its result is.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "chip/isa/hart_state.hpp"
#include "chip/os/symbols.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct AllocatorFunction {
  std::uint32_t bytes = 0;     ///< the arguments whose product is the number of bytes: a bit each register
  bool stores_result = false;  ///< at the address in a0, and returns 0; else the result is what it returns
  bool maps = false;           ///< pages of the kernel's, not a block of the heap

  /// The bytes that a call with these registers asks for; 0: none, or too many.
  std::uint64_t asked(const HartState& hart) const;
  /// The registers that asked() and the result depend on, a bit each.
  std::uint32_t arguments() const { return bytes | (stores_result ? 1U << reg::a0 : 0); }
};

/// The program's own of these functions, by their addresses.
std::unordered_map<Addr, AllocatorFunction> allocator_functions(const Symbols& symbols);

/// Whether the function with this name, as in the file, is a part of the program's allocator. What it asks
/// for (`maps`: of the kernel) is no block of the program's.
bool is_inside_allocator(const Symbols& symbols, std::string_view name, bool maps);

/// A demangled name without the type of the result, template arguments and parameters:
/// `std::vector::reserve`.
std::string own_name(std::string_view demangled);

/// Whether own_name() is of the C++ library, though it may begin with the type of its result in full.
bool is_of_library(std::string_view own);

/// Whether own_name() says that the function hands out memory to its callers, as `xmalloc` and
/// `Pool::allocate` do. The place of interest is then its caller's.
bool is_allocation_wrapper(std::string_view own);

}  // namespace rubato::chip
