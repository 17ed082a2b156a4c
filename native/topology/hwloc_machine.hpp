// hwloc's view of the machine, for pinning and for memory of NUMA nodes. Only where hwloc is.
// SPDX-License-Identifier: MIT
#pragma once

#include <hwloc.h>

#include <initializer_list>

namespace rubato::inline v0::native {

/// CPUs and NUMA nodes. Never destroyed: threads are bound until the process has ended.
struct HwlocMachine {
  hwloc_topology_t topology = nullptr;
  bool is_loaded = false;
  HwlocMachine() {
    if (hwloc_topology_init(&topology) != 0) return;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    // Without the objects to which NUMA nodes belong every CPU would be on all nodes.
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_GROUP, HWLOC_OBJ_PACKAGE, HWLOC_OBJ_DIE})
      hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
#if HWLOC_API_VERSION >= 0x00020800
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                                           HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
#endif
    is_loaded = hwloc_topology_load(topology) == 0;
  }
  HwlocMachine(const HwlocMachine&) = delete;
  HwlocMachine& operator=(const HwlocMachine&) = delete;
};

/// Loaded by the first call, in about a millisecond.
inline const HwlocMachine& hwloc_machine() {
  static const HwlocMachine& loaded = *new const HwlocMachine;
  return loaded;
}

}  // namespace rubato::inline v0::native
