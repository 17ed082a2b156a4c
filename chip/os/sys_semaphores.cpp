// System calls on System V semaphores: semget, semop, semtimedop and semctl.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {
namespace sem {

constexpr std::int32_t kMostOfSet = 32000, kMostOperations = 500;
enum Command : std::int32_t {
  kLast = 11,
  kValue = 12,
  kValues = 13,
  kWaitForMore = 14,
  kWaitForZero = 15,
  kSetValue = 16,
  kSetValues = 17,
  kStatusAt = 18,
  kUsage = 19,
  kStatusAtAny = 20
};

struct SetStatus {
  IpcStatus rights;
  std::int64_t operated_at, changed_at;
  std::uint64_t semaphores, unused[2];
};
static_assert(sizeof(SetStatus) == 88);

/// struct seminfo.
struct Limits {
  std::int32_t map, sets, semaphores, undos, of_set, operations, undo_entries, undo_bytes, value, adjustment;
};

}  // namespace sem
}  // namespace

std::int64_t Process::Impl::sys_semget(Call& call) {
  const std::int32_t count = call.i32(1);
  if (count < 0 || count > sem::kMostOfSet) return -EINVAL;
  const auto make = [&](SemaphoreSet& set) -> std::int64_t {
    if (count == 0) return -EINVAL;
    set.semaphores.resize(static_cast<std::size_t>(count));
    set.changed_at = date();
    return 0;
  };
  return kernel.ipc.semaphores.get(
      call.i32(0), call.u32(2),
      [&](const SemaphoreSet& set) { return static_cast<std::size_t>(count) <= set.semaphores.size(); },
      make);
}

std::int64_t Process::Impl::sys_semop(Call& call) { return operate(call, std::nullopt); }

std::int64_t Process::Impl::sys_semtimedop(Call& call) {
  std::optional<std::uint64_t> deadline = call.info.wait.deadline;
  std::int64_t error = 0;
  const bool is_new = !call.is_retried();
  if (is_new && !read_deadline(call.a[3], false, false, deadline, error)) return error;
  return operate(call, deadline);
}

std::int64_t Process::Impl::operate(Call& call, std::optional<std::uint64_t> deadline) {
  auto& operations = call.info.wait.operations;
  std::vector<SemaphoreOperation> read;
  if (!call.is_retried()) {
    if (call.u32(2) == 0 || call.i32(0) < 0) return -EINVAL;
    if (call.u32(2) > sem::kMostOperations) return -E2BIG;
    read.resize(call.u32(2));
    if (!user.read(call.a[1], read.data(), read.size() * sizeof read.front())) return -EFAULT;
  }
  const std::span<const SemaphoreOperation> wanted = read.empty() ? operations : read;
  SemaphoreSet* set = nullptr;
  if (const auto error = kernel.ipc.semaphores.find(call.i32(0), set, call.is_retried()); error < 0)
    return error;
  const auto has = [&](auto&& is) { return std::any_of(wanted.begin(), wanted.end(), is); };
  if (has([&](const SemaphoreOperation& o) { return o.index >= set->semaphores.size(); })) return -EFBIG;
  const bool alters = has([](const SemaphoreOperation& o) { return o.change != 0; });
  if (!set->head.allows(alters ? ipc::kMayWrite : ipc::kMayRead)) return -EACCES;

  const SemaphoreSet::Attempt attempt = set->attempt(wanted, pid);
  if (attempt.error == 0) {
    set->perform(wanted, pid, attempt);
    set->operated_at = date();
    if (alters) files_changed = true;
    return 0;
  }
  const bool may_wait = attempt.error == -EAGAIN && !call.timed_out &&
                        (wanted[attempt.stopped_at].flags & ipc::kNoWait) == 0 &&
                        !(deadline && *deadline <= now());
  if (!may_wait) return attempt.error;
  Wait wait;
  wait.kind = WaitKind::files;
  wait.deadline = deadline;
  wait.operations = std::move(read);
  return block(call, std::move(wait));
}

void Process::Impl::undo_semaphores() {
  for (auto& [place, set] : kernel.ipc.semaphores) {
    if (!set.undo(pid)) continue;
    set.operated_at = date();
    files_changed = true;
  }
}

std::int64_t Process::Impl::count_waits(const SemaphoreSet& set, std::uint16_t index, bool for_zero) const {
  return std::count_if(file_waits.begin(), file_waits.end(), [&](const Thread* thread) {
    const ThreadInfo& of = info(*thread);
    if (of.wait.operations.empty() || static_cast<std::int32_t>(of.wait.arguments[0]) != set.head.id)
      return false;
    const auto attempt = set.attempt(of.wait.operations, of.pid);
    if (attempt.error != -EAGAIN) return false;
    const SemaphoreOperation& stopped = of.wait.operations[attempt.stopped_at];
    return stopped.index == index && (stopped.change == 0) == for_zero;
  });
}

std::int64_t Process::Impl::put_set_status(Call& call, const SemaphoreSet& set) {
  if (!set.head.allows(call.i32(2) == sem::kStatusAtAny ? 0 : ipc::kMayRead)) return -EACCES;
  sem::SetStatus status{};
  status.rights = status_of(set.head);
  status.operated_at = set.operated_at;
  status.changed_at = set.changed_at;
  status.semaphores = set.semaphores.size();
  if (!user.put(call.a[3], status)) return -EFAULT;
  return call.i32(2) == ipc::kStatus ? 0 : set.head.id;
}

// The value of one semaphore, or of all.
std::int64_t Process::Impl::ask_or_set_values(Call& call, SemaphoreSet& set) {
  const std::int32_t command = call.i32(2);
  const bool sets = command == sem::kSetValue || command == sem::kSetValues;
  const std::size_t count = set.semaphores.size();
  if (!set.head.allows(sets ? ipc::kMayWrite : ipc::kMayRead)) return -EACCES;
  if (command == sem::kValues || command == sem::kSetValues) {
    std::vector<std::uint16_t> values(count);
    if (command == sem::kSetValues) {
      if (!user.read(call.a[3], values.data(), count * 2)) return -EFAULT;
      if (*std::max_element(values.begin(), values.end()) > SemaphoreSet::kMostValue) return -ERANGE;
      for (std::size_t i = 0; i < count; ++i) set.set(i, values[i], pid);
      set.changed_at = date();
      files_changed = true;
      return 0;
    }
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(set.semaphores[i].value);
    return user.write(call.a[3], values.data(), count * 2) ? 0 : -EFAULT;
  }
  if (call.i32(1) < 0 || static_cast<std::size_t>(call.i32(1)) >= count) return -EINVAL;
  const auto index = static_cast<std::size_t>(call.i32(1));
  switch (command) {
    case sem::kValue:
      return set.semaphores[index].value;
    case sem::kLast:
      return set.semaphores[index].last;
    case sem::kWaitForMore:
    case sem::kWaitForZero:
      return count_waits(set, static_cast<std::uint16_t>(index), command == sem::kWaitForZero);
    default:
      break;
  }
  set.set(index, call.i32(3), pid);
  set.changed_at = date();
  files_changed = true;
  return 0;
}

std::int64_t Process::Impl::sys_semctl(Call& call) {
  auto& sets = kernel.ipc.semaphores;
  SemaphoreSet* set = nullptr;
  const std::int32_t command = call.i32(2);
  if (call.i32(0) < 0) return -EINVAL;
  if (command == ipc::kInfo || command == sem::kUsage) {
    sem::Limits bounds{1024000000,
                       IpcObjects::kMostOthers,
                       1024000000,
                       1024000000,
                       sem::kMostOfSet,
                       sem::kMostOperations,
                       sem::kMostOperations,
                       20,
                       SemaphoreSet::kMostValue,
                       SemaphoreSet::kMostValue};
    if (command == sem::kUsage) {
      bounds.undo_bytes = static_cast<std::int32_t>(sets.size());
      bounds.adjustment = 0;
      for (const auto& [place, one] : sets)
        bounds.adjustment += static_cast<std::int32_t>(one.semaphores.size());
    }
    return user.put(call.a[3], bounds) ? sets.last_place() : -EFAULT;
  }
  if (command == sem::kStatusAt || command == sem::kStatusAtAny) {
    const auto error = sets.at_place(call.i32(0), set);
    return error < 0 ? error : put_set_status(call, *set);
  }
  const bool is_of_values = command >= sem::kLast && command <= sem::kSetValues;
  if (!is_of_values && command != ipc::kStatus && command != ipc::kSet && command != ipc::kRemove)
    return -EINVAL;
  if (command == sem::kSetValue && (call.i32(3) < 0 || call.i32(3) > SemaphoreSet::kMostValue))
    return -ERANGE;
  const auto wanted = command == ipc::kSet ? user.get<IpcStatus>(call.a[3]) : IpcStatus{};
  if (!wanted) return -EFAULT;
  if (const auto error = sets.find(call.i32(0), set); error < 0) return error;
  if (is_of_values) return ask_or_set_values(call, *set);
  if (command == ipc::kStatus) return put_set_status(call, *set);
  if (command == ipc::kSet) {
    set_rights(set->head, *wanted);
    set->changed_at = date();
  } else {
    sets.remove(call.i32(0));
    files_changed = true;
  }
  return 0;
}

}  // namespace rubato::chip
