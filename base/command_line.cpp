// SPDX-License-Identifier: MIT
#include "base/command_line.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <system_error>

namespace rubato {

std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped != end || error == std::errc::invalid_argument) return "'" + text + "' is not a whole number";
  return error == std::errc{} ? std::string() : "'" + text + "' is larger than 2^64 - 1";
}

std::string positive_number(const std::string& text) {
  double number = 0;
  const bool is_positive = CLI::detail::lexical_cast(text, number) && number > 0;
  return is_positive ? std::string() : "'" + text + "' is not a positive number";
}

using Option = CommandLine::Option;

Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::needs(const Option& other) const { return Option(option_->needs(other.option_)); }
Option Option::excludes(const Option& other) const { return Option(option_->excludes(other.option_)); }
Option Option::check(std::string (*wrong)(const std::string& text)) const {
  return Option(option_->check(wrong));
}
template <class Number>
Option Option::range(Number least, Number most) const {
  return Option(option_->check(CLI::Range(least, most)));
}
Option Option::marks(bool& is_given) const {
  return Option(option_->each([&is_given](const std::string&) { is_given = true; }));
}
template Option Option::range(int, int) const;
template Option Option::range(unsigned, unsigned) const;
template Option Option::range(std::uint64_t, std::uint64_t) const;
template Option Option::range(double, double) const;

CommandLine::CommandLine(const char* name, const std::string& description, const char* help_flags,
                         const char* help)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_help_flag(help_flags, help);
}
CommandLine::~CommandLine() = default;

template <class Value>
Option CommandLine::add_option(const std::string& names, Value& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
template Option CommandLine::add_option(const std::string&, std::string&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option CommandLine::add_option(const std::string&, unsigned&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::optional<std::uint64_t>&,
                                        const std::string&);
template Option CommandLine::add_option(const std::string&, double&, const std::string&);

Option CommandLine::add_flag(const std::string& names, bool& is_given, const std::string& help) {
  return Option(app_->add_flag(names, is_given, help));
}

Option CommandLine::add_choice(const std::string& name, std::vector<Choice> choices, Target target,
                               const std::string& help) {
  std::string expected;
  for (const Choice& choice : choices) expected += (expected.empty() ? "" : "|") + choice.name;
  const auto choose = [name, expected, target, choices = std::move(choices)](const std::string& text) {
    for (const Choice& choice : choices) {
      if (choice.name == text) return target.store(target.value, choice.meaning);
    }
    throw CLI::ValidationError(name, "'" + text + "' is none of " + expected);
  };
  return Option(app_->add_option_function<std::string>(name, choose, help)->type_name(expected));
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }

bool CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ExtrasError& e) {
    throw CommandLineError(e.what(), app_->remaining());
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) throw CommandLineError(e.what());
    app_->exit(e);
    return false;
  }
  return true;
}

void CommandLine::refuse_empty_values() const {
  for (const CLI::Option* const option : app_->get_options()) {
    for (const std::string& value : option->results()) {
      if (!value.empty()) continue;
      const std::string name = option->get_name();
      throw CommandLineError(name + " has an empty value: write " + name + " " + option->get_type_name() +
                             ", or leave it out");
    }
  }
}

}  // namespace rubato
