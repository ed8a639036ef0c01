//===- CheckOptions.cpp - options and commands that do not go together ----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CheckOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace attn;

Error driver::checkArguments(ArrayRef<char *> arguments, ArrayRef<cl::SubCommand *> commands) {
  if (arguments.empty())
    return Error::success();
  StringRef first = arguments.front();
  auto isFirst = [&](cl::SubCommand *command) { return command->getName() == first; };
  auto active = find_if(commands, isFirst);
  bool hasCommand = active != commands.end();
  if (!hasCommand && !first.starts_with("-") && !first.contains('.') && !sys::fs::exists(first))
    return createStringError("expected a file, or one of the commands run, bench and tune, found '" + first + "'");
  for (StringRef argument : arguments) {
    StringRef name = argument.ltrim('-').split('=').first;
    if (!argument.starts_with("-") || name.empty() ||
        cl::getRegisteredOptions(hasCommand ? **active : cl::SubCommand::getTopLevel()).contains(name) ||
        cl::getRegisteredOptions().contains(name))
      continue;
    std::string names;
    for (cl::SubCommand *command : commands)
      if (cl::getRegisteredOptions(*command).contains(name))
        names += (names.empty() ? "" : " or ") + ("attnc " + command->getName()).str();
    if (!names.empty())
      return createStringError("expected " + argument.split('=').first + " with " + names + " only");
  }
  return Error::success();
}

Error driver::checkOptions(ArrayRef<cl::SubCommand *> commands, cl::OptionCategory &category) {
  auto active = find_if(commands, [](cl::SubCommand *command) { return bool(*command); });
  auto isOurs = [&](const cl::Option *option) { return is_contained(option->Categories, &category); };
  for (const auto &[name, option] : cl::getRegisteredOptions()) {
    if (option->getNumOccurrences() == 0)
      continue;
    if (active != commands.end()) {
      if (isOurs(option) && !option->Subs.contains(*active))
        return createStringError("expected an option of attnc " + (*active)->getName() + ", found " +
                                 (name.size() > 1 ? "--" : "-") + name + "; " +
                                 ((*active)->getName() == "run" && name == "o" ? "write --output=FILE.npy, " : "") +
                                 "see attnc " + (*active)->getName() + " --help");
      continue;
    }
    std::string names;
    for (cl::SubCommand *command : commands)
      if (auto other = cl::getRegisteredOptions(*command).find(name);
          !isOurs(option) && other != cl::getRegisteredOptions(*command).end() && isOurs(other->second))
        names += (names.empty() ? "" : " or ") + ("attnc " + command->getName()).str();
    if (!names.empty())
      return createStringError("expected --" + name + " with " + names + " only");
  }
  return Error::success();
}
