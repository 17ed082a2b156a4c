// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "actors/lifecycle.hpp"
#include "base/function_names.hpp"
#include "rubato/actor/names.hpp"

namespace rubato::inline v0::engine {
namespace {

struct Named {
  std::uint64_t handle;
  const BehaviorType* type;
};
struct Names {
  std::mutex mutex;
  std::map<std::string, Named, std::less<>> all;
};
/// Never destroyed: actors may end after static objects.
Names& names() {
  static Names& instance = *new Names;
  return instance;
}

}  // namespace

void take_name(const std::string& name, const Cell& cell) {
  const std::lock_guard lock(names().mutex);
  if (!names().all.try_emplace(name, Named{cell.self, cell.type}).second)
    misuse("an actor is to be called '" + name + "', but another one of that name lives");
}
void forget_name(const std::string& name) {
  const std::lock_guard lock(names().mutex);
  names().all.erase(name);
}

std::uint64_t find_actor(std::string_view name, const MessageType* const* wanted, std::size_t count) {
  const std::lock_guard lock(names().mutex);
  const auto found = names().all.find(name);
  if (found == names().all.end()) return 0;
  const BehaviorType& type = *found->second.type;
  for (std::size_t i = 0; i < count; ++i) {
    const MessageType* const* const end = type.messages + type.message_count;
    if (std::find(type.messages, end, wanted[i]) == end)
      misuse("find(): the actor '" + std::string(name) + "' (" + function_name(nullptr, *type.type) +
             ") does not understand " + function_name(nullptr, *wanted[i]->type));
  }
  return found->second.handle;
}

}  // namespace rubato::inline v0::engine
