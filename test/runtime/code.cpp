// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code sections: what the loader takes, and that it refuses everything else rather than crash.

#include "Files.h"
#include "Functions.h"
extern "C" {
#include "runtime/code.h"
}
#include "runtime/smod.h"
#include <cstring>
#include <elf.h>
#include <functional>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace sinter::test;

namespace {

/// An image that tests change; the parts are in the file's own bytes.
struct Image {
  std::string bytes = readFile(TEST_CODE);

  template <typename T> T &at(uint64_t offset) { return *reinterpret_cast<T *>(bytes.data() + offset); }
  Elf64_Ehdr &header() { return at<Elf64_Ehdr>(0); }
  Elf64_Phdr &segment(int index) {
    return at<Elf64_Phdr>(header().e_phoff + sizeof(Elf64_Phdr) * static_cast<size_t>(index));
  }
  int find(uint32_t type, uint32_t flags = 0) {
    for (int i = 0; i < header().e_phnum; ++i)
      if (segment(i).p_type == type && (segment(i).p_flags & flags) == flags)
        return i;
    ADD_FAILURE() << "no segment of type " << type;
    return 0;
  }
  Elf64_Phdr &of(uint32_t type, uint32_t flags = 0) { return segment(find(type, flags)); }
  /// Where an address lies in the file.
  uint64_t offsetOf(uint64_t address) {
    for (int i = 0; i < header().e_phnum; ++i)
      if (segment(i).p_type == PT_LOAD && address - segment(i).p_vaddr < segment(i).p_filesz)
        return segment(i).p_offset + (address - segment(i).p_vaddr);
    ADD_FAILURE() << "no such address " << address;
    return 0;
  }
  Elf64_Dyn &entry(int64_t tag) {
    for (Elf64_Dyn *dyn = &at<Elf64_Dyn>(of(PT_DYNAMIC).p_offset);; ++dyn)
      if (dyn->d_tag == tag || dyn->d_tag == DT_NULL) {
        EXPECT_EQ(dyn->d_tag, tag);
        return *dyn;
      }
  }
  Elf64_Rela &relocation(int index) {
    return at<Elf64_Rela>(offsetOf(entry(DT_RELA).d_un.d_val) + sizeof(Elf64_Rela) * static_cast<size_t>(index));
  }
  Elf64_Sym &symbol(int index) {
    return at<Elf64_Sym>(offsetOf(entry(DT_SYMTAB).d_un.d_val) + sizeof(Elf64_Sym) * static_cast<size_t>(index));
  }
};

sinter_status_code load(const std::string &bytes) {
  sinter_code *code;
  sinter_status_code status = sinter_code_load("it", bytes.data(), static_cast<int64_t>(bytes.size()), &code);
  EXPECT_EQ(code == nullptr, status != SINTER_OK);
  sinter_code_free(code);
  return status;
}

TEST(Code, IsLoadedWithoutAFileAndProtected) {
  Image image;
  sinter_code *code;
  ASSERT_EQ(sinter_code_load("it", image.bytes.data(), static_cast<int64_t>(image.bytes.size()), &code), SINTER_OK)
      << lastError();
  const sinter_function *function = sinter_code_functions(code)[0];
  EXPECT_STREQ(function->name, "scale");
  EXPECT_EQ(sinter_code_functions(code)[1], nullptr);
  // No page of it can be written and executed.
  std::ifstream maps("/proc/self/maps");
  std::string line, rights;
  auto address = reinterpret_cast<uintptr_t>(reinterpret_cast<void *>(function->entry));
  while (std::getline(maps, line)) {
    uint64_t begin, end;
    char found[8];
    ASSERT_EQ(sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, found), 3);
    if (address >= begin && address < end)
      rights = found;
  }
  EXPECT_EQ(rights, "r-xp");
  sinter_code_free(code);
}

TEST(Code, WhatOurLinkerDoesNotMakeIsRefused) {
  auto refuse = [](const std::function<void(Image &)> &change, const std::string &message,
                   sinter_status_code status = SINTER_CORRUPT) {
    Image image;
    change(image);
    EXPECT_EQ(load(image.bytes), status) << message;
    EXPECT_EQ(lastError(), "cannot load the code of 'it': " + message);
  };
  auto &&elf = "it requires a 64-bit little-endian shared object";
  refuse([](Image &i) { i.bytes.clear(); }, "it requires an ELF header");
  refuse([](Image &i) { i.bytes = "\177ELF and then nothing"; }, "it requires an ELF header");
  refuse([](Image &i) { i.header().e_ident[0] = 0; }, "it requires an ELF header");
  refuse([](Image &i) { i.header().e_ident[EI_CLASS] = ELFCLASS32; }, elf);
  refuse([](Image &i) { i.header().e_ident[EI_DATA] = ELFDATA2MSB; }, elf);
  refuse([](Image &i) { i.header().e_type = ET_EXEC; }, elf);
  refuse([](Image &i) { i.header().e_version = 0; }, elf);
#if defined(__x86_64__)
  refuse([](Image &i) { i.header().e_machine = EM_AARCH64; }, "it is for machine 183, this one is x86-64 (62)",
         SINTER_UNSUPPORTED);
#endif
  auto &&headers = "it requires at most 16 program headers, inside the file";
  refuse([](Image &i) { i.header().e_phentsize = 32; }, headers);
  refuse([](Image &i) { i.header().e_phnum = 17; }, headers);
  refuse([](Image &i) { i.header().e_phoff = ~0ull; }, headers);
  refuse([](Image &i) { i.header().e_phnum = 0; }, "it requires segments to load and a dynamic one");
  refuse([](Image &i) { i.of(PT_DYNAMIC).p_type = PT_PHDR; }, "it requires segments to load and a dynamic one");
  refuse([](Image &i) { i.of(PT_PHDR).p_type = PT_DYNAMIC; }, "it requires one dynamic and one relro segment");
  for (uint32_t type : {PT_INTERP, PT_TLS, PT_NOTE, PT_GNU_EH_FRAME}) {
    Image image;
    int index = image.find(PT_PHDR);
    char text[80];
    snprintf(text, sizeof text, "its segment %d is of type 0x%x", index, type);
    refuse([&](Image &i) { i.segment(index).p_type = type; }, text);
  }
  refuse([](Image &i) { i.of(PT_GNU_STACK).p_flags |= PF_X; }, "it requires a stack that is not executable");

  auto &&inside = "it requires segments inside the file";
  refuse([](Image &i) { i.of(PT_LOAD, PF_X).p_flags |= PF_W; },
         "it requires segments that are read-only, code or data");
  refuse([](Image &i) { i.of(PT_LOAD, PF_X).p_offset = ~0ull; }, inside);
  refuse([](Image &i) { i.of(PT_LOAD, PF_X).p_filesz = i.bytes.size(); }, inside);
  refuse([](Image &i) { i.of(PT_LOAD, PF_X).p_memsz = 0; }, inside);
  refuse([](Image &i) { i.of(PT_LOAD, PF_X).p_memsz = ~0ull; }, "it requires segments below 1 GiB");
  refuse([](Image &i) { i.of(PT_LOAD, PF_X).p_vaddr = 1ull << 40; }, "it requires segments below 1 GiB");
  refuse([](Image &i) { i.of(PT_LOAD, PF_X).p_vaddr = 0; }, "it requires segments in order, on pages of their own");
  refuse([](Image &i) { i.of(PT_LOAD, PF_X).p_align = 3; }, "it requires an alignment of at most 2 MiB");
  refuse([](Image &i) { i.of(PT_LOAD).p_vaddr = 1 << 20; }, "it requires segments from address 0");
  refuse([](Image &i) { i.of(PT_LOAD, PF_W).p_flags = PF_R | PF_X; }, "it requires one segment of code");
  refuse([](Image &i) { i.of(PT_LOAD, PF_X).p_offset = 0; }, "it requires segments that share no part of the file");
  refuse([](Image &i) { i.of(PT_GNU_RELRO).p_vaddr = 0; }, "it requires a relro segment inside a data segment");

  // The dynamic section.
  auto tag = [&](int64_t from, int64_t to) {
    char text[80];
    snprintf(text, sizeof text, "its dynamic section has an entry of tag 0x%lx", to);
    refuse([&](Image &i) { i.entry(from).d_tag = to; }, text);
  };
  for (int64_t to : {DT_INIT, DT_FINI, DT_INIT_ARRAY, DT_FINI_ARRAY, DT_PREINIT_ARRAY, DT_TEXTREL, DT_RPATH, DT_RUNPATH,
                     DT_REL, DT_SYMBOLIC, DT_DEBUG})
    tag(DT_RELACOUNT, to);
  refuse([](Image &i) { i.entry(DT_FLAGS).d_un.d_val = DF_STATIC_TLS; }, "it requires no dynamic flags but BIND_NOW");
  refuse([](Image &i) { i.entry(DT_FLAGS_1).d_un.d_val = DF_1_NODELETE; }, "it requires no dynamic flags but NOW");
  refuse([](Image &i) { i.entry(DT_RELACOUNT) = {DT_NEEDED, {1}}; }, "it requires no libraries but those of C");
  refuse([](Image &i) { i.entry(DT_RELACOUNT) = {DT_NEEDED, {~0ull}}; }, "it requires no libraries but those of C");
  refuse([](Image &i) { i.entry(DT_RELAENT).d_un.d_val = 16; },
         "it requires relocations and symbols of the sizes of ELF64");
  refuse([](Image &i) { i.entry(DT_GNU_HASH).d_tag = DT_RELACOUNT; },
         "it requires tables of symbols, strings and hashes");
  refuse([](Image &i) { i.entry(DT_STRSZ).d_un.d_val = ~0ull; }, "it requires tables of symbols, strings and hashes");
  refuse([](Image &i) { i.of(PT_DYNAMIC).p_memsz = 16; }, "it requires a dynamic section that ends");
  refuse([](Image &i) { i.of(PT_DYNAMIC).p_vaddr = ~0ull - 8; }, "it requires a dynamic section that ends");

  // Relocations and symbols.
  refuse([](Image &i) { i.entry(DT_RELASZ).d_un.d_val += 1; }, "it requires relocations inside its segments");
  refuse([](Image &i) { i.entry(DT_RELASZ).d_un.d_val = 24ull << 40; }, "it requires relocations inside its segments");
  refuse([](Image &i) { i.entry(DT_RELA).d_un.d_val = ~0ull; }, "it requires relocations inside its segments");
  refuse([](Image &i) { i.relocation(0).r_offset = 0; }, "it requires relocations of its data");
  refuse([](Image &i) { i.relocation(0).r_offset = ~0ull; }, "it requires relocations of its data");
  refuse([](Image &i) { i.relocation(0).r_addend = -1; }, "it requires relocations to its segments");
  refuse([](Image &i) { i.relocation(0).r_info = 37; }, "it has a relocation of type 37");
#if defined(__x86_64__)
  auto bySymbol = [](Image &i, uint64_t index) { i.relocation(0).r_info = index << 32 | R_X86_64_64; };
#else
  auto bySymbol = [](Image &i, uint64_t index) { i.relocation(0).r_info = index << 32 | R_AARCH64_ABS64; };
#endif
  refuse([&](Image &i) { bySymbol(i, 1 << 20); }, "it requires relocations by symbols that it has");
  refuse([&](Image &i) { bySymbol(i, 1), i.symbol(1).st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS); },
         "it requires symbols of functions and data");
  refuse([&](Image &i) { bySymbol(i, 1), i.symbol(1).st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC); },
         "it requires symbols of functions and data");
  refuse([&](Image &i) { bySymbol(i, 1), i.symbol(1).st_value = 1 << 30; }, "it requires symbols inside its segments");
  refuse([&](Image &i) { bySymbol(i, 1), i.symbol(1).st_shndx = SHN_UNDEF; },
         "it calls 'sinter_functions', which this runtime does not offer and the program has not registered "
         "(sinter_op_register)",
         SINTER_UNSUPPORTED);
  refuse([&](Image &i) { bySymbol(i, 1), i.symbol(1).st_shndx = SHN_UNDEF, i.symbol(1).st_name = ~0u; },
         "it requires symbols with names");

  Image none;
  none.symbol(1).st_shndx = SHN_UNDEF;
  EXPECT_EQ(load(none.bytes), SINTER_CORRUPT);
  EXPECT_EQ(lastError(), "'it' requires the symbol sinter_functions, found none");
  for (const char *nothing : {"", "a"}) {
    sinter_code *code;
    EXPECT_EQ(sinter_code_load(nullptr, nothing, 0, &code), SINTER_INVALID_ARGUMENT);
    EXPECT_EQ(lastError(), "loading code requires a name, an image and a place for the code");
  }
}

TEST(Code, ImportsAreThoseOfC) {
  EXPECT_NE(srtFindImport("tanhf"), nullptr);
  EXPECT_NE(srtFindImport("memcpy"), nullptr);
  EXPECT_EQ(srtFindImport("system"), nullptr);
  EXPECT_EQ(srtFindImport(""), nullptr);
  EXPECT_NEAR(reinterpret_cast<double (*)(double)>(srtFindImport("cbrt"))(27.0), 3.0, 1e-15);
}

/// Opens a module with this code, which is damaged before its hash is made.
sinter_status_code open(const std::string &path, const std::string &code) {
  static const float weights[] = {2, 0, 0, 0};
  sinter_smod_section sections[2] = {};
  sections[0].kind = SINTER_SMOD_CODE;
  sections[0].data = code.data();
  sections[0].bytes = static_cast<int64_t>(code.size());
  sections[1].kind = SINTER_SMOD_WEIGHTS;
  sections[1].data = weights;
  sections[1].bytes = sizeof weights;
  EXPECT_EQ(sinter_smod_write(path.c_str(), sections, 2), SINTER_OK) << lastError();
  sinter_module *module;
  sinter_status_code status = sinter_module_open(path.c_str(), nullptr, &module);
  sinter_module_close(module);
  return status;
}

/// All that is not instructions: headers, tables and the descriptions of functions, which are read at open.
TEST(Code, NoDamageOfItsTablesCrashesTheLoader) {
  Folder folder;
  Image image;
  Elf64_Phdr text = image.of(PT_LOAD, PF_X);
  uint64_t end = 0;
  for (int i = 0; i < image.header().e_phnum; ++i)
    if (image.segment(i).p_type == PT_LOAD)
      end = std::max(end, image.segment(i).p_offset + image.segment(i).p_filesz);
  int refused = 0, taken = 0;
  for (uint64_t at = 0; at < end; at += 5) { // all kinds of fields: none has a length that is a multiple of 5
    if (at >= text.p_offset && at < text.p_offset + text.p_filesz)
      continue;
    std::string bad = image.bytes;
    bad[at] ^= static_cast<char>(at % 3 == 0 ? 0xff : at % 3 == 1 ? 1 : 0x80);
    (open(folder.file("m.smod"), bad) == SINTER_OK ? taken : refused) += 1;
  }
  EXPECT_GT(refused, 80);
  EXPECT_GT(taken, 20) << "names, and what is not read";
}

TEST(Code, NoTruncationCrashesTheLoader) {
  Folder folder;
  Image image;
  const Elf64_Phdr &data = image.of(PT_LOAD, PF_W);
  for (uint64_t bytes = 0; bytes < data.p_offset + data.p_filesz; bytes += 67)
    EXPECT_NE(open(folder.file("m.smod"), image.bytes.substr(0, bytes)), SINTER_OK) << bytes;
}

TEST(Code, ADescriptionThatPointsElsewhereIsRefused) {
  Folder folder;
  Image image;
  int refused = 0;
  for (uint64_t i = 0; i < image.entry(DT_RELASZ).d_un.d_val / sizeof(Elf64_Rela); ++i) {
    Image bad; // the pointer stays what it is in the file: no address
    bad.relocation(static_cast<int>(i)).r_offset = bad.of(PT_GNU_RELRO).p_vaddr + bad.of(PT_GNU_RELRO).p_memsz - 8;
    if (bad.offsetOf(image.relocation(static_cast<int>(i)).r_offset))
      bad.at<uint64_t>(bad.offsetOf(image.relocation(static_cast<int>(i)).r_offset)) = 0x123456789000;
    if (open(folder.file("m.smod"), bad.bytes) == SINTER_OK)
      continue;
    ++refused;
    EXPECT_TRUE(lastError() == "description of a function requires all that it names inside its code" ||
                lastError() == "table of functions requires an end inside its code")
        << lastError();
  }
  EXPECT_GE(refused, 8);
}

} // namespace
