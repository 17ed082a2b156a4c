// SPDX-License-Identifier: MIT
#include "native/actor/stepping.hpp"

#include <deque>
#include <mutex>
#include <utility>

#include "actors/lifecycle.hpp"
#include "actors/steps.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::native {
namespace {

std::mutex mutex;
/// In the order in which their turns have come.
std::deque<engine::Cell*>& aside() {
  static auto& instance = *new std::deque<engine::Cell*>;
  return instance;
}

}  // namespace

void put_aside(engine::Cell& cell) {
  const std::lock_guard lock(mutex);
  aside().push_back(&cell);
}
void forget_put_aside() {
  if (!engine::steps().is_on()) return;  // then none is aside, and a run ends without a list's first memory
  const std::lock_guard lock(mutex);
  aside().clear();
}

}  // namespace rubato::inline v0::native

namespace rubato::inline v0::engine {

bool has_put_aside() {
  const std::lock_guard lock(native::mutex);
  return !native::aside().empty();
}

void set_single_steps(bool is_on) {
  native::Shared& shared = native::the_shared();
  if (is_in_task() || shared.is_running()) throw_misuse(errors::steps_in_a_run());
  if (is_on && steps().is_on()) throw_misuse(errors::steps_twice());
  steps().set(is_on);
  for (unsigned w = 0; w < shared.workers_made(); ++w) shared.worker(w).timer.keep_on(is_on);
  if (is_on) return;
  std::deque<Cell*> all;
  {
    const std::lock_guard lock(native::mutex);
    all = std::exchange(native::aside(), {});
  }
  for (Cell* const cell : all) resume_actor(*cell);
}

/// The oldest one alone, so that no other worker takes the step before it.
void allow_step() {
  steps().allow();
  Cell* cell = nullptr;
  {
    const std::lock_guard lock(native::mutex);
    if (native::aside().empty()) return;
    cell = native::aside().front();
    native::aside().pop_front();
  }
  resume_actor(*cell);
}

}  // namespace rubato::inline v0::engine
