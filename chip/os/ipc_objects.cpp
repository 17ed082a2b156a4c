// SPDX-License-Identifier: MIT
#include "chip/os/ipc_objects.hpp"

namespace rubato::chip {

IpcStatus status_of(const IpcHead& head, std::uint32_t more_modes) {
  constexpr std::int32_t kPlaces = 32768;
  IpcStatus status{};
  status.key = head.key;
  status.user = head.user;
  status.group = head.group;
  status.creator = status.creator_group = kGuestUser;
  status.mode = head.mode | more_modes;
  status.sequence = static_cast<std::uint16_t>(head.id / kPlaces);
  return status;
}

void set_rights(IpcHead& head, const IpcStatus& wanted) {
  head.user = wanted.user;
  head.group = wanted.group;
  head.mode = wanted.mode & ipc::kModes;
}

SemaphoreSet::Attempt SemaphoreSet::attempt(std::span<const SemaphoreOperation> operations,
                                            std::int32_t process) const {
  Attempt result;
  const auto own = adjustments.find(process);
  for (const SemaphoreOperation& operation : operations) {
    std::int32_t& value =
        result.values.try_emplace(operation.index, semaphores[operation.index].value).first->second;
    const bool waits = operation.change == 0 ? value != 0 : value + operation.change < 0;
    if (waits) {
      result.error = -EAGAIN;
      return result;
    }
    value += operation.change;
    if (value > kMostValue) {
      result.error = -ERANGE;
      return result;
    }
    if ((operation.flags & kUndo) != 0 && operation.change != 0) {
      const bool is_known = own != adjustments.end() && own->second.contains(operation.index);
      std::int32_t& taken_back =
          result.adjustments.try_emplace(operation.index, is_known ? own->second.at(operation.index) : 0)
              .first->second;
      taken_back -= operation.change;
      if (taken_back < -kMostValue - 1 || taken_back > kMostValue) {
        result.error = -ERANGE;
        return result;
      }
    }
    ++result.stopped_at;
  }
  return result;
}

void SemaphoreSet::perform(std::span<const SemaphoreOperation> operations, std::int32_t process,
                           const Attempt& attempt) {
  for (const SemaphoreOperation& operation : operations) semaphores[operation.index].last = process;
  for (const auto& [index, value] : attempt.values) semaphores[index].value = value;
  for (const auto& [index, taken_back] : attempt.adjustments) adjustments[process][index] = taken_back;
}

bool SemaphoreSet::undo(std::int32_t process) {
  const auto own = adjustments.find(process);
  if (own == adjustments.end()) return false;
  for (const auto& [index, taken_back] : own->second) {
    Semaphore& semaphore = semaphores[index];
    semaphore.value = std::clamp(semaphore.value + taken_back, 0, kMostValue);
    if (taken_back != 0) semaphore.last = process;
  }
  adjustments.erase(own);
  return true;
}

void SemaphoreSet::set(std::size_t index, std::int32_t value, std::int32_t process) {
  semaphores[index] = {value, process};
  for (auto& [other, own] : adjustments) own.erase(static_cast<std::uint16_t>(index));
}

}  // namespace rubato::chip
