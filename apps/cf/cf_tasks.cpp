// SPDX-License-Identifier: MIT
// A task writes only the features of the participant that is its locale, a cache line; it reads those of the
// other side, which change in the steps before and after.
#include "apps/cf/cf_tasks.hpp"

#include <cstddef>

#include "apps/cf/rated_lists.hpp"
#include "apps/common/task_type.hpp"

namespace rubato::apps {
namespace {

constexpr std::size_t kLineBytes = 64;

struct alignas(kLineBytes) Line {
  tracked<Fixed> feature[kFeatures];

  Features load() const {
    Features result;
    for (unsigned i = 0; i < kFeatures; ++i) result[i] = feature[i];
    return result;
  }
};
static_assert(sizeof(Line) == kLineBytes);

// The ratings, as the tasks see them: arguments carry only the participant.
Line* lines = nullptr;
const Rated* rated = nullptr;                // participant by participant
const std::uint32_t* first_rated = nullptr;  // of each participant, in `rated`
std::uint64_t last_step = 0;

template <TaskType type>
void adapt(std::uint32_t participant) {
  const Rated* const first = rated + first_rated[participant];
  const Rated* const last = rated + first_rated[participant + 1];
  const Features own = lines[participant].load();
  std::int64_t gradient[kFeatures] = {};
  for (const Rated* r = first; r != last; ++r) {
    const Features others = lines[r->other].load();
    const std::int64_t error = r->value - predicted(own, others);
    for (unsigned i = 0; i < kFeatures; ++i) gradient[i] += error * others[i];
  }
  for (unsigned i = 0; i < kFeatures; ++i) {
    lines[participant].feature[i] = stepped(own[i], gradient[i], static_cast<std::uint32_t>(last - first));
  }
  const std::uint64_t next = timestamp() + 2;
  if (next <= last_step) create<type>(adapt<type>, {.at = next, .on = participant}, participant);
}

/// The first steps of both sides: a participant without ratings has none.
template <TaskType type>
void begin(std::uint32_t participants, std::uint32_t users) {
  create_all<type>(
      std::uint32_t{0}, participants,
      [](std::uint32_t participant, std::uint32_t first_item) {
        const std::uint64_t step = participant < first_item ? 0 : 1;
        if (first_rated[participant] == first_rated[participant + 1] || step > last_step) return;
        create<type>(adapt<type>, {.at = step, .on = participant}, participant);
      },
      users);
}

template <TaskType type>
void run_all(std::uint32_t participants, std::uint32_t users) {
  create<type>(begin<type>, {.at = 0}, participants, users);
  run();
}

}  // namespace

std::vector<Features> cf(const RatingSet& set, std::vector<Features> features, std::uint32_t steps,
                         TaskType type) {
  const auto participants = static_cast<std::uint32_t>(features.size());
  const RatedLists lists = rated_lists(set);
  std::vector<Line> storage(participants);
  for (std::uint32_t p = 0; p < participants; ++p) {
    for (unsigned i = 0; i < kFeatures; ++i) storage[p].feature[i] = features[p][i];
  }
  if (steps == 0) return features;
  lines = storage.data();
  rated = lists.rated.data();
  first_rated = lists.first.data();
  last_step = steps - 1;
  with_type(type, [&]<TaskType chosen> { run_all<chosen>(participants, set.users()); });
  for (std::uint32_t p = 0; p < participants; ++p) features[p] = storage[p].load();
  return features;
}

}  // namespace rubato::apps
