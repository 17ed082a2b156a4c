// Every variant runs every workload with all checks; and the checks reject what did not happen.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/variant.hpp"

#include <gtest/gtest.h>

#include "apps/ycsb/engine_setup.hpp"
#include "apps/ycsb/verify.hpp"
#include "tests/apps/ycsb/variant_checks.hpp"
#if defined(RUBATO_ENGINE_NATIVE)
#include "apps/common/input_error.hpp"
#include "tests/native/use_workers.hpp"
#endif

namespace rubato::apps::ycsb {
namespace {

#if defined(RUBATO_ENGINE_NATIVE)
class TaskVariantTest : public testing::TestWithParam<std::tuple<Sync, unsigned>> {
 protected:
  void SetUp() override {
    use_workers(workers_);
    ASSERT_EQ(set_up_engine(workers_, std::get<0>(GetParam())), workers_);
  }
  const unsigned workers_ = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, TaskVariantTest,
                         testing::Combine(testing::Values(Sync::spin, Sync::rw, Sync::optimistic,
                                                          Sync::scheduled),
                                          testing::Values(1u, 2u, 8u)));
#else
class TaskVariantTest : public testing::TestWithParam<int> {  // the serial engine's one worker
 protected:
  const unsigned workers_ = 1;
};
INSTANTIATE_TEST_SUITE_P(All, TaskVariantTest, testing::Values(0));
#endif
TEST_P(TaskVariantTest, DoesWhatIsAskedOfIt) {
  run_all_workloads([] { return make_task_variant(); }, workers_);
}
TEST_P(TaskVariantTest, KeepsInsertionsAndRemovalsOfAKeyInOrder) {
  run_insertions_and_removals(*make_task_variant(), workers_);
}

/// A long slide of a window: so many merges, while other requests are under way everywhere.
TEST_P(TaskVariantTest, MergesEmptiedLeavesWhileRequestsGoOn) {
  const WorkloadOptions workload{.name = kChurn,
                                 .distribution = Distribution::uniform,
                                 .key_order = KeyOrder::ordered,
                                 .records = 20'000,
                                 .operations = 200'000};
  const std::unique_ptr<Variant> variant = make_task_variant();
  EXPECT_EQ(run_and_verify(*variant, workload, workers_), "");
  const std::uint64_t removed = 80'000, removed_leaves = removed / leaf::kMaxEntries;
  EXPECT_LT(variant->check().nodes, removed_leaves) << "nothing was given back";
}

#if defined(RUBATO_ENGINE_NATIVE)
/// Most nodes and bytes not yet freed, of a run of so many requests.
MemoryPeaks churn(std::uint64_t operations, unsigned workers) {
  const WorkloadOptions workload{.name = kChurn,
                                 .distribution = Distribution::uniform,
                                 .key_order = KeyOrder::ordered,
                                 .records = 100'000,
                                 .operations = operations};
  const auto requests = make_requests(workload);
  const std::unique_ptr<Variant> variant = make_task_variant();
  load(*variant, workload);
  Recorder recorder(Recorder::Mode::sample, requests.size());
  variant->run(requests, {.workers = workers, .inflight = 16}, recorder);
  EXPECT_EQ(variant->check().error, "");
  return *variant->memory_peaks();
}

class TaskVariantMemory : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, TaskVariantMemory, testing::Values(1u, 2u, 8u));
TEST_P(TaskVariantMemory, DoesNotGrowWithTheNumberOfRequests) {
  const unsigned workers = GetParam();
  use_workers(workers);
  ASSERT_EQ(set_up_engine(workers, Sync::automatic), workers);
  constexpr std::uint64_t kOperations = 1'000'000, kRemoved = kOperations * 2 / 5;
  const MemoryPeaks few = churn(kOperations / 10, workers), many = churn(kOperations, workers);
  EXPECT_GT(few.unreclaimed_bytes, 0u);
  EXPECT_LE(many.nodes, few.nodes * 3 / 2);
  // Not proportional to time: what waits depends on how long workers are kept from running.
  const std::uint64_t all = kRemoved / (leaf::kMaxEntries / 2) * sizeof(Node);
  EXPECT_LE(many.unreclaimed_bytes, all / 4);
}
#endif

#if defined(RUBATO_ENGINE_NATIVE)
TEST(EngineSetup, RefusesMoreWorkersThanCpusUnlessTheyAreMeant) {
  native::Options options = native::options();
  options.workers = 1;
  options.oversubscribe = false;
  native::configure(options);
  EXPECT_THROW(set_up_engine(1000, Sync::automatic), InputError);
  EXPECT_EQ(set_up_engine(0, Sync::automatic), 1u) << "what the engine had before";
  options.oversubscribe = true;
  native::configure(options);
  EXPECT_EQ(set_up_engine(1000, Sync::automatic), 1000u);
  native::configure(native::Options{});
}
#endif

class ThreadVariantTest : public testing::TestWithParam<std::tuple<Sync, bool, unsigned>> {};
TEST_P(ThreadVariantTest, DoesWhatIsAskedOfIt) {
  const auto [sync, is_interleaved, workers] = GetParam();
  run_all_workloads([&] { return make_thread_variant(sync, is_interleaved); }, workers);
}
TEST_P(ThreadVariantTest, KeepsInsertionsAndRemovalsOfAKeyInOrder) {
  const auto [sync, is_interleaved, workers] = GetParam();
  run_insertions_and_removals(*make_thread_variant(sync, is_interleaved), workers);
}
INSTANTIATE_TEST_SUITE_P(All, ThreadVariantTest,
                         testing::Combine(testing::Values(Sync::spin, Sync::rw, Sync::optimistic),
                                          testing::Bool(), testing::Values(1u, 2u, 8u)));

#if defined(RUBATO_HAS_TBB)
class TbbVariantTest : public testing::TestWithParam<std::tuple<Sync, bool, unsigned>> {};
TEST_P(TbbVariantTest, DoesWhatIsAskedOfIt) {
  const auto [sync, is_task_a_step, workers] = GetParam();
  run_all_workloads([&] { return make_tbb_variant(sync, is_task_a_step); }, workers);
}
INSTANTIATE_TEST_SUITE_P(All, TbbVariantTest,
                         testing::Combine(testing::Values(Sync::spin, Sync::rw, Sync::optimistic,
                                                          Sync::speculative),
                                          testing::Bool(), testing::Values(1u, 2u, 8u)));
#endif

TEST(Variant, LoadsByInsertionAsInBulk) {
  const WorkloadOptions workload{.name = 'C', .records = 20'000, .operations = 1};
  const KeySpace space(workload.key_order);
  const auto inserted = make_thread_variant(Sync::optimistic, false),
             loaded = make_thread_variant(Sync::spin, false);
  load(*loaded, workload);
  const auto inserts = load_requests(space, 0, workload.records);
  Recorder recorder(Recorder::Mode::sample, inserts.size());
  inserted->run(inserts, {.workers = 2, .first_value = 0}, recorder);
  std::vector<std::pair<Key, Value>> a, b;
  inserted->for_each([&](const leaf::Pair& pair) { a.emplace_back(pair.key, pair.value); });
  loaded->for_each([&](const leaf::Pair& pair) { b.emplace_back(pair.key, pair.value); });
  EXPECT_EQ(a, b);
  EXPECT_EQ(inserted->check().error, "");
}

/// Keeps what happened, to be told differently.
class ChangedHistory : public testing::Test {
 protected:
  void run(char name) {
    workload_.name = name;
    workload_.distribution = usual_distribution(name);
    requests_ = make_requests(workload_);
    load(*variant_, workload_);
    variant_->run(requests_, {.workers = 2, .inflight = 20}, recorder_);
    ASSERT_EQ(check(), "");
  }
  std::string check() const { return verify(workload_, requests_, recorder_, *variant_); }
  std::uint64_t first(Kind kind, std::uint64_t from = 0) const {
    while (requests_[from].kind != kind) ++from;
    return from;
  }
  /// The event of a request, to be changed.
  Event& event(std::uint64_t request) { return const_cast<Event&>(recorder_.events()[request]); }
  void set_final_value(Key key, Value value) {
    Recorder recorder(Recorder::Mode::sample, 1);
    const std::vector<Request> update{{key, Kind::update, 0}};
    variant_->run(update, {.workers = 1, .first_value = value}, recorder);
  }

  WorkloadOptions workload_{.records = 500, .operations = 5000};
  std::vector<Request> requests_;
  Recorder recorder_{Recorder::Mode::history, 5000};
  std::unique_ptr<Variant> variant_ = make_thread_variant(Sync::optimistic, false);
};

TEST_F(ChangedHistory, WithAValueOfAnotherKeyIsRejected) {
  run('A');
  const std::uint64_t lookup = first(Kind::lookup);
  event(lookup).answer.value = (event(lookup).answer.value + 1) % workload_.records;
  EXPECT_NE(check().find("never written to this key"), std::string::npos);
}

TEST_F(ChangedHistory, WithAReplacedValueIsRejected) {
  run('A');
  // The last lookup of a key that was updated long before finds the loaded value again.
  for (std::uint64_t i = requests_.size(); i-- > 0;) {
    if (requests_[i].kind != Kind::lookup || event(i).answer.value < kFirstWritten) continue;
    event(i).answer.value = KeySpace(workload_.key_order).record_of(requests_[i].key);
    break;
  }
  EXPECT_NE(check().find("not linearizable"), std::string::npos);
}

TEST_F(ChangedHistory, WithALostUpdateIsRejected) {
  run('A');
  const Key key = requests_[first(Kind::update)].key;
  set_final_value(key, KeySpace(workload_.key_order).record_of(key));
  EXPECT_NE(check().find("not linearizable"), std::string::npos);
}

TEST_F(ChangedHistory, WithALostIncrementIsRejected) {
  run('F');
  const Key key = requests_[first(Kind::add)].key;
  set_final_value(key, KeySpace(workload_.key_order).record_of(key));
  EXPECT_NE(check(), "");
}

TEST_F(ChangedHistory, WithAnUnansweredRequestIsRejected) {
  run('C');
  event(17).responded = 0;
  EXPECT_EQ(check(), "request 17 was never answered");
}

TEST_F(ChangedHistory, WithAMissingKeyIsRejected) {
  run('D');
  Recorder recorder(Recorder::Mode::sample, 1);
  const std::vector<Request> removal{{requests_[first(Kind::insert)].key, Kind::remove, 0}};
  variant_->run(removal, {}, recorder);
  EXPECT_NE(check().find("is missing"), std::string::npos);
}

TEST_F(ChangedHistory, WithAScanThatLeavesOutAKeyIsRejected) {
  run('E');
  std::uint64_t scan = first(Kind::scan);
  while (recorder_.scan(scan).size() < 3) scan = first(Kind::scan, scan + 1);
  auto& pairs = const_cast<std::vector<ScannedPair>&>(recorder_.scan(scan));
  const ScannedPair left_out = pairs[1];
  pairs.erase(pairs.begin() + 1);
  EXPECT_NE(check().find("left out key " + std::to_string(left_out.key)), std::string::npos);
  pairs.insert(pairs.begin() + 1, {left_out, left_out});
  EXPECT_NE(check().find("is not ascending"), std::string::npos);
}

}  // namespace
}  // namespace rubato::apps::ycsb
