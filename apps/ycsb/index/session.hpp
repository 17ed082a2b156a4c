// A thread's part in an index: it may follow links while the session lasts, and what it unlinks is freed once
// no other thread can hold a link to it. The same epochs as the native engine's (native/memory/epochs.hpp),
// without tasks: an operation is what a session refreshes between.
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "native/memory/epochs.hpp"
#include "rubato/resource.hpp"

namespace rubato::apps::ycsb::index {

/// No tasks: threads alone hold links.
struct ThreadEpochRules : native::EpochRules {
  static constexpr bool kCountsBirths = false;
};
using ThreadEpochs = native::BasicEpochs<ThreadEpochRules>;

/// A new node, on lines and huge pages like those of the task tree.
template <class Node, class... Args>
Node* make_node(Args&&... args) {
  return make_resource<Node>({}, std::forward<Args>(args)...).get();
}

template <class Node>
engine::ResourceHeader* header_of(Node* node) {
  return reinterpret_cast<engine::ResourceHeader*>(node) - 1;
}

/// Frees a node that no other thread has ever seen, or while nothing else runs.
template <class Node>
void free_node(Node* node) {
  engine::ResourceHeader* const header = header_of(node);
  header->destroy(header);
}

class Session {
 public:
  /// `member` of the epochs is this thread's alone, as long as the session lasts.
  Session(ThreadEpochs& epochs, unsigned member) : epochs_(epochs), self_(epochs.member(member)) {
    epochs_.unpark(self_);
  }
  ~Session() { epochs_.park(self_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Between two operations: the thread holds no link.
  void refresh() { epochs_.refresh(self_); }
  /// `node` is unlinked. It is destroyed once every session has been refreshed.
  template <class Node>
  void retire(Node* node) {
    epochs_.retire(self_, header_of(node));
  }

 private:
  ThreadEpochs& epochs_;
  engine::EpochMember& self_;
};

}  // namespace rubato::apps::ycsb::index
