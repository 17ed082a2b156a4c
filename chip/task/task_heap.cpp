// The pairing heap of task_record.hpp.
// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

void TaskHeap::set_root(Task* root) {
  root_ = root;
  if (root == nullptr) return;
  root->heap_previous_ = nullptr;
  root->heap_next_ = nullptr;
  root->holder_ = this;
}

// Both are roots; the later becomes the first child of the earlier, which is returned.
Task* TaskHeap::link(Task* a, Task* b) {
  if (b->before(*a)) return link(b, a);
  b->heap_next_ = a->heap_child_;
  if (a->heap_child_ != nullptr) a->heap_child_->heap_previous_ = b;
  b->heap_previous_ = a;
  a->heap_child_ = b;
  return a;
}

// Two-pass pairing of a list of siblings; returns the root of what they become, null for an empty list.
Task* TaskHeap::combine(Task* first) {
  Task* pairs = nullptr;  // linked through heap_next_, last pair first
  while (first != nullptr) {
    Task* a = first;
    Task* b = a->heap_next_;
    first = b != nullptr ? b->heap_next_ : nullptr;
    Task* pair = b != nullptr ? link(a, b) : a;
    pair->heap_next_ = pairs;
    pairs = pair;
  }
  if (pairs == nullptr) return nullptr;
  Task* root = pairs;
  pairs = pairs->heap_next_;
  while (pairs != nullptr) {
    Task* next = pairs->heap_next_;
    root = link(root, pairs);
    pairs = next;
  }
  return root;
}

void TaskHeap::push(Task* task) {
  task->heap_child_ = nullptr;
  set_root(root_ == nullptr ? task : link(root_, task));
}

Task* TaskHeap::pop() {
  Task* top = root_;
  set_root(combine(top->heap_child_));
  top->heap_child_ = nullptr;
  top->holder_ = nullptr;
  return top;
}

void TaskHeap::meld(TaskHeap& other) {
  if (other.root_ == nullptr) return;
  Task* theirs = other.root_;
  other.root_ = nullptr;
  set_root(root_ == nullptr ? theirs : link(root_, theirs));
}

void TaskHeap::remove(Task* task) {
  if (task->heap_previous_ == nullptr) {
    RUBATO_DCHECK(task->holder_ != nullptr && task->holder_->root_ == task, "a task outside its heap");
    task->holder_->pop();
    return;
  }
  // The heap below the task takes its place: it is not earlier than the task, hence not than its parent.
  Task* previous = task->heap_previous_;
  Task* next = task->heap_next_;
  Task* below = combine(task->heap_child_);
  Task* successor = below != nullptr ? below : next;
  if (previous->heap_child_ == task) {
    previous->heap_child_ = successor;
  } else {
    previous->heap_next_ = successor;
  }
  if (below != nullptr) {
    below->heap_previous_ = previous;
    below->heap_next_ = next;
    if (next != nullptr) next->heap_previous_ = below;
  } else if (next != nullptr) {
    next->heap_previous_ = previous;
  }
  task->heap_child_ = task->heap_next_ = task->heap_previous_ = nullptr;
}

}  // namespace rubato::chip
