// SPDX-License-Identifier: MIT
#include "actors/steps.hpp"

#include "base/function_names.hpp"

namespace rubato::inline v0::engine {

Steps& steps() {
  static Steps& instance = *new Steps;
  return instance;
}

void Steps::note(std::uint64_t actor, const std::type_info& behavior, const std::type_info& message) {
  HandledMessage handled{rubato::actor<>::of(actor), function_name(nullptr, behavior),
                         function_name(nullptr, message)};
  const std::lock_guard lock(mutex_);
  handled_ = std::move(handled);
}

std::optional<HandledMessage> take_step() { return steps().take(); }

}  // namespace rubato::inline v0::engine
