// Every variant runs every workload with all checks; and the checks reject what did not happen.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/variant.hpp"

#include <gtest/gtest.h>

#include "apps/ycsb/verify.hpp"

namespace rubato::apps::ycsb {
namespace {

void load(Variant& variant, const WorkloadOptions& workload) {
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

void run_all_workloads(const std::function<std::unique_ptr<Variant>()>& make, unsigned workers) {
  for (const char name : {'A', 'B', 'C', 'D', 'E', 'F'}) {
    for (const std::uint64_t records : {1, 300, 5000}) {
      const WorkloadOptions workload{
          .name = name, .distribution = usual_distribution(name), .records = records, .operations = 10'000};
      const auto requests = make_requests(workload);
      const std::unique_ptr<Variant> variant = make();
      load(*variant, workload);
      Recorder recorder(Recorder::Mode::history, requests.size());
      variant->run(requests, {.workers = workers, .inflight = 40}, recorder);
      EXPECT_EQ(verify(workload, requests, recorder, *variant), "") << name << ", " << records << " records";
    }
  }
}

TEST(TaskVariant, DoesWhatIsAskedOfIt) { run_all_workloads(make_task_variant, 1); }

class ThreadVariantTest : public testing::TestWithParam<std::tuple<Sync, bool, unsigned>> {};
TEST_P(ThreadVariantTest, DoesWhatIsAskedOfIt) {
  const auto [sync, is_interleaved, workers] = GetParam();
  run_all_workloads([&] { return make_thread_variant(sync, is_interleaved); }, workers);
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
