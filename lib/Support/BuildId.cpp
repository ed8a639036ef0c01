//===- BuildId.cpp - the builds of attn, MLIR and LLVM in use -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attn/Support/BuildId.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <link.h>

using namespace llvm;

namespace {
/// Input and result of dl_iterate_phdr: the libraries that contain these addresses.
struct Search {
  ArrayRef<uintptr_t> addresses;
  std::string found;
};
} // namespace

/// The hex digits of the build id in a note segment; empty where there is none. Notes are aligned to 4 bytes.
static std::string findBuildId(const char *notes, size_t size) {
  constexpr StringLiteral kOwner("GNU");
  while (size >= sizeof(ElfW(Nhdr))) {
    auto *note = reinterpret_cast<const ElfW(Nhdr) *>(notes);
    const char *name = notes + sizeof(*note);
    size_t total = sizeof(*note) + alignTo(note->n_namesz, 4) + alignTo(note->n_descsz, 4);
    if (total > size)
      break;
    if (note->n_type == NT_GNU_BUILD_ID && StringRef(name, note->n_namesz).starts_with(kOwner))
      return toHex(StringRef(name + alignTo(note->n_namesz, 4), note->n_descsz));
    notes += total;
    size -= total;
  }
  return "";
}

static int visitLibrary(dl_phdr_info *info, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  ArrayRef<ElfW(Phdr)> headers(info->dlpi_phdr, info->dlpi_phnum);
  bool isOurs = any_of(headers, [&](const ElfW(Phdr) & header) {
    uintptr_t first = info->dlpi_addr + header.p_vaddr;
    return header.p_type == PT_LOAD && any_of(search.addresses, [&](uintptr_t address) {
             return address >= first && address - first < header.p_memsz;
           });
  });
  if (!isOurs)
    return 0;
  std::string id;
  for (const ElfW(Phdr) &header : headers)
    if (header.p_type == PT_NOTE && id.empty())
      id = findBuildId(reinterpret_cast<const char *>(info->dlpi_addr + header.p_vaddr), header.p_memsz);
  // Linked without an id: its file identifies the build.
  if (sys::fs::file_status status; id.empty() && !sys::fs::status(info->dlpi_name, status))
    id = (info->dlpi_name + Twine(':') + Twine(status.getSize()) + ":" +
          Twine(status.getLastModificationTime().time_since_epoch().count()))
             .str();
  search.found += id + ",";
  return 0;
}

std::string attn::getBuildIds(ArrayRef<uintptr_t> addresses) {
  Search search{addresses, ""};
  dl_iterate_phdr(visitLibrary, &search);
  return search.found;
}
