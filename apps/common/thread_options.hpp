// Options of applications that have a software-only version: threads in the place of tasks. Only main.cpp of
// an application includes it.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

#include "apps/common/options.hpp"

namespace rubato::apps {

enum class Variant { tasks, threads };

struct ThreadOptions {
  Variant variant = Variant::tasks;
  std::uint32_t threads = 0;  ///< 0: one a core

  bool are_chosen() const { return variant == Variant::threads; }
  std::uint32_t count() const {
    return threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  }
};

/// --variant and --threads.
inline void add_thread_options(CommandLine& line, ThreadOptions& o) {
  line.add_choice<Variant>("--variant", o.variant, {{"tasks", Variant::tasks}, {"threads", Variant::threads}},
                           "Tasks (default), or for comparison threads with atomics or locks and no tasks");
  add_number(line, "--threads", o.threads, 1, 1024, "Threads of --variant threads (default: one a core)");
}

}  // namespace rubato::apps
