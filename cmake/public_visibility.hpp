// Included before every source of the shared library, which is compiled with hidden visibility: what the
// public headers declare stays visible, and everything else does not. Keeps the headers free of export
// macros.
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::inline v0::native {  // the headers name some types of the runtime, which are not theirs to
                                       // show
class TaskHeap;
template <class Rules>
class BasicEpochs;
}  // namespace rubato::inline v0::native

#pragma GCC visibility push(default)
#include "rubato/rubato.hpp"
#if defined(RUBATO_ENGINE_NATIVE)
#include "rubato/actors.hpp"
#include "rubato/delayed.hpp"
#include "rubato/engine/algorithm_work.hpp"
#include "rubato/engine/native_epochs.hpp"
#include "rubato/engine/native_heap.hpp"
#include "rubato/numa.hpp"
#endif
#pragma GCC visibility pop
