// Places of coroutines, delayed tasks and asynchronous calls, which host engines have.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <chrono>
#include <cstdint>
#include <future>

#include "rubato/async.hpp"
#include "rubato/coroutine.hpp"
#include "rubato/delayed.hpp"
#include "rubato/per_worker.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;

Coroutine note_worker(unsigned* worker) {
  *worker = *worker_number();
  co_return;
}
CASE(whatever_creates_a_task_takes_a_place) {
  constexpr std::uint32_t kPlace = 1;
  unsigned of_coroutine = ~0u, of_delayed = ~0u;
  create<nonspec>(note_worker(&of_coroutine), at_place(kPlace));
  create_later<nonspec>(
      std::chrono::microseconds(1), [](unsigned* worker) { *worker = *worker_number(); }, at_place(kPlace),
      &of_delayed);
  std::future<unsigned> of_async = async([] { return *worker_number(); }, at_place(kPlace));
  run();
#if defined(RUBATO_ENGINE_NATIVE)
  const unsigned expected = native::workers() > kPlace ? kPlace : 0;
#else
  const unsigned expected = 0;
#endif
  CHECK(of_coroutine == expected);
  CHECK(of_delayed == expected);
  CHECK(of_async.get() == expected);
}

}  // namespace
#endif
