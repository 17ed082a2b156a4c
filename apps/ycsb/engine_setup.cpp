// SPDX-License-Identifier: MIT
#include "apps/ycsb/engine_setup.hpp"

#include <cstdlib>

#include "apps/common/input_error.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::ycsb {

#if defined(RUBATO_ENGINE_NATIVE)
namespace {

native::Synchronization request_of(Sync sync) {
  switch (sync) {
    case Sync::spin:
      return native::Synchronization::latch;
    case Sync::rw:
      return native::Synchronization::shared_latch;
    case Sync::optimistic:
      return native::Synchronization::optimistic_latch;
    case Sync::scheduled:
      return native::Synchronization::pool;
    case Sync::automatic:
    case Sync::speculative:
      break;
  }
  return native::Synchronization::automatic;
}

/// A visit is so short that with the engine's own distance lines would still be on their way when it begins.
constexpr unsigned kPrefetchDistance = 8;

}  // namespace

unsigned set_up_engine(unsigned workers, Sync sync) {
  native::Options options = native::options();
  if (std::getenv("RUBATO_PREFETCH") == nullptr) options.prefetch.distance = kPrefetchDistance;
  if (workers != 0) options.workers = workers;
  if (sync != Sync::automatic) options.synchronization = request_of(sync);
  try {
    native::configure(options);
  } catch (const TaskError& e) {  // no task has run: it is the number of workers
    throw InputError(e.what());
  }
  return native::workers();
}

std::uint64_t unreclaimed_bytes() { return native::counters().unreclaimed_bytes; }
#else
std::uint64_t unreclaimed_bytes() { return 0; }
unsigned set_up_engine(unsigned workers, Sync /*one worker: nothing to keep apart*/) {
  if (workers > 1) throw InputError("the serial engine has one worker: use the native one, or --workers 1");
  return 1;
}
#endif

}  // namespace rubato::apps::ycsb
