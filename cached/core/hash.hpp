// Hash functions of keys, chosen by `-o hash_algorithm` (T75): murmur3 (the default), jenkins, xxh3.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace rubato::cached {

using HashFunction = std::uint32_t (*)(std::string_view);

std::uint32_t hash_murmur3(std::string_view key);
std::uint32_t hash_jenkins(std::string_view key);
std::uint32_t hash_xxh3(std::string_view key);

/// The function of that name, or null.
HashFunction hash_named(std::string_view name);

}  // namespace rubato::cached
