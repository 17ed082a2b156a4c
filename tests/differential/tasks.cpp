// The tasks of a random program. Properties and actions of a task follow from its key alone, never from its
// reads: the tree of tasks is the same on every engine and in every schedule.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "rubato/fork_join.hpp"
#include "tests/differential/state.hpp"

namespace differential {
namespace {

constexpr unsigned kMaxDepth = 7, kMaxChildren = 7;
constexpr unsigned kLevelShift = 40;

enum class Place : std::uint8_t { nowhere, locale, resource };

/// Position of a task in the tree: one word, an argument. Numbers are those of an 8-ary heap, so that a
/// child's is larger than its parent's and no two are the same.
struct Position {
  std::uint32_t number;
  std::uint32_t depth;
};

/// Properties of a task that follow from its key.
struct Traits {
  explicit Traits(std::uint64_t key) : random(key) {
    const std::uint64_t chosen = random.below(16);
    type = chosen == 0 ? TaskType::spec : chosen < 6 ? TaskType::mayspec : TaskType::nonspec;
    place = static_cast<Place>(random.below(3));
    index = static_cast<unsigned>(random.below(place == Place::locale ? kLocales : kResources));
    access = random.below(3) == 0 ? Access::writes : Access::reads;
    priority = static_cast<Priority>(random.below(3));
    has_own_room = random.below(8) == 0;
    children_first = random.below(2) == 0;
  }
  /// A reader may be run twice, so that it must report in on_commit().
  bool is_reader() const { return place == Place::resource && access == Access::reads; }

  Rng random;
  TaskType type{};
  Place place{};
  unsigned index = 0;
  Access access{};
  Priority priority{};
  bool has_own_room = false;  // its function is a callable that does not fit a task
  bool children_first = false;
};

std::uint64_t word_of(std::uint64_t key) { return mix64(key ^ 0x77); }

void node(std::uint64_t key, Position position, Fan* fan);

void create_node(std::uint64_t key, Position position, std::optional<Timestamp> at, TaskGroup* group,
                 Fan* fan) {
  Traits t(key);
  Annotations a;
  a.at = at;
  a.group = group;
  a.access = t.access;
  a.priority = t.priority;
  if (t.place == Place::locale) a.on = t.index;
  if (t.place == Place::resource) a.on = state->resources[t.index];
  if (t.random.below(8) == 0) a.prefetch = {0, static_cast<std::uint32_t>(t.random.below(300))};
  if (t.random.below(16) == 0) a.core = static_cast<std::uint32_t>(t.random.below(4));
  const auto submit = [&](auto function, auto... arguments) {
    switch (t.type) {
      case TaskType::spec:
        return create<TaskType::spec>(function, a, arguments...);
      case TaskType::nonspec:
        return create<TaskType::nonspec>(function, a, arguments...);
      case TaskType::mayspec:
        return create<TaskType::mayspec>(function, a, arguments...);
    }
  };
  if (t.has_own_room) {
    std::array<std::uint64_t, 6> room{};
    room[key % room.size()] = key;
    submit([room, position, fan] { node(*std::max_element(room.begin(), room.end()), position, fan); });
  } else {
    submit(node, key, position, fan);
  }
}

/// The timestamp of a child. In programs with timestamps some branches have none.
std::optional<Timestamp> child_timestamp(std::optional<Timestamp> parent, Position child, Rng& random) {
  if (!parent || random.below(12) == 0) return std::nullopt;
  if (state->order == Order::dense) return *parent + random.below(3);
  const std::uint64_t level = (*parent >> kLevelShift) + random.below(3);
  return level << kLevelShift | child.number;
}

// ---- groups: a task that creates the members, itself one of them, and a task that waits for all ----

void check_fan(Fan* fan, std::uint64_t members, std::uint64_t key) {
  if (state->is_over) return;  // run() has failed, and members were destroyed unrun
  if (!fan->group.is_complete()) state->violate("a group is not complete when the task after it runs");
  if (fan->done != members) state->violate("a task runs before the members of the group it waits for");
  tell(word_of(key));
}

void fan_out(std::uint64_t key, Position position, Fan* fan, std::uint64_t members) {
  const std::optional<Timestamp> at = state->order == Order::dense && engine::is_timestamped()
                                          ? std::optional<Timestamp>(timestamp())
                                          : std::nullopt;
  for (std::uint64_t m = 0; m < members; ++m) {
    create_node(mix64(key + m), {position.number * 8, kMaxDepth}, at, &fan->group, fan);
  }
  tell(word_of(key));
}

/// Readers may run twice, and cannot say when they are done.
std::uint64_t counted_members(std::uint64_t members, std::uint64_t key) {
  std::uint64_t counted = 0;
  for (std::uint64_t m = 0; m < members; ++m) counted += !Traits(mix64(key + m)).is_reader();
  return counted;
}

void create_fan(std::uint64_t key, Position position, Rng& random) {
  Fan* const fan = state->new_fan();
  const std::uint64_t members = 1 + random.below(6);
  std::optional<Timestamp> at, later;
  if (state->order == Order::dense && engine::is_timestamped()) {
    at = timestamp();
    later = *at + random.below(2);
  }
  const auto create_first = [&] {
    create<nonspec>(fan_out, {.at = at, .group = &fan->group}, key, position, fan, members);
  };
  const auto create_after = [&] {
    create<nonspec>(check_fan, {.at = later, .after = &fan->group}, fan, counted_members(members, key),
                    mix64(key ^ 5));
  };
  switch (mix64(key) % 4) {  // which of them comes first does not count: both are the same task's
    case 0:
      return fork_join(create_first, create_after);
    case 1:
      return fork_join(create_after, create_first);
    default:
      create_first();
      create_after();
  }
}

// ---- objects that are removed while tasks annotated with them are pending ----

void use_temporary(resource<Temporary> object, std::uint64_t id, std::uint64_t key, bool reads, bool again) {
  Rng random(key);
  if (object->id != id) on_commit(tell_violation, "an object is gone before the last task annotated with it");
  if (!reads) {
    update(object->cell, key, random, "an object that is removed");
  } else if (!is_whole(object->cell, random)) {
    on_commit(tell_violation, "a task reads half an update of an object that is removed");
  }
  if (again) {
    create<nonspec>(use_temporary, {.on = object, .access = reads ? Access::reads : Access::writes}, object,
                    id, mix64(key), reads, false);
  }
  if (object->id != id) on_commit(tell_violation, "an object goes while a task annotated with it runs");
  on_commit(tell, word_of(key));
}

void remove_temporary(resource<Temporary> object) {
  {
    const std::lock_guard lock(state->mutex);
    std::erase(state->temporaries, object);
  }
  remove(object);
  tell(7);
}

void create_temporary(std::uint64_t key, Rng& random) {
  const ResourceOptions options{random.below(2) == 0 ? Isolation::exclusive : Isolation::shared_reads,
                                static_cast<Ratio>(random.below(3)), static_cast<Frequency>(random.below(3))};
  const std::uint64_t id = key | 1;
  const auto object = make_resource<Temporary>(options, id);
  ++state->made;
  {
    const std::lock_guard lock(state->mutex);
    state->temporaries.push_back(object);
  }
  const std::uint64_t users = 1 + random.below(5), removal = random.below(users + 1);
  for (std::uint64_t u = 0; u <= users; ++u) {
    if (u == removal) {
      Annotations a{.priority = static_cast<Priority>(random.below(3))};
      if (random.below(2) == 0) a.on = object;
      create<nonspec>(remove_temporary, a, object);
      continue;
    }
    const bool reads = random.below(2) == 0;
    create<nonspec>(use_temporary,
                    {.on = object,
                     .access = reads ? Access::reads : Access::writes,
                     .priority = static_cast<Priority>(random.below(3))},
                    object, id, mix64(key + u), reads, random.below(3) == 0);
  }
}

// ---- ordinary tasks ----

struct Child {
  std::uint64_t key;
  Position position;
  std::optional<Timestamp> at;
};
void create_by_halves(std::span<const Child> children, bool forks) {
  if (children.size() < 2 || !forks) {
    for (const Child& c : children) create_node(c.key, c.position, c.at, nullptr, nullptr);
    return;
  }
  const std::size_t half = children.size() / 2;
  fork_join([&] { create_by_halves(children.first(half), true); },
            [&] { create_by_halves(children.subspan(half), true); });
}

void create_children(std::uint64_t key, Position position, Traits& t) {
  Rng random(mix64(key ^ 0xc));
  const std::optional<Timestamp> own =
      engine::is_timestamped() ? std::optional<Timestamp>(timestamp()) : std::nullopt;
  const std::uint64_t children = position.depth >= kMaxDepth ? 0 : random.below(4) * random.below(4) / 2;
  std::vector<Child> all;
  for (std::uint64_t c = 0; c < std::min<std::uint64_t>(children, kMaxChildren); ++c) {
    const Position child{position.number * 8 + static_cast<std::uint32_t>(c) + 1, position.depth + 1};
    all.push_back({mix64(key + c), child, child_timestamp(own, child, random)});
  }
  create_by_halves(all, mix64(key ^ 0xf0) % 2 == 0);
  if (position.depth < kMaxDepth && random.below(6) == 0) create_fan(mix64(key ^ 0xfa), position, random);
  if (!t.is_reader() && random.below(6) == 0) create_temporary(mix64(key ^ 0xf), random);
}

/// Check of the timestamps: no task with a later one has started.
void check_order() {
  if (!engine::is_timestamped()) return;
  const std::uint64_t own = timestamp() + 1;
  std::uint64_t latest = state->latest;
  while (latest < own && !state->latest.compare_exchange_weak(latest, own)) {
  }
  if (latest > own) state->violate("a task runs beside or after one with a later timestamp");
}

void read_resource(std::uint64_t key, const Cell& cell, bool is_ordered, Rng& random) {
  if (!is_whole(cell, random)) on_commit(tell_violation, "a task reads half an update of a resource");
  on_commit(tell, is_ordered ? mix64(key ^ cell.ordered) : word_of(key));
}

void write_cell(std::uint64_t key, Cell& cell, bool is_ordered, Rng& random, const char* where) {
  update(cell, word_of(key), random, where);
  if (is_ordered) cell.ordered = cell.ordered * 31 + key;
}

void node(std::uint64_t key, Position position, Fan* fan) {
  Traits t(key);
  Rng random(mix64(key ^ 0xe));
  check_order();
  const bool is_ordered = state->order == Order::unique && engine::is_timestamped();
  if (t.children_first) create_children(key, position, t);
  if (state->throws && position.depth == 2) throw std::runtime_error("on purpose");
  switch (t.place) {
    case Place::nowhere:
      break;
    case Place::locale:
      write_cell(key, state->locales[t.index], is_ordered, random, "a locale");
      break;
    case Place::resource: {
      Cell& cell = *state->resources[t.index];
      if (t.is_reader()) {
        read_resource(key, cell, is_ordered, random);
      } else {
        write_cell(key, cell, is_ordered, random, "a resource");
      }
      break;
    }
  }
  // Atomic with respect to all others: it may touch what belongs to any locale.
  if (t.type == TaskType::spec && !t.is_reader()) {
    update(state->locales[key % kLocales], word_of(key), random, "a locale, in a SPEC task");
  }
  if (is_ordered && !t.is_reader()) state->sequence = state->sequence * 31 + key;
  if (!t.children_first) create_children(key, position, t);
  check_order();
  if (t.is_reader()) return;
  tell(word_of(key));
  if (fan != nullptr) ++fan->done;
}

}  // namespace

void create_tree(std::uint64_t key, std::uint32_t number, std::uint32_t depth, std::optional<Timestamp> at) {
  create_node(key, {number, depth}, at, nullptr, nullptr);
}

void create_members(Fan* fan, std::uint64_t members, std::uint64_t key) {
  for (std::uint64_t m = 0; m < members; ++m) {
    create_node(mix64(key + m), {0, kMaxDepth}, std::nullopt, &fan->group, fan);
  }
  create<nonspec>(check_fan, {.after = &fan->group}, fan, counted_members(members, key), mix64(key ^ 5));
}

void create_roots(std::uint64_t seed) {
  Rng random(mix64(seed));
  state->order = static_cast<Order>(random.below(3));
  state->throws = random.below(32) == 0;
  for (auto& handle : state->resources) {
    handle =
        make_resource<Cell>({random.below(3) == 0 ? Isolation::exclusive : Isolation::shared_reads,
                             static_cast<Ratio>(random.below(3)), static_cast<Frequency>(random.below(3))});
  }
  const std::uint64_t roots = 1 + random.below(6);
  for (std::uint64_t r = 0; r < roots; ++r) {
    const Position position{static_cast<std::uint32_t>(r) + 1, 0};
    std::optional<Timestamp> at;
    if (state->order == Order::dense) at = random.below(3);
    if (state->order == Order::unique) at = position.number;
    create_node(mix64(seed * 64 + r), position, at, nullptr, nullptr);
  }
}

}  // namespace differential
