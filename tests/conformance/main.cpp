// The conformance suite's program. Without options it runs every case.
//   --list               names of the cases
//   --case NAME          only this one (may be repeated)
//   --types LIST         only cases of these task types, and untyped ones: nonspec,mayspec,spec
//   --list-errors        misuses: name, tab, regular expression of the sentence
//   --error NAME         does what must not be done; exit 3 and the sentence on stderr
// Exit: 0 all passed, 1 some failed, 2 wrong usage, 3 a misuse was reported.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "tests/conformance/harness.hpp"

namespace rubato::conformance {
namespace {

std::uint64_t failures_of_case = 0;

bool contains_word(const char* list, const char* word) {
  const std::size_t size = std::strlen(word);
  for (const char* at = list; at != nullptr; at = std::strchr(at, ',') ? std::strchr(at, ',') + 1 : nullptr) {
    if (std::strncmp(at, word, size) == 0 && (at[size] == ',' || at[size] == '\0')) return true;
  }
  return false;
}

const char* name_of(TaskType type) {
  switch (type) {
    case TaskType::spec:
      return "spec";
    case TaskType::nonspec:
      return "nonspec";
    default:
      return "mayspec";
  }
}

/// @returns whether the case passed.
bool run_case(const Case& c) {
  failures_of_case = 0;
  c.run();
  std::printf("%s: %s\n", c.name, failures_of_case == 0 ? "passed" : "failed");
  return failures_of_case == 0;
}

int run_error(const char* name) {
  for (const ErrorCase* c = first_error_case(); c != nullptr; c = c->next) {
    if (std::strcmp(c->name, name) != 0) continue;
#if defined(__riscv)
    c->run();  // the chip ends the program
#else
    try {
      c->run();
    } catch (const TaskError& e) {
      std::fprintf(stderr, "TaskError: %s\n", e.what());
      return 3;
    }
#endif
    std::printf("%s: nothing was reported\n", name);
    return 1;
  }
  std::fprintf(stderr, "no error case is called %s: see --list-errors\n", name);
  return 2;
}

int list() {
  for (const Case* c = first_case(); c != nullptr; c = c->next) std::printf("%s\n", c->name);
  return 0;
}

int list_errors() {
  for (const ErrorCase* c = first_error_case(); c != nullptr; c = c->next)
    std::printf("%s\t%s\n", c->name, c->sentence);
  return 0;
}

int run_cases(int argc, char** argv) {
  const char* types = "nonspec,mayspec,spec";
  bool is_selective = false;
  for (int i = 1; i < argc; i += 2) {
    const bool is_case = std::strcmp(argv[i], "--case") == 0;
    if (i + 1 == argc || (!is_case && std::strcmp(argv[i], "--types") != 0)) {
      std::fprintf(stderr, "expected --list, --list-errors, --error NAME, or --case NAME and --types LIST\n");
      return 2;
    }
    is_selective |= is_case;
    if (!is_case) types = argv[i + 1];
  }
  std::uint64_t ran = 0, failed = 0;
  for (const Case* c = first_case(); c != nullptr; c = c->next) {
    bool is_wanted = !is_selective && (!c->is_typed || contains_word(types, name_of(c->type)));
    for (int i = 1; i < argc; i += 2) {
      is_wanted |= std::strcmp(argv[i], "--case") == 0 && std::strcmp(argv[i + 1], c->name) == 0;
    }
    if (!is_wanted) continue;
    ++ran;
    if (!run_case(*c)) ++failed;
  }
  if (ran == 0) {
    std::fprintf(stderr, "no case is called so: see --list\n");
    return 2;
  }
  std::printf("%llu cases, %llu failed\ncheck: %s\n", static_cast<unsigned long long>(ran),
              static_cast<unsigned long long>(failed), failed == 0 ? "passed" : "failed");
  return failed == 0 ? 0 : 1;
}

}  // namespace

Case*& first_case() {
  static Case* first = nullptr;
  return first;
}
ErrorCase*& first_error_case() {
  static ErrorCase* first = nullptr;
  return first;
}
void fail(const char* file, int line, const char* what) {
  if (++failures_of_case <= 10) std::printf("%s:%d: expected %s\n", file, line, what);
}

}  // namespace rubato::conformance

int main(int argc, char** argv) {
  using namespace rubato::conformance;
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) return list();
  if (argc == 2 && std::strcmp(argv[1], "--list-errors") == 0) return list_errors();
  if (argc == 3 && std::strcmp(argv[1], "--error") == 0) return run_error(argv[2]);
  return run_cases(argc, argv);
}
