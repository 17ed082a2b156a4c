// The disciplines of rubato-cached-stages, in place of the product's: both branches at each stage before
// onCommit (T85). One unit, since GCC's clones of constructors for transactions cannot be in two.
// SPDX-License-Identifier: MIT
#include "cached/core/cache.hpp"
#include "cached/discipline/disciplines.hpp"
#include "cached/discipline/stages/tm_access.hpp"
#include "cached/discipline/stages/woken_locks.hpp"
#include "cached/discipline/tm_ip.hpp"
#include "cached/discipline/tm_it.hpp"

namespace rubato::cached {
namespace {

template <class D>
std::unique_ptr<CacheEngine> make(const EngineOptions& options, const Clock& clock) {
  return std::make_unique<Cache<D>>(options, clock);
}
template <template <class> class Branch, Stage S>
constexpr Discipline kDiscipline = {Branch<StageAccess<S>>::kName, make<Branch<StageAccess<S>>>};
template <class Locks>
constexpr Discipline kLocks = {Locks::kName, make<Locks>};

}  // namespace

std::span<const Discipline> disciplines() {
  static constexpr Discipline kAll[] = {
      {"locks", make_locks_engine},
      kLocks<ConditionLocks>,
      kLocks<SemaphoreLocks>,
      kDiscipline<TmIp, Stage::relaxed>,
      kDiscipline<TmIp, Stage::callable>,
      kDiscipline<TmIp, Stage::max>,
      kDiscipline<TmIp, Stage::lib>,
      kDiscipline<TmIt, Stage::relaxed>,
      kDiscipline<TmIt, Stage::callable>,
      kDiscipline<TmIt, Stage::max>,
      kDiscipline<TmIt, Stage::lib>,
  };
  return kAll;
}

}  // namespace rubato::cached
