// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include "tm/abi/clone_index.hpp"
#include "tm/abi/types.hpp"
#include "tm/failure.hpp"
#include "tm/thread/transaction.hpp"

RUBATO_TM_EXPORT void _ITM_registerTMCloneTable(void* table, std::size_t count) {
  rubato::tm::add_clones(static_cast<const rubato::tm::Clone*>(table), count);
}
RUBATO_TM_EXPORT void _ITM_deregisterTMCloneTable(void* table) {
  rubato::tm::remove_clones(static_cast<const rubato::tm::Clone*>(table));
}

RUBATO_TM_EXPORT void* _ITM_getTMCloneOrIrrevocable(void* function) {
  if (void* const clone = rubato::tm::find_clone(function)) return clone;
  rubato::tm::become_irrevocable(*rubato_tm_current, function);
  return function;
}

RUBATO_TM_EXPORT void* _ITM_getTMCloneSafe(void* function) {
  if (void* const clone = rubato::tm::find_clone(function)) return clone;
  Dl_info info;
  if (dladdr(function, &info) != 0 && info.dli_fname != nullptr) {
    rubato::tm::fatal(
        "a transaction calls %s in %s + 0x%zx, which has no transactional clone: it was not compiled as "
        "transaction_safe with -fgnu-tm",
        info.dli_sname != nullptr ? info.dli_sname : "a function", info.dli_fname,
        static_cast<std::size_t>(static_cast<char*>(function) - static_cast<char*>(info.dli_fbase)));
  }
  rubato::tm::fatal("a transaction calls the function at %p, which has no transactional clone", function);
}
