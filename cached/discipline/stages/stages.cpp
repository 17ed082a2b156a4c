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
template <class D>
constexpr Discipline kDiscipline = {D::kName, make<D>};
template <template <class> class Branch, Stage S>
constexpr Discipline kStage = kDiscipline<Branch<StageAccess<S>>>;

}  // namespace

std::span<const Discipline> disciplines() {
  static constexpr Discipline kAll[] = {
      {"locks", make_locks_engine}, kDiscipline<ConditionLocks>,   kDiscipline<SemaphoreLocks>,
      kStage<TmIp, Stage::relaxed>, kStage<TmIp, Stage::callable>, kStage<TmIp, Stage::max>,
      kStage<TmIp, Stage::lib>,     kStage<TmIt, Stage::relaxed>,  kStage<TmIt, Stage::callable>,
      kStage<TmIt, Stage::max>,     kStage<TmIt, Stage::lib>,
  };
  return kAll;
}

}  // namespace rubato::cached
