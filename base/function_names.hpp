// Names of task functions for error sentences: functions from the running program's own symbol table, other
// callables from their type.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <typeinfo>

namespace rubato::inline v0::engine {

/// "visit(Vertex*)" for the function at `address`; if null, the demangled name of `type`, the callable. A
/// program without symbols gives "function at 0x1234".
std::string function_name(const void* address, const std::type_info& type);

}  // namespace rubato::inline v0::engine
