// Tasks whose locale needs a pool run where .core and .numa say, one at a time. R2, R3.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>

#include "native/topology/topology.hpp"
#include "native/worker/shared.hpp"
#include "rubato/per_worker.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

/// The number of the worker that calls it.
unsigned here() { return *worker_number(); }

/// A machine of two nodes, with two workers each, while this object lives. Their CPUs are those that there
/// are, in turn.
class TwoNodes {
 public:
  TwoNodes() {
    machine_.allowed.clear();
    for (unsigned i = 0; i < 4; ++i) {
      native::AllowedCpu cpu = before_.allowed[i % before_.allowed.size()];
      cpu.node = i / 2;
      machine_.allowed.push_back(cpu);
    }
    machine_.quota.reset();
    use_workers(4);
  }
  ~TwoNodes() {
    machine_ = before_;
    use_workers(1);
  }
  TwoNodes(const TwoNodes&) = delete;
  TwoNodes& operator=(const TwoNodes&) = delete;
  static unsigned node() { return here() / 2; }

 private:
  native::Topology& machine_ = const_cast<native::Topology&>(native::Shared::machine());
  const native::Topology before_ = machine_;
};

struct Object {
  int value = 0;
};

/// Visits of one locale, each created by a task of another worker when the one before has ended: the pool is
/// empty then, and the worker that they ask for idle.
struct FromAfar {
  Annotations visit;
  std::uint32_t afar;
  unsigned (*where)();
  std::array<unsigned, 4> ran{};  // by what where() says

  void run_all(unsigned visits) {
    create<nonspec>(create_one, {.core = afar}, this, visits);
    run();
  }
  static void create_one(FromAfar* self, unsigned left) {
    create<nonspec>(visit_one, self->visit, self, left);
  }
  static void visit_one(FromAfar* self, unsigned left) {
    ++self->ran[self->where()];
    if (left != 1) create<nonspec>(create_one, {.core = self->afar}, self, left - 1);
  }
};

TEST(Places, OfTasksWithALocaleAreTheirCores) {
  use_workers(4);
  const resource<Object> object = make_resource<Object>({.synchronization = Synchronization::pool});
  for (std::uint32_t core = 0; core < 4; ++core) {
    for (const Locale locale : {Locale(7), Locale(object)}) {
      FromAfar visits{.visit = {.on = locale, .core = core}, .afar = (core + 1) % 4, .where = here};
      visits.run_all(50);
      EXPECT_EQ(visits.ran[core], 50u) << core;
    }
  }
  remove(object);
}

TEST(Places, OfTasksWithALocaleAreTheirNodes) {
  const TwoNodes machine;
  const resource<Object> object = make_resource<Object>({.synchronization = Synchronization::pool});
  for (std::uint32_t node = 0; node < 2; ++node) {
    for (const Locale locale : {Locale(7), Locale(object)}) {
      FromAfar visits{.visit = {.on = locale, .numa = node}, .afar = 2 - 2 * node, .where = TwoNodes::node};
      visits.run_all(50);
      EXPECT_EQ(visits.ran[node], 50u) << node;
    }
  }
  remove(object);
}

TEST(Places, OfOneLocalesTasksMayDiffer) {
  use_workers(3);
  std::array<unsigned, 3> right{};
  unsigned anywhere = 0;
  create<nonspec>(
      [&] {
        for (unsigned i = 0; i < 600; ++i) {
          const std::uint32_t core = i / 5 % 3;
          create<nonspec>([&right, core] { right[core] += here() == core ? 1 : 0; }, {.on = 7, .core = core});
          if (i % 7 == 0) create<nonspec>([&anywhere] { ++anywhere; }, {.on = 7});
        }
      },
      {});
  run();
  EXPECT_EQ(right, (std::array<unsigned, 3>{200, 200, 200}));
  EXPECT_EQ(anywhere, 86u);
}

TEST(Places, OfTasksWithALocaleCountBehindAGroup) {
  use_workers(4);
  std::atomic<unsigned> right{0};
  for (std::uint32_t core = 0; core < 4; ++core) {
    TaskGroup group;
    create<nonspec>([] {}, {.group = &group, .core = (core + 1) % 4});
    for (int i = 0; i < 2; ++i)
      create<nonspec>([&right, core] { right += here() == core ? 1 : 0; },
                      {.on = i, .after = &group, .core = core});
    run();
  }
  EXPECT_EQ(right, 8u);
}

/// 50 microseconds of work.
void work() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(Places, OnANodeAreAllItsWorkers) {
  const TwoNodes machine;
  std::array<std::atomic<unsigned>, 4> ran{};
  for (int round = 0; round < 20 && (ran[2] == 0 || ran[3] == 0); ++round) {
    // By one worker, so that pools whose home is the other are taken over by it or stolen from it.
    create<nonspec>(
        [&ran] {
          for (unsigned i = 0; i < 400; ++i)
            create<nonspec>(
                [&ran] {
                  work();
                  ++ran[here()];
                },
                {.on = i % 8, .numa = 1});
        },
        {.core = 3});
    run();
  }
  EXPECT_EQ(ran[0] + ran[1], 0u) << "far";
  EXPECT_NE(ran[2], 0u);
  EXPECT_NE(ran[3], 0u);
}

/// Tasks of a few locales with and without places and timestamps.
class Mix {
 public:
  explicit Mix(unsigned seed) : random_(seed) {}

  void create_all(unsigned tasks) {
    for (unsigned i = 0; i < tasks; ++i) {
      Annotations a{.on = random_() % kLocales};
      const unsigned kind = random_() % 4;
      if (kind == 0) a.at = random_() % 50;
      if (kind == 1) a.core = static_cast<std::uint32_t>(random_() % 4);
      if (kind == 2) a.numa = static_cast<std::uint32_t>(random_() % 2);
      create<nonspec>(visit, a, this, static_cast<unsigned>(*a.on), a.core.value_or(kNone),
                      a.numa.value_or(kNone));
    }
  }
  std::uint64_t visits() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t of_locale : visits_) sum += of_locale;
    return sum;
  }
  unsigned wrong() const { return wrong_; }

 private:
  static constexpr unsigned kLocales = 40;
  static constexpr std::uint32_t kNone = 99;

  static void visit(Mix* self, unsigned locale, std::uint32_t core, std::uint32_t node) {
    ++self->visits_[locale];  // not atomic: tasks of one locale never run at once
    if (core != kNone && here() != core) ++self->wrong_;
    if (node != kNone && TwoNodes::node() != node) ++self->wrong_;
  }

  std::minstd_rand random_;
  std::array<std::uint64_t, kLocales> visits_{};
  std::atomic<unsigned> wrong_{0};
};

TEST(Places, KeepLocalesApartBesideTimestampsAndTasksWithoutPlaces) {
  const TwoNodes machine;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    Mix mix(seed);
    mix.create_all(seed % 3 == 0 ? 20 : 2000);
    run();
    EXPECT_EQ(mix.visits(), seed % 3 == 0 ? 20u : 2000u);
    EXPECT_EQ(mix.wrong(), 0u) << seed;
  }
}

TEST(Places, OfTasksThatAFailedRunDropsAreNoPlacesOfTheNext) {
  use_workers(2);
  for (int round = 0; round < 20; ++round) {
    for (std::uint32_t core = 0; core < 2; ++core) {
      for (int i = 0; i < 50; ++i) create<nonspec>([] {}, {.on = i % 4, .core = core});
    }
    create<nonspec>([] { throw std::runtime_error("as asked"); }, {.on = 2, .core = 1});
    EXPECT_THROW(run(), TaskError);
    unsigned right = 0;
    create<nonspec>([&right] { right = here(); }, {.on = 2, .core = 1});
    run();
    EXPECT_EQ(right, 1u);
  }
}

}  // namespace
