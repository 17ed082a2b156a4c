// The native engine's options as the environment gives them.
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/engine/native_options.hpp"

namespace rubato::inline v0::native {

/// From the variables RUBATO_WORKERS, RUBATO_OVERSUBSCRIBE, RUBATO_BIND, RUBATO_PREFETCH, RUBATO_SYNC,
/// RUBATO_RECLAIM, RUBATO_TRACE, RUBATO_TRACE_SPANS, RUBATO_LAG and what begins with it. `get` is
/// std::getenv, or a test's. Errors: TaskError for a value that cannot be understood: variable, value, what
/// was expected.
Options options_from_environment(const char* (*get)(const char*));

/// Names of the environment, which ends with null, that are one letter away from one of the engine's
/// variables: such a choice would be ignored. Errors: TaskError that names both.
void check_names(const char* const* environment);

/// RUBATO_TASK_MEMORY: whether tasks come from malloc, with which the engine's own task memory is compared.
/// For the whole process: no option of configure(). Errors: as above.
bool task_memory_from_malloc(const char* (*get)(const char*));

/// Errors: TaskError if a field is out of range.
void check_options(const Options& options);

/// RUBATO_ACTOR_SWITCH, for experiments only (docs/lagging.md): nanoseconds, 0: none.
/// Errors: TaskError if it is no number up to a million.
unsigned actor_switch_ns(const char* (*get)(const char*));

}  // namespace rubato::inline v0::native
