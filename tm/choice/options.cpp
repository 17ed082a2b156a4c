// SPDX-License-Identifier: MIT
#include "tm/thread/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "tm/choice/adaptive.hpp"
#include "tm/failure.hpp"
#include "tm/hardware/presence.hpp"
#include "tm/thread/algorithm.hpp"
#include "tm/thread/records.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {

constinit Options options;

namespace {

struct Name {
  const char* name;
  AlgorithmId id;
};
#define RUBATO_TM_NAMED(name, table) {#name, AlgorithmId::name},
constexpr Name kOurs[] = {RUBATO_TM_ALGORITHMS(RUBATO_TM_NAMED)};
#undef RUBATO_TM_NAMED
/// GCC's methods and the nearest of ours (T50). All of GCC's write in place, so these do, too.
constexpr Name kGcc[] = {{"ml_wt", AlgorithmId::eager},      {"gl_wt", AlgorithmId::tml},
                         {"htm", AlgorithmId::rtm},          {"serialirr_onwrite", AlgorithmId::tml},
                         {"serialirr", AlgorithmId::serial}, {"serial", AlgorithmId::serial}};

template <std::size_t n>
const Name* find(const Name (&names)[n], const char* value) {
  for (const Name& name : names) {
    if (std::strcmp(name.name, value) == 0) return &name;
  }
  return nullptr;
}

/// Moves `text` behind `word` if it begins with it.
bool skip(const char*& text, const char* word) {
  const std::size_t length = std::strlen(word);
  if (std::strncmp(text, word, length) != 0) return false;
  text += length;
  return true;
}

/// adaptive or adaptive-all, and for tests with :N.
bool read_adaptive(const char* value) {
  if (!skip(value, "adaptive")) return false;
  const bool is_all = skip(value, "-all");
  unsigned long turns = 0;
  if (*value != '\0') {
    char* end = nullptr;
    if (value[0] != ':' || value[1] < '1' || value[1] > '9') return false;
    turns = std::strtoul(value + 1, &end, 10);
    if (*end != '\0' || turns > 1000000) return false;
  }
  options.turns = static_cast<std::uint32_t>(turns);
  options.may_keep_stores = is_all;
  return true;
}

/// Names for a sentence: "serial, eager or rtm".
class Enumeration {
 public:
  explicit Enumeration(std::size_t count) : count_(count) {}
  void add(const char* name, const char* behind = "") {
    const char* const before = added_ == 0 ? "" : added_ + 1 == count_ ? " or " : ", ";
    const int written =
        std::snprintf(text_ + length_, sizeof text_ - length_, "%s%s%s", before, name, behind);
    length_ = std::min(length_ + static_cast<std::size_t>(written), sizeof text_ - 1);
    ++added_;
  }
  const char* text() const { return text_; }

 private:
  std::size_t count_, added_ = 0, length_ = 0;
  char text_[128] = "";
};

Enumeration names_of_algorithms() {
  Enumeration names(kAlgorithmCount);
  for (const char* const name : kAlgorithmNames) names.add(name);
  return names;
}

Enumeration names_of_managers() {
  Enumeration names(std::size(kManagers));
  for (const NamedManager& one : kManagers) names.add(one.name, one.losses != 0 ? "[:N]" : "");
  return names;
}

/// Null: adaptive, the default.
const Name* read_method() {
  if (const char* const value = std::getenv("RUBATO_ITM_METHOD"); value != nullptr && *value != '\0') {
    if (const Name* const name = find(kOurs, value)) {
      options.may_keep_stores = true;
      return name;
    }
    if (read_adaptive(value)) return nullptr;
    warn("RUBATO_ITM_METHOD is '%s', expected adaptive, adaptive-all, %s; it is ignored", value,
         names_of_algorithms().text());
    return nullptr;
  }
  if (const char* const value = std::getenv("ITM_DEFAULT_METHOD"); value != nullptr && *value != '\0') {
    if (const Name* const name = find(kGcc, value)) {
      options.undo_always = std::strcmp(value, "serial") == 0;
      return name;
    }
    warn(
        "ITM_DEFAULT_METHOD is '%s', expected ml_wt, gl_wt, htm, serialirr_onwrite, serialirr or serial; it "
        "is ignored",
        value);
  }
  return nullptr;
}

void read_privatization() {
  const char* const value = std::getenv("RUBATO_ITM_PRIVATIZATION");
  if (value == nullptr || *value == '\0') return;
  options.trusts_values = std::strcmp(value, "values") == 0;
  if (!options.trusts_values && std::strcmp(value, "quiesce") != 0)
    warn("RUBATO_ITM_PRIVATIZATION is '%s', expected quiesce or values; it is ignored", value);
}

void read_clock() {
  const char* const value = std::getenv("RUBATO_ITM_CLOCK");
  if (value == nullptr || *value == '\0') return;
  options.is_clock_deferred = std::strcmp(value, "deferred") == 0;
  if (!options.is_clock_deferred && std::strcmp(value, "counter") != 0)
    warn("RUBATO_ITM_CLOCK is '%s', expected counter or deferred; it is ignored", value);
}

/// A power of two from `least` to `most`, or `usual`.
std::size_t read_power(const char* name, std::size_t least, std::size_t usual, std::size_t most) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return usual;
  char* end = nullptr;
  const unsigned long long number = std::strtoull(value, &end, 10);
  const bool is_number = *value >= '1' && *value <= '9' && *end == '\0';
  if (is_number && number >= least && number <= most && (number & (number - 1)) == 0) return number;
  warn("%s is '%s', expected a power of two from %zu to %zu; it is ignored", name, value, least, most);
  return usual;
}

void read_records() {
  records.set_count(read_power("RUBATO_ITM_ORECS", Records::kFewest, Records::kDefault, Records::kMost));
  records.set_stripe(read_power("RUBATO_ITM_STRIPE", Records::kSmallestStripe, Records::kDefaultStripe,
                                Records::kLargestStripe));
}

/// Null if there is none of this name.
const NamedManager* find_manager(const char* name, std::size_t length) {
  for (const NamedManager& one : kManagers) {
    if (std::strlen(one.name) == length && std::strncmp(one.name, name, length) == 0) return &one;
  }
  return nullptr;
}

/// NAME or NAME:N.
void read_manager() {
  const char* const value = std::getenv("RUBATO_ITM_MANAGER");
  if (value == nullptr || *value == '\0') return;
  const char* const colon = std::strchr(value, ':');
  const std::size_t length = colon != nullptr ? static_cast<std::size_t>(colon - value) : std::strlen(value);
  const NamedManager* const found = find_manager(value, length);
  std::uint32_t parameter = found != nullptr ? found->losses : 0;
  bool is_right = found != nullptr;
  if (is_right && colon != nullptr) {
    char* end = nullptr;
    const unsigned long number = std::strtoul(colon + 1, &end, 10);
    is_right = parameter != 0 && colon[1] >= '1' && colon[1] <= '9' && *end == '\0' && number <= 1000000;
    parameter = static_cast<std::uint32_t>(number);
  }
  if (!is_right) {
    warn("RUBATO_ITM_MANAGER is '%s', expected %s; it is ignored", value, names_of_managers().text());
    return;
  }
  options.manager = found->manager;
  options.manager_parameter = parameter;
}

/// A misspelt name would be a setting that has no effect.
void warn_of_unknown_names() {
  constexpr const char* kPrefix = "RUBATO_ITM_";
  constexpr const char* kKnown[] = {"METHOD", "MANAGER", "PRIVATIZATION", "ORECS", "STRIPE",
                                    "CLOCK",  "STATS",   "PROFILE",       "STACKS"};
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const char* name = *variable;
    const char* const end = std::strchr(name, '=');
    if (end == nullptr || !skip(name, kPrefix)) continue;
    const auto length = static_cast<std::size_t>(end - name);
    bool is_known = false;
    for (const char* const known : kKnown)
      is_known |= std::strlen(known) == length && std::strncmp(known, name, length) == 0;
    if (!is_known)
      warn(
          "%.*s is no setting; there are RUBATO_ITM_METHOD, _MANAGER, _PRIVATIZATION, _ORECS, _STRIPE, "
          "_CLOCK, _STATS, _PROFILE and _STACKS",
          static_cast<int>(end - *variable), *variable);
  }
}

}  // namespace

void choose_algorithm() {
  warn_of_unknown_names();
  read_manager();
  read_privatization();
  read_clock();
  read_records();
  const Name* const name = read_method();
  if (name == nullptr) {
    start_adapting();
    return;
  }
  AlgorithmId id = name->id;
  if (id == AlgorithmId::rtm) {
    if (const char* const reason = why_absent()) {
      warn("the method %s is not there (%s): the method is chosen while the program runs", name->name,
           reason);
      options.may_keep_stores = false;
      start_adapting();
      return;
    }
  }
  if (!algorithm(static_cast<std::uint32_t>(id)).prepare()) {
    warn("no memory for the algorithm %s: transactions run serially", name->name);
    id = AlgorithmId::serial;
  }
  shared.gate.change_algorithm(static_cast<std::uint32_t>(id));
}

}  // namespace rubato::tm
