// Visit with a latch around it, and an operation as the loop of its visits: the work of threads and of oneTBB
// tasks.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "apps/ycsb/node_latch.hpp"
#include "apps/ycsb/visit.hpp"

namespace rubato::apps::ycsb {

/// A visit on behalf of `operation`. A write may need a follow-up.
template <class Latch>
Visited visit_latched(Link link, const Cursor& c, const Operation& operation, LatchedMemory<Latch>& memory,
                      std::optional<FollowUp>& follow_up) {
  Node& node = *link.node();
  Latch& latch = LatchedMemory<Latch>::latch_of(link);
  if (!c.is_writer()) return latch.read([&] { return read(link, node, operation.key, c, &operation); });
  return latch.write(
      [&] { return write(link, node, operation.key, operation.argument, c, memory, follow_up); });
}

template <class Latch>
Answer execute(Link root, const Operation& operation, std::uint8_t target, LatchedMemory<Latch>& memory);

template <class Latch>
void execute(Link root, const FollowUp& f, LatchedMemory<Latch>& memory) {
  execute(root, Operation{.key = f.key, .argument = f.child.word(), .kind = f.kind}, f.level, memory);
}

/// From the root to the answer, follow-ups included.
template <class Latch>
Answer execute(Link root, const Operation& operation, std::uint8_t target, LatchedMemory<Latch>& memory) {
  Link link = root;
  Cursor cursor(operation.kind, target);
  for (;;) {
    std::optional<FollowUp> follow_up;
    const Visited visited = visit_latched(link, cursor, operation, memory, follow_up);
    if (follow_up) execute(root, *follow_up, memory);
    if (!visited.next) return visited.answer;
    link = visited.next;
    cursor = visited.cursor;
  }
}

}  // namespace rubato::apps::ycsb
