// SPDX-License-Identifier: MIT
#include "base/task_ties.hpp"

#include <algorithm>
#include <bit>

namespace rubato {

TaskTies::Index TaskTies::find(Id id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? kNone : found->second;
}

void TaskTies::create(Id id, const Task& task, Id parent, Position position) {
  const Index creator = parent == 0 ? kNone : find(parent);
  // A child of an atomic task appears after it, and so does an atomic child of any task.
  const bool is_behind = creator != kNone && (task.is_atomic || nodes_[creator].task.is_atomic);
  index_[id] = static_cast<Index>(nodes_.size());
  nodes_.push_back(
      {.id = id, .task = task, .parent = creator, .created_at = is_behind ? kEnd : position, .uses = {}});
}

void TaskTies::clear() { *this = {}; }

// ---- Accesses ----

std::optional<TaskTies::Tie> TaskTies::access(Id id, Position position, std::uint64_t address, unsigned bytes,
                                              bool is_write, Worker worker) {
  const Index me = find(id);
  if (me == kNone) return {};
  for (std::uint64_t word = address / 8; word <= (address + bytes - 1) / 8; ++word) {
    const Object object{Object::Kind::word, word};
    if (objects_.contains(object)) {
      use(me, position, object);
      continue;
    }
    const std::uint64_t begin = std::max(address, word * 8), end = std::min(address + bytes, word * 8 + 8);
    const auto mask = static_cast<std::uint8_t>(((1u << (end - begin)) - 1) << (begin - word * 8));
    if (auto tie = touch_word(me, position, word, mask, is_write, worker)) return tie;
  }
  return {};
}

std::optional<TaskTies::Tie> TaskTies::touch_word(Index me, Position position, std::uint64_t word,
                                                  std::uint8_t mask, bool is_write, Worker worker) {
  std::vector<Touch>& touches = words_[word];
  Touch* own = nullptr;
  for (Touch& other : touches) {
    if (other.task == me) {
      if (other.is_write == is_write && (other.mask & mask) == mask) own = &other;
      continue;
    }
    const auto common = static_cast<std::uint8_t>(other.mask & mask);
    if (common == 0 || !(is_write || other.is_write)) continue;
    if (worker != kNoWorker && worker == other.worker) continue;
    if (are_apart(nodes_[other.task].task, nodes_[me].task)) continue;
    if (precedes(other.task, other.last, me, position)) continue;
    return Tie{nodes_[other.task].id, nodes_[me].id, other.is_write, is_write,
               word * 8 + static_cast<unsigned>(std::countr_zero(common))};
  }
  if (own != nullptr) {
    own->last = position;
    return {};
  }
  // Touches that this write covers are forgotten: a later access is compared with the write, which comes
  // after them.
  if (is_write) std::erase_if(touches, [&](const Touch& t) { return (t.mask & ~mask) == 0; });
  if (touches.size() >= kReaders) {
    const auto reader =
        std::find_if(touches.begin(), touches.end(), [](const Touch& t) { return !t.is_write; });
    touches.erase(reader == touches.end() ? touches.begin() : reader);
  }
  touches.push_back({.task = me, .worker = worker, .last = position, .mask = mask, .is_write = is_write});
  return {};
}

bool TaskTies::are_apart(const Task& a, const Task& b) {
  if (a.is_atomic && b.is_atomic) return true;
  return a.locale && b.locale && *a.locale == *b.locale && !(a.reads && b.reads);
}

// ---- Order ----

void TaskTies::synchronize_words(Id id, Position position, std::uint64_t address, unsigned bytes) {
  const Index me = find(id);
  for (std::uint64_t word = address / 8; me != kNone && word <= (address + bytes - 1) / 8; ++word)
    use(me, position, {Object::Kind::word, word});
}

void TaskTies::turn(Id id, Position position) {
  const Index me = find(id);
  if (me == kNone) return;
  if (nodes_[me].task.locale) use(me, position, {Object::Kind::locale, *nodes_[me].task.locale});
  if (nodes_[me].task.is_atomic) use(me, position, {Object::Kind::atomic_tasks, 0});
}

void TaskTies::synchronize(Id id, Position position, std::uint64_t object) {
  if (const Index me = find(id); me != kNone) use(me, position, {Object::Kind::other, object});
}

void TaskTies::use(Index me, Position position, const Object& object) {
  Index& last = objects_.try_emplace(object, kNone).first->second;
  if (last != kNone && uses_[last].task == me) {
    uses_[last].last = position;
    return;
  }
  uses_.push_back({me, position, position, last});
  last = static_cast<Index>(uses_.size() - 1);
  nodes_[me].uses.push_back(last);
}

void TaskTies::visit(Index task, Position position) {
  Node& node = nodes_[task];
  if (node.search == search_ && node.reached >= position) return;
  node.search = search_;
  node.reached = position;
  open_.emplace_back(task, position);
}

bool TaskTies::precedes(Index a, Position a_position, Index b, Position b_position) {
  Position& known = known_[std::uint64_t{a} << 32 | b];
  if (known >= a_position) return true;
  if (!search(a, a_position, b, b_position)) return false;
  known = a_position;
  return true;
}

bool TaskTies::search(Index a, Position a_position, Index b, Position b_position) {
  const std::optional<std::uint64_t>& at = nodes_[a].task.at;
  ++search_;
  open_.clear();
  visit(b, b_position);
  for (unsigned steps = 0; !open_.empty(); ++steps) {
    if (steps == kBudget) return true;
    const auto [task, position] = open_.back();
    open_.pop_back();
    if (task == a) {
      if (a_position <= position) return true;
      continue;
    }
    const Node& node = nodes_[task];
    if (node.task.at) {
      if (at ? *at < *node.task.at : has_released(a, a_position)) return true;
      if (at && *node.task.at < *at) continue;  // nothing before it is as late as `a`
    }
    if (node.parent != kNone) visit(node.parent, node.created_at);
    for (const Index i : node.uses) {
      const Use& use = uses_[i];
      if (use.before != kNone && use.first <= position) visit(uses_[use.before].task, uses_[use.before].last);
    }
  }
  return false;
}

bool TaskTies::has_released(Index a, Position a_position) const {
  return std::any_of(nodes_[a].uses.begin(), nodes_[a].uses.end(),
                     [&](Index use) { return uses_[use].last >= a_position; });
}

}  // namespace rubato
