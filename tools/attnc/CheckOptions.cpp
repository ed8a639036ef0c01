//===- CheckOptions.cpp - options and commands that exclude each other ----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CheckOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace attn;

/// "attnc run or attnc bench": the commands with an option of this name.
template <typename Predicate>
static std::string listCommands(ArrayRef<cl::SubCommand *> commands, StringRef name, Predicate isWanted) {
  std::string names;
  for (cl::SubCommand *command : commands)
    if (auto found = cl::getRegisteredOptions(*command).find(name);
        found != cl::getRegisteredOptions(*command).end() && isWanted(found->second))
      names += (names.empty() ? "attnc " : " or attnc ") + command->getName().str();
  return names;
}

/// The value after =, or the next argument if the option requires a value: "" is then one of its words.
static StringRef getWord(ArrayRef<char *> arguments, size_t position, const driver::OptionWords &option) {
  StringRef argument(arguments[position]);
  bool isNext = !argument.contains('=') && !is_contained(option.words, StringRef()) && position + 1 < arguments.size();
  return isNext ? StringRef(arguments[position + 1]) : argument.split('=').second;
}

/// Reports a file given to a command that takes none.
static Error checkPositionals(ArrayRef<char *> arguments, cl::SubCommand &command) {
  if (!command.PositionalOpts.empty())
    return Error::success();
  const auto &known = cl::getRegisteredOptions(command);
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument(arguments[i]);
    if (!argument.starts_with("-"))
      return createStringError("expected --problem=LINE or --problems=FILE with attnc " + command.getName() +
                               ", found '" + argument + "'; IR has schedules by hand, --schedule");
    auto found = known.find(argument.ltrim('-'));
    bool isNext = found != known.end() && found->second->getValueExpectedFlag() == cl::ValueRequired;
    i += isNext; // the value of -o FILE
  }
  return Error::success();
}

Error driver::explainArguments(ArrayRef<char *> arguments, ArrayRef<cl::SubCommand *> commands,
                               ArrayRef<OptionWords> options, StringRef message) {
  StringRef first = arguments.empty() ? "" : arguments.front();
  auto active = find_if(commands, [&](cl::SubCommand *command) { return command->getName() == first; });
  const auto &known = cl::getRegisteredOptions(active == commands.end() ? cl::SubCommand::getTopLevel() : **active);
  if (active == commands.end())
    if (Error error = checkIsFile(first, commands))
      return error;
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef option = StringRef(arguments[i]).split('=').first, name = option.ltrim('-');
    if (auto found = find_if(options, [&](const OptionWords &words) { return words.option == name; });
        found != options.end() && option.starts_with("-")) {
      StringRef word = getWord(arguments, i, *found);
      auto isShown = [](StringRef known) { return !known.empty(); };
      if (!is_contained(found->words, word))
        return createStringError("expected " + option + " to be one of " +
                                 join(make_filter_range(found->words, isShown), ", ") + ", found '" + word + "'");
    }
    if (!option.starts_with("-") || known.contains(name) || cl::getRegisteredOptions().contains(name))
      continue;
    std::string names = listCommands(commands, name, [](cl::Option *) { return true; });
    if (!names.empty())
      return createStringError("expected " + option + " with " + names + " only");
  }
  if (active != commands.end())
    if (Error error = checkPositionals(arguments.drop_front(), **active))
      return error;
  // For numbers, LLVM prints the reason on standard error itself.
  return createStringError(message.empty() ? "expected numbers that the options take, found another, named above"
                                           : message);
}

Error driver::checkIsFile(StringRef name, ArrayRef<cl::SubCommand *> commands) {
  if (name.empty() || name.starts_with("-") || name.starts_with("@") || sys::fs::exists(name))
    return Error::success();
  if (commands.empty() || name.contains('.') || name.contains('/'))
    return createFileError(name, std::make_error_code(std::errc::no_such_file_or_directory));
  auto getName = [](cl::SubCommand *command) { return command->getName(); };
  return createStringError("expected a file, or one of the commands " + join(map_range(commands, getName), ", ") +
                           ", found '" + name + "'");
}

Error driver::checkOptions(ArrayRef<cl::SubCommand *> commands, cl::OptionCategory &category) {
  auto active = find_if(commands, [](cl::SubCommand *command) { return bool(*command); });
  auto isOurs = [&](const cl::Option *option) { return is_contained(option->Categories, &category); };
  for (const auto &[name, option] : cl::getRegisteredOptions()) {
    if (option->getNumOccurrences() == 0)
      continue;
    if (active != commands.end()) {
      StringRef command = (*active)->getName();
      if (isOurs(option) && !option->Subs.contains(*active))
        return createStringError(
            "expected an option of attnc " + command + ", found " + (name.size() > 1 ? "--" : "-") + name + "; " +
            (command == "run" && name == "o" ? "write --output=FILE.npy, " : "") + "see attnc " + command + " --help");
      continue;
    }
    std::string names = isOurs(option) ? "" : listCommands(commands, name, isOurs);
    if (!names.empty())
      return createStringError("expected --" + name + " with " + names + " only");
  }
  return Error::success();
}
