// Where requests are worked through. Disciplines whose critical sections are entered by the thread that asks
// have no executor; `tasks` has one, since its sections are tasks that may run elsewhere.
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::cached {

/// Requests of one connection that have arrived together.
class RequestWork {
 public:
  /// Called once, possibly by another thread than the one that asked for it, and continued by others: it must
  /// not keep addresses of thread-local variables over calls of the engine. Throws nothing.
  virtual void work() = 0;

 protected:
  ~RequestWork() = default;
};

class Executor {
 public:
  /// Calls `work.work()`, which may go on when this returns. Errors: std::bad_alloc, before it has begun.
  virtual void execute(RequestWork& work) = 0;
  /// In `work()`: from here on it keeps no other request from its turn, until it calls the engine again.
  virtual void step_aside() = 0;

 protected:
  ~Executor() = default;
};

}  // namespace rubato::cached
