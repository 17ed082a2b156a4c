// Executors of requests. Disciplines whose critical sections are entered by the thread that asks have none.
// `tasks` has one, since its sections are tasks. Its workers turn the event loops, too, so that requests are
// served on the worker that received them.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

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

/// An event loop that receives requests.
class RequestSource {
 public:
  /// Waits, if it may, until there is something to do, and does what there is. False: it was stopped.
  virtual bool turn(bool may_wait) = 0;
  /// Runs f in a turn; from any thread.
  virtual void post(std::function<void()> f) = 0;
  /// The executor calls it last: the source was stopped, no request from it is left, and no thread turns it.
  virtual void ended() = 0;

 protected:
  ~RequestSource() = default;
};

class Executor {
 public:
  /// Turns it from now on, until it is stopped, in one thread. All of them before other threads ask anything
  /// of the engine, and these end before the sources do; at most EngineOptions::threads.
  virtual void serve(RequestSource& source) = 0;
  /// In a source's turn. Calls `work.work()`, which may go on when this returns. Errors: std::bad_alloc,
  /// before it has begun.
  virtual void execute(RequestWork& work) = 0;
  /// In `work()`: from here on it keeps no other request from its turn, until it calls the engine again.
  virtual void step_aside() = 0;

 protected:
  ~Executor() = default;
};

}  // namespace rubato::cached
