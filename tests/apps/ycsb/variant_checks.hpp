// Checks of a variant: YCSB's workloads with all checks, and keys that come and go.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/ycsb/linearizability.hpp"
#include "apps/ycsb/variant.hpp"
#include "apps/ycsb/verify.hpp"
#include "base/rng.hpp"

namespace rubato::apps::ycsb {

inline void load(Variant& variant, const WorkloadOptions& workload) {
  const KeySpace space(workload.key_order);
  const std::vector<Key> keys = sorted_keys(space, workload.records);
  auto next = keys.begin();
  variant.bulk_load(
      workload.records,
      [&] {
        const Key key = *next++;
        return leaf::Pair{key, space.record_of(key)};
      },
      [](std::uint64_t) {});
}

/// 40 requests in flight, of a variant that is empty. @returns what verify() says.
inline std::string run_and_verify(Variant& variant, const WorkloadOptions& workload, unsigned workers) {
  const auto requests = make_requests(workload);
  load(variant, workload);
  Recorder recorder(Recorder::Mode::history, requests.size());
  variant.run(requests, {.workers = workers, .inflight = 40}, recorder);
  return verify(workload, requests, recorder, variant);
}

inline void run_all_workloads(const std::function<std::unique_ptr<Variant>()>& make, unsigned workers) {
  for (const char name : {'A', 'B', 'C', 'D', 'E', 'F', kChurn}) {
    for (const std::uint64_t records : {1, 300, 5000}) {
      const WorkloadOptions workload{.name = name,
                                     .distribution = usual_distribution(name),
                                     .key_order = usual_key_order(name),
                                     .records = records,
                                     .operations = 10'000};
      EXPECT_EQ(run_and_verify(*make(), workload, workers), "") << name << ", " << records << " records";
    }
  }
}

/// All kinds of requests but scans on few keys that come and go, so that each has a short history to search.
inline void run_insertions_and_removals(Variant& variant, unsigned workers) {
  const WorkloadOptions workload{.records = 1000};
  const KeySpace space(workload.key_order);
  load(variant, workload);
  Rng rng(workers);
  std::vector<Request> requests;
  constexpr Kind kKinds[] = {Kind::lookup, Kind::insert, Kind::insert, Kind::update, Kind::remove};
  for (int i = 0; i < 30'000; ++i)
    requests.push_back({space.key_of(rng.below(1200)), kKinds[rng.below(5)], 0});
  Recorder recorder(Recorder::Mode::history, requests.size());
  variant.run(requests, {.workers = workers, .inflight = 60}, recorder);
  std::map<Key, std::vector<KeyEvent>> histories;
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    const Operation operation = operation_of(requests[i], i, kFirstWritten, nullptr);
    const Event& e = recorder.events()[i];
    histories[operation.key].push_back(
        {e.invoked, e.responded, operation.kind, operation.argument, e.answer});
  }
  std::map<Key, Value> left;
  variant.for_each([&](const leaf::Pair& pair) { left[pair.key] = pair.value; });
  for (auto& [key, events] : histories) {
    const auto found = left.find(key);
    const Answer last = found != left.end() ? Answer{found->second, true} : Answer{};
    events.push_back({~std::uint64_t{0}, ~std::uint64_t{0}, Kind::lookup, 0, last});
    const std::uint64_t record = space.record_of(key);
    const Judgement judgement = check_key(events, record < workload.records ? KeyState(record) : KeyState());
    EXPECT_EQ(judgement.verdict, Verdict::linearizable) << "record " << record << ": " << judgement.reason;
  }
  EXPECT_EQ(variant.check().error, "");
}

}  // namespace rubato::apps::ycsb
