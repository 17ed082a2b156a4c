// SPDX-License-Identifier: MIT
#include "native/worker/seizure.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rubato::inline v0::native {

bool SeizureAtomics::prepare_barrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}
void SeizureAtomics::barrier() { syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); }

}  // namespace rubato::inline v0::native
