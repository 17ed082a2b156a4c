// Program of the suite: its parameters, the part that its threads run and that is measured, and the check of
// the result. Transactions are in the programs alone; nothing here is compiled with -fgnu-tm.
// SPDX-License-Identifier: MIT
#pragma once

#include <barrier>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato::apps::stamp {

/// A size of the problem, a whole number.
struct Parameter {
  const char* name;
  std::uint64_t normal;  ///< makes the program run for 1 to 3 s on one thread
  std::uint64_t small;   ///< for tests
  std::uint64_t least;
  std::uint64_t most;
  const char* summary;
  std::uint64_t high = 0;  ///< with --contention high; 0: as without
};

/// The parameters' values, by name, and those that all programs have.
class Settings {
 public:
  unsigned threads = 1;
  std::uint64_t seed = 1;

  void set(std::string name, std::uint64_t value) { values_.emplace_back(std::move(name), value); }
  /// Value of a parameter that the program has; the one that was set last.
  std::uint64_t operator[](std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::uint64_t>> values_;
};

/// Thread of the measured part.
class Worker {
 public:
  Worker(unsigned index, unsigned threads, std::barrier<>& all)
      : index_(index), threads_(threads), all_(all) {}
  unsigned index() const { return index_; }
  bool is_first() const { return index_ == 0; }
  /// Waits until every thread has called it: earlier writes may be read plainly behind it.
  void wait_for_all() { all_.arrive_and_wait(); }
  /// The thread's share of `count` things: [first, second).
  std::pair<std::uint64_t, std::uint64_t> share(std::uint64_t count) const {
    return {count * index_ / threads_, count * (index_ + 1) / threads_};
  }

 private:
  unsigned index_, threads_;
  std::barrier<>& all_;
};

class Program {
 public:
  virtual ~Program() = default;
  /// The measured part: each thread calls it once.
  virtual void work(Worker& worker) = 0;
  /// Checks the result after the measured part, on one thread. @returns a sentence about an error; empty:
  /// none.
  virtual std::string check() = 0;
  /// A hash of the result. On one thread it is a function of parameters and seed.
  virtual std::uint64_t digest() = 0;
};

struct Description {
  const char* name;
  const char* summary;
  std::vector<Parameter> parameters;
  /// @throws InputError if parameters do not fit together.
  std::unique_ptr<Program> (*make)(const Settings&);
};

/// The whole main program: command line, input, measured part, check. @returns the exit code: 0, 1 if the
/// check failed, 2 wrong usage.
int run(const Description& description, int argc, char** argv);

}  // namespace rubato::apps::stamp
