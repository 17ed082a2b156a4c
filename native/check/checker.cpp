// The checked build behind include/rubato/engine/native_check.hpp: which task was created where, which memory
// belongs to which resource. R12. Locks and maps at every turn: made for tests, not for speed.
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "base/function_names.hpp"
#include "native/check/site.hpp"
#include "rubato/engine/native_check.hpp"
#include "rubato/engine/native_task.hpp"
#include "rubato/errors.hpp"

namespace rubato::inline v0::engine::check {
namespace {

using native::CallStack;

struct Creation {
  std::uint64_t number = 0;
  CallStack where;
};

/// By the task's block, whose next task overwrites it: as many as there were tasks at once.
class Creations {
 public:
  void note(const Task* task, const CallStack& where) {
    const std::uint64_t number = 1 + count_.fetch_add(1, std::memory_order_relaxed);
    Shard& shard = shard_of(task);
    const std::lock_guard lock(shard.mutex);
    shard.creations[task] = {number, where};
  }
  void copy(const Task* from, const Task* to) {
    const Creation creation = of(from);
    if (creation.number == 0) return;
    Shard& shard = shard_of(to);
    const std::lock_guard lock(shard.mutex);
    shard.creations[to] = creation;
  }
  Creation of(const Task* task) {
    Shard& shard = shard_of(task);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.creations.find(task);
    return found == shard.creations.end() ? Creation{} : found->second;
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<const Task*, Creation> creations;
  };
  Shard& shard_of(const Task* task) {
    return shards_[reinterpret_cast<std::uintptr_t>(task) / 64 % shards_.size()];
  }

  std::array<Shard, 64> shards_;
  std::atomic<std::uint64_t> count_{0};
};

struct Owned {
  std::uintptr_t end = 0;
  std::uint64_t maker = 0;
};

/// The memory of all resources, by where it begins.
class Resources {
 public:
  void note(std::uintptr_t begin, Owned owned) {
    const std::lock_guard lock(mutex_);
    owned_[begin] = owned;
  }
  void forget(std::uintptr_t begin) {
    const std::lock_guard lock(mutex_);
    owned_.erase(begin);
  }
  /// The owned range that contains `address`; without an end if there is none.
  Owned containing(std::uintptr_t address) const {
    const std::shared_lock lock(mutex_);
    auto after = owned_.upper_bound(address);
    if (after == owned_.begin()) return {};
    const Owned& candidate = (--after)->second;
    return address < candidate.end ? candidate : Owned{};
  }
  Owned at(std::uintptr_t begin) const {
    const std::shared_lock lock(mutex_);
    const auto found = owned_.find(begin);
    return found == owned_.end() ? Owned{} : found->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, Owned> owned_;
};

/// A checked program has created a task. All others take no memory for the table.
std::atomic<bool> are_noted{false};

// Never destroyed: resources may be, after main.
Creations& creations() {
  static Creations& all = *std::make_unique<Creations>().release();
  return all;
}
Resources& resources() {
  static Resources& all = *std::make_unique<Resources>().release();
  return all;
}

[[noreturn]] void report(const Declared& declared, const std::string& what, const std::string& verb,
                         const CallStack& access) {
  const Task* const task = declared.task;
  const void* const address =
      task->code->is_function_pointer ? reinterpret_cast<const void*>(task->words[0]) : nullptr;
  const std::string name = function_name(address, *task->code->type);
  std::optional<std::uint64_t> timestamp;
  if (task->is_timestamped()) timestamp = timestamp_of(task);
  throw TaskError(errors::describe({name, timestamp}) + " " + what + ": it " + verb + " at " +
                      native::site_of(access) + ", and was created at " +
                      native::site_of(creations().of(task).where),
                  name, timestamp);
}

}  // namespace

void note_moved(const Task* from, const Task* to) {
  if (!are_noted.load(std::memory_order_relaxed)) return;
  try {
    creations().copy(from, to);
  } catch (const std::bad_alloc&) {
    // A report about the task lacks its place then. The caller may be the watch, which can tell no caller.
  }
}
void note_created(const Task* task) {
  are_noted.store(true, std::memory_order_relaxed);
  creations().note(task, native::call_stack());
}

/// A spec task runs alone and may touch everything.
Declared declared_by(const Task* task) {
  Declared declared{.task = task, .number = creations().of(task).number};
  if ((task->handle & handle::kResource) == 0 || task->is_spec()) return declared;
  const std::uintptr_t begin = task->handle & handle::kAddressMask;
  const Owned owned = resources().at(begin);
  if (owned.end == 0) return declared;
  declared.begin = begin;
  declared.end = owned.end;
  declared.reads = (task->handle & handle::kReads) != 0;
  return declared;
}

void note_resource(const void* object, std::size_t bytes, std::uint64_t maker) {
  const auto begin = reinterpret_cast<std::uintptr_t>(object);
  resources().note(begin, {begin + bytes, maker});
}

void forget_resource(const void* object) { resources().forget(reinterpret_cast<std::uintptr_t>(object)); }

void check_outside(const Declared& declared, const void* at, bool is_write) {
  const Owned owned = resources().containing(reinterpret_cast<std::uintptr_t>(at));
  if (owned.end == 0 || owned.maker == declared.number) return;
  report(declared, "touches another resource than the one that it is annotated with",
         is_write ? "writes" : "reads", native::call_stack());
}

void report_write_of_reader(const Declared& declared) {
  report(declared, "writes the resource that it is annotated to read", "writes", native::call_stack());
}

}  // namespace rubato::inline v0::engine::check
