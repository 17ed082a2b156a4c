// Keys of tasks and of their order: task, conflict and arbiter.
// SPDX-License-Identifier: MIT
#include "chip/config/keys/declare.hpp"
#include "chip/config/keys/groups.hpp"

namespace rubato::chip {

void add_task_keys(std::vector<Key>& k) {
  k.push_back(number("task.task_queue", RUBATO_MEMBER(task.task_queue), "entries", 4, 65536,
                     "Task-queue entries a core; a tile's task queue has the sum.", kTable));
  k.push_back(number("task.commit_queue", RUBATO_MEMBER(task.commit_queue), "entries", 1, 65536,
                     "Commit-queue entries a core; a tile's commit queue has the sum.", kTable));
  k.push_back(number("task.send_buffer", RUBATO_MEMBER(task.send_buffer), "entries", 2, 65536,
                     "Created tasks of a tile that wait for their destination's acknowledgement.", kTable));
  k.push_back(number("task.tracked_children", RUBATO_MEMBER(task.tracked_children), "tasks", 1, 64,
                     "Children a speculative task may create before the next one is an exception.", kSwarm));
  k.push_back(number("task.create_cycles", RUBATO_MEMBER(task.create_cycles), "cycles", 1, 1000,
                     "Cycles of a create instruction.", kTable));
  k.push_back(number("task.dequeue_cycles", RUBATO_MEMBER(task.dequeue_cycles), "cycles", 1, 1000,
                     "Cycles a core takes to begin a task given to it.", kTable));
  k.push_back(number("task.finish_cycles", RUBATO_MEMBER(task.finish_cycles), "cycles", 1, 1000,
                     "Cycles of a finish instruction.", kTable));
  k.push_back(
      plain("task.capsules", RUBATO_MEMBER(task.capsules),
            "Capsules have their rights; false: their memory is tracked, and what they do is speculative, "
            "as in all other code.",
            "Espresso, Sec. IV"));
  k.push_back(number("task.abort_handler_cycles", RUBATO_MEMBER(task.abort_handler_cycles), "cycles", 1, 1000,
                     "Cycles in which a capsule registers an abort handler.", kOurs));
  k.push_back(number("task.capsule_handlers", RUBATO_MEMBER(task.capsule_handlers), "tasks", 1, 4096,
                     "Abort handlers that one capsule call may register.", kOurs));
  k.push_back(number(
      "task.handler_records", RUBATO_MEMBER(task.handler_records), "tasks", 1, 65536,
      "Abort handlers that each core keeps, of attempts whose fate is open and those not yet read to be "
      "run; where too few are left for a capsule call, its task goes on non-speculatively.",
      kOurs));
  k.push_back(number("task.capsule_stack", RUBATO_MEMBER(task.capsule_stack), "bytes", 1024, 131072,
                     "Bytes of stack that a speculative task must have left to call a capsule.", kOurs));
  k.push_back(number("task.capsule_call_cycles", RUBATO_MEMBER(task.capsule_call_cycles), "cycles", 0, 1000,
                     "Cycles of a capsule call beyond the load of its vector entry.", kOurs));
  k.push_back(choice("task.mayspec", RUBATO_MEMBER(task.mayspec), {"mayspec", "spec", "nonspec"},
                     "What MAYSPEC tasks run as: one program serves all modes.", "Espresso, Sec. VI"));
  k.push_back(number("task.yield_aborts", RUBATO_MEMBER(task.yield_aborts), "attempts", 0, 65536,
                     "From so many attempts aborted by one non-speculative task on, MAYSPEC tasks that it "
                     "aborts wait until its timestamp is over; 0: they never do.",
                     kOurs));
  k.push_back(choice(
      "task.throttle", RUBATO_MEMBER(task.throttle), {"reach", "none"},
      "reach: if many MAYSPEC attempts are aborted, trials choose what commits tasks fastest: no limit of "
      "how far ahead of the GVT they speculate, limits that tiles learn, or no speculation; none: no limit.",
      kOurs));
  k.push_back(number("task.throttle_entries", RUBATO_MEMBER(task.throttle_entries), "entries", 1, 65536,
                     "Entries of a tile's throttle table, for task functions and their locales.", kOurs));
  k.push_back(
      number("task.spare_workers", RUBATO_MEMBER(task.spare_workers), "threads", 0, 16,
             "Worker threads a tile beyond one a core: so many more tasks may run while others wait in "
             "system calls.",
             kOurs));
  k.push_back(number("task.spill_batch", RUBATO_MEMBER(task.spill_batch), "tasks", 1, 1024,
                     "Tasks that one spill moves to memory.", kTable));
  k.push_back(number("task.spill_threshold", RUBATO_MEMBER(task.spill_threshold), "share", 0.1, 1,
                     "Share of a tile's task queue in use from which on it spills.", kTable));
  k.push_back(number("task.uncommitted_share", RUBATO_MEMBER(task.uncommitted_share), "share", 0.1, 1,
                     "Share of a tile's task queue that children of uncommitted parents may fill.", kOurs));
  k.push_back(plain("task.unlimited_queues", RUBATO_MEMBER(task.unlimited_queues),
                    "Study: task and commit queues of any length, so nothing spills or stalls.", kOurs));
  k.push_back(
      choice("task.mapper", RUBATO_MEMBER(task.mapper), {"hash", "random"},
             "Which tile a task goes to: by the hash of its locale, or (study) those created as SPEC to "
             "random ones: the locale of a SPEC task then keeps only those of its tile away.",
             kSwarm));
}

void add_conflict_keys(std::vector<Key>& k) {
  k.push_back(choice("conflict.sets", RUBATO_MEMBER(conflict.sets), {"bloom", "exact"},
                     "Read and write sets: Bloom filters as in hardware, or exact sets (study).", kTable));
  k.push_back(number("conflict.bloom_bits", RUBATO_MEMBER(conflict.bloom_bits), "bits", 64, 65536,
                     "Bits of a Bloom filter; a power of two.", kTable));
  k.push_back(number("conflict.bloom_ways", RUBATO_MEMBER(conflict.bloom_ways), "hashes", 1, 16,
                     "H3 hash functions of a Bloom filter.", kTable));
  k.push_back(choice("conflict.forwarding", RUBATO_MEMBER(conflict.forwarding), {"on", "stall", "abort"},
                     "What meets an earlier uncommitted write: uses it, stalls, or aborts (studies).",
                     kSwarm));
  k.push_back(plain("conflict.selective_aborts", RUBATO_MEMBER(conflict.selective_aborts),
                    "Aborts take dependent tasks only; false (study): all later tasks.", kSwarm));
  k.push_back(number("conflict.tile_check", RUBATO_MEMBER(conflict.tile_check), "cycles", 0, 1000,
                     "Cycles of a conflict check in a tile.", kTable));
  k.push_back(number("conflict.per_timestamp", RUBATO_MEMBER(conflict.per_timestamp), "cycles", 0, 1000,
                     "Cycles of a conflict check for each timestamp compared.", kTable));
  k.push_back(plain("conflict.free_checks", RUBATO_MEMBER(conflict.free_checks),
                    "Study: conflict checks take neither cycles nor messages.", kOurs));
}

void add_arbiter_keys(std::vector<Key>& k) {
  k.push_back(number("arbiter.period", RUBATO_MEMBER(arbiter.period), "cycles", 1, 1000000,
                     "Cycles between the samples of the tiles' virtual times.", kTable));
  k.push_back(plain("arbiter.delay", RUBATO_MEMBER(arbiter.delay),
                    "Rounds of the arbiter take time by hops and send messages; false (study): neither.",
                    kOurs));
}

}  // namespace rubato::chip
