// Actors by name, for starting up: a lock and a look-up (A15).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rubato/actor/actor.hpp"

namespace rubato::inline v0 {

namespace engine {
/// 0: no living actor has that name. Errors: TaskError if it does not understand one of `wanted`.
std::uint64_t find_actor(std::string_view name, const MessageType* const* wanted, std::size_t count);
}  // namespace engine

/// Errors: TaskError if the actor of that name does not understand one of Ms.
template <class... Ms>
std::optional<actor<Ms...>> find(std::string_view name) {
  const std::array<const engine::MessageType*, sizeof...(Ms)> wanted{&engine::message_type<Ms>...};
  const std::uint64_t handle = engine::find_actor(name, wanted.data(), wanted.size());
  if (handle == 0) return std::nullopt;
  return actor<Ms...>::of(handle);
}

}  // namespace rubato::inline v0
