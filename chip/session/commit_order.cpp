// SPDX-License-Identifier: MIT
#include "chip/session/commit_order.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {
namespace {

std::string text_of(bool has, std::uint64_t value) { return has ? fmt::format("{}", value) : "-"; }

}  // namespace

CommitOrder::CommitOrder(std::filesystem::path file, std::function<std::string(Addr)> symbol)
    : file_(std::move(file), "the commit order"), symbol_(std::move(symbol)) {
  file_.append("cycle\tcore\tid\tparent\ttype\ttimestamp\tlocale\tspeculative\tfunction\n");
}

void CommitOrder::on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor& descriptor, CoreId,
                             Cycle) {
  // A task that creates itself again is still its creator's child.
  if (const auto before = tasks_.find(parent); descriptor.is_again && before != tasks_.end() &&
                                               before->second.descriptor.arguments == descriptor.arguments)
    parent = before->second.parent;
  tasks_.insert_or_assign(id, Task{.parent = parent, .descriptor = descriptor});
}

void CommitOrder::on_dispatched(CoreId, const DispatchedTask& task, Cycle) {
  if (task.kind == DispatchedTask::Kind::guest) tasks_[task.id].speculative = task.speculative;
}

void CommitOrder::on_committed(std::uint64_t id, CoreId core, Cycle now, bool waits) {
  const auto found = tasks_.find(id);
  RUBATO_CHECK(found != tasks_.end());
  if (waits) {
    tasks_.erase(found);
    return;
  }
  const Task& task = found->second;
  const TaskDescriptor& d = task.descriptor;
  file_.append(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", now.value, core.value, id, task.parent,
                           name_of(d.type), text_of(d.has_timestamp, d.timestamp),
                           text_of(d.has_locale, d.locale), task.speculative ? 1 : 0,
                           name_of_function(d.name())));
  tasks_.erase(found);
}

const std::string& CommitOrder::name_of_function(Addr function) {
  const auto [it, is_new] = names_.try_emplace(function);
  if (is_new) it->second = symbol_(function);
  return it->second;
}

}  // namespace rubato::chip
