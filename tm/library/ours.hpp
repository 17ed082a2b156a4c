// Functions that only librubato_itm has, looked up when the program starts (T38). A weak reference would
// do so too. But it names the version of the library's symbols, and then the program does not start on GCC's
// libitm.
// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

namespace rubato::tm::library {

/// @returns the function, or nullptr on another library. Until constructors of the file have run its result
/// is not there: that is as on another library.
template <class Function>
Function* of_ours(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace rubato::tm::library
