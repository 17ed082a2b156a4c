// Stand-in for `rubato::native` in programs of the other engines: a use of it does not compile, with a
// sentence that says why.
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::inline v0::native {

/// False, but only where something is instantiated.
template <class>
inline constexpr bool is_here = false;

#define RUBATO_SAY_NOT_HERE(type)                                                                    \
  static_assert(                                                                                     \
      is_here<type>,                                                                                 \
      "rubato::native is the native engine's: link rubato::rubato, or compile with -DRUBATO_ENGINE_" \
      "NATIVE=1; on other engines leave it out (#ifdef RUBATO_ENGINE_NATIVE)")

template <class T = void>
struct Options {
  RUBATO_SAY_NOT_HERE(T);
};
template <class T = void>
struct Counters {
  RUBATO_SAY_NOT_HERE(T);
};
template <class T = void>
void configure(const Options<T>&) {
  RUBATO_SAY_NOT_HERE(T);
}
template <class T = int>
T options() {
  RUBATO_SAY_NOT_HERE(T);
}
template <class T = int>
T drop_pending() {
  RUBATO_SAY_NOT_HERE(T);
}
template <class T = int>
T workers() {
  RUBATO_SAY_NOT_HERE(T);
}
template <class T = int>
T counters() {
  RUBATO_SAY_NOT_HERE(T);
}
template <class T = int>
T long_tasks() {
  RUBATO_SAY_NOT_HERE(T);
}
template <class T = int>
T hold() {
  RUBATO_SAY_NOT_HERE(T);
}

#undef RUBATO_SAY_NOT_HERE

}  // namespace rubato::inline v0::native
