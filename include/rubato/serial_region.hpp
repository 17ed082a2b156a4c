// The serial code or the threads that a task program is compared with, measured as its tasks are: the
// simulated chip counts cycles, instructions and what the cores did meanwhile, the host engines their time.
// Not for tasks: it is called outside of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "rubato/engine/select.hpp"
#if defined(RUBATO_ENGINE_NATIVE)
#include "rubato/engine/native_options.hpp"
#elif defined(RUBATO_ENGINE_SERIAL)
#include "rubato/engine/serial.hpp"
#endif

#if defined(RUBATO_ENGINE_CHIP)
/// The simulator finds the serial region by this symbol, and measures from the call of this function to its
/// return.
extern "C" [[gnu::noinline, gnu::noclone]] inline void rubato_serial_region(void (*call)(void*), void* code) {
  call(code);
}
/// The simulator knows a region of threads by this function, which its call comes from.
extern "C" [[gnu::noinline, gnu::noclone]] inline void rubato_threads_region(void (*call)(void*),
                                                                             void* code) {
  rubato_serial_region(call, code);
  asm volatile("");  // the call above is no jump: the return address is of this function
}
#endif

namespace rubato::inline v0 {

/// Calls `code`, which must create no tasks, and measures it as the program's region of interest. Several
/// calls add up. An exception leaves it as it would leave `code`.
/// @returns what `code` returns
template <class Code>
auto serial_region(Code&& code) -> decltype(code()) {
#if defined(RUBATO_ENGINE_CHIP)
  if constexpr (std::is_void_v<decltype(code())>) {
    rubato_serial_region([](void* c) { (*static_cast<std::remove_reference_t<Code>*>(c))(); }, &code);
  } else {
    struct Call {
      std::remove_reference_t<Code>& code;
      std::optional<decltype(code())> result;
    } call{code, std::nullopt};
    rubato_serial_region(
        [](void* c) { static_cast<Call*>(c)->result.emplace(static_cast<Call*>(c)->code()); }, &call);
    return std::move(*call.result);
  }
#elif defined(RUBATO_ENGINE_NATIVE)
  const native::SerialClock clock;
  return code();
#else
  const serial::SerialClock clock;
  return code();
#endif
}

/// Calls `code`, the part of one thread in work that a team of threads does without tasks, and measures it as
/// serial_region() does. The summary of the simulated chip has the mode `threads`, however many there are.
template <class Code>
void threads_region(Code&& code) {
#if defined(RUBATO_ENGINE_CHIP)
  rubato_threads_region([](void* c) { (*static_cast<std::remove_reference_t<Code>*>(c))(); }, &code);
#else
  serial_region(code);
#endif
}

}  // namespace rubato::inline v0
