// The disciplines by name: a new one is a translation unit, a declaration here and a line in disciplines.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cached/core/engine.hpp"

namespace rubato::cached {

struct Discipline {
  std::string_view name;
  std::unique_ptr<CacheEngine> (*make)(const EngineOptions&, const Clock&);
};

/// All there are; the first is the default.
std::span<const Discipline> disciplines();
/// Their names with `between` between them.
std::string discipline_names(std::string_view between);
/// Null if there is none of that name.
const Discipline* find_discipline(std::string_view name);

std::unique_ptr<CacheEngine> make_locks_engine(const EngineOptions& options, const Clock& clock);
std::unique_ptr<CacheEngine> make_locks14_engine(const EngineOptions& options, const Clock& clock);
// With Boost.Context, and with RUBATO_TM.
std::unique_ptr<CacheEngine> make_tasks_engine(const EngineOptions& options, const Clock& clock);
std::unique_ptr<CacheEngine> make_tm_engine(const EngineOptions& options, const Clock& clock);
std::unique_ptr<CacheEngine> make_tm_it_engine(const EngineOptions& options, const Clock& clock);

}  // namespace rubato::cached
