// SPDX-License-Identifier: MIT
// A step writes features of one side and reads those of the other, so its participants need no locks.
#include "apps/cf/cf_threads.hpp"

#include <atomic>
#include <cstddef>

#include "apps/cf/rated_lists.hpp"
#include "apps/common/morsels.hpp"
#include "apps/common/thread_team.hpp"

namespace rubato::apps {
namespace {

struct alignas(64) Line {
  Features features;
};

/// Participants of a step that were taken, in a line of its own.
struct alignas(64) Taken {
  std::atomic<std::size_t> next{0};
};

void adapt(const RatedLists& lists, std::vector<Line>& lines, std::size_t participant) {
  const Rated* const first = lists.rated.data() + lists.first[participant];
  const Rated* const last = lists.rated.data() + lists.first[participant + 1];
  if (first == last) return;
  Features& own = lines[participant].features;
  std::int64_t gradient[kFeatures] = {};
  for (const Rated* r = first; r != last; ++r) {
    const Features& others = lines[r->other].features;
    const std::int64_t error = r->value - predicted(own, others);
    for (unsigned i = 0; i < kFeatures; ++i) gradient[i] += error * others[i];
  }
  for (unsigned i = 0; i < kFeatures; ++i)
    own[i] = stepped(own[i], gradient[i], static_cast<std::uint32_t>(last - first));
}

}  // namespace

std::vector<Features> cf_threads(const RatingSet& set, std::vector<Features> features, std::uint32_t steps,
                                 std::uint32_t threads) {
  const RatedLists lists = rated_lists(set);
  std::vector<Line> lines(features.size());
  for (std::size_t p = 0; p < features.size(); ++p) lines[p].features = features[p];
  std::vector<Taken> taken(steps);
  ThreadTeam::run(threads, [&](ThreadTeam::Member& me) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      const std::size_t side = step % 2 == 0 ? 0 : set.users();
      const std::size_t count = (step % 2 == 0 ? set.users() : features.size()) - side;
      take_morsels(taken[step].next, count, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i != end; ++i) adapt(lists, lines, side + i);
      });
      me.barrier();
    }
  });
  for (std::size_t p = 0; p < features.size(); ++p) features[p] = lines[p].features;
  return features;
}

}  // namespace rubato::apps
