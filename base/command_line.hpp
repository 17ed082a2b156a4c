// The command line of a program: options are declared one after another, then it is parsed. The parser is
// CLI11, whose headers take a compiler several seconds: command_line.cpp alone includes them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rubato {

/// A wrong command line: the message is one sentence that says what is wrong.
class CommandLineError : public std::runtime_error {
 public:
  explicit CommandLineError(const std::string& sentence, std::vector<std::string> words = {})
      : std::runtime_error(sentence), unexpected(std::move(words)) {}
  std::vector<std::string> unexpected;  ///< the words that no option takes, in their order, if that is wrong
};

/// Check of a whole number, for check(): digits only, below 2^64. @returns the error, or nothing.
std::string whole_number(const std::string& text);

/// Check of a positive number, for check(). @returns the error, or nothing.
std::string positive_number(const std::string& text);

class CommandLine {
 public:
  template <class T>
  using Meanings = std::initializer_list<std::pair<const char*, T>>;

  /// An option that has been declared; more can be said of it. Checks happen in the order of their
  /// declaration.
  class Option {
   public:
    explicit Option(CLI::Option* option) : option_(option) {}
    Option type_name(const std::string& name) const;
    Option needs(const Option& other) const;
    Option excludes(const Option& other) const;
    /// Adds a check: `wrong` returns the error in the value's text, or nothing.
    Option check(std::string (*wrong)(const std::string& text)) const;
    /// Both ends are in it. Number: int, unsigned, std::uint64_t or double; the error prints it as such.
    template <class Number>
    Option range(Number least, Number most) const;
    /// Sets `is_given` if the option is given.
    Option marks(bool& is_given) const;

   private:
    CLI::Option* option_;
  };

  CommandLine(const char* name, const std::string& description, const char* help_flags = "--help",
              const char* help = "This text");
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// `names`: such as "--cores,--workers", or a name without dashes for a word by its place. Value:
  /// std::string, a vector of them for an option that may repeat, unsigned, std::uint64_t, an optional one,
  /// or double.
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& help);
  Option add_flag(const std::string& names, bool& is_given, const std::string& help);

  /// An option whose value is one of a few names. T: an enumeration or a small integer.
  template <class T>
  Option add_choice(const std::string& name, T& value, Meanings<T> meanings, const std::string& help) {
    return add_choice(name, choices_of(meanings), target_of(value), help);
  }

  /// Stands under the options in the help text.
  void footer(const std::string& text);

  /// @returns false if it was asked for help, which is printed. @throws CommandLineError
  bool parse(int argc, char** argv);
  /// An empty value, as of a variable that a script did not set, must not choose the default.
  /// @throws CommandLineError
  void refuse_empty_values() const;

 private:
  struct Choice {
    std::string name;
    int meaning;
  };
  /// A variable of a type that only the caller knows.
  struct Target {
    void* value;
    void (*store)(void* value, int meaning);
  };
  template <class T>
  static Target target_of(T& value) {
    return {&value, [](void* to, int meaning) { *static_cast<T*>(to) = static_cast<T>(meaning); }};
  }
  template <class T>
  static std::vector<Choice> choices_of(Meanings<T> meanings) {
    std::vector<Choice> choices;
    for (const auto& [name, meaning] : meanings) choices.push_back({name, static_cast<int>(meaning)});
    return choices;
  }
  Option add_choice(const std::string& name, std::vector<Choice> choices, Target target,
                    const std::string& help);

  std::unique_ptr<CLI::App> app_;
};

}  // namespace rubato
