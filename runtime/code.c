// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "code.h"
#include "smod.h"
#include "status.h"
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined(__x86_64__)
enum {
  Machine = EM_X86_64,
  Relative = R_X86_64_RELATIVE,
  Absolute = R_X86_64_64,
  Slot = R_X86_64_JUMP_SLOT,
  Entry = R_X86_64_GLOB_DAT
};
static const char machineName[] = "x86-64";
#elif defined(__aarch64__)
enum {
  Machine = EM_AARCH64,
  Relative = R_AARCH64_RELATIVE,
  Absolute = R_AARCH64_ABS64,
  Slot = R_AARCH64_JUMP_SLOT,
  Entry = R_AARCH64_GLOB_DAT
};
static const char machineName[] = "aarch64";
#else
#error "code is loaded on x86-64 and aarch64"
#endif

enum { maxHeaders = 16, maxName = 256 };

/// An image on its way into memory. Addresses are the image's own; a load [low, high) is in pages.
typedef struct Image {
  const char *path;
  const char *file;
  uint64_t fileBytes;
  Elf64_Phdr loads[maxHeaders];
  int numLoads;
  Elf64_Phdr dynamic, relro;
  uint64_t page, alignment, high;
  char *base;
  // From the dynamic section.
  uint64_t symbols, strings, stringBytes, hash, relocations, relocationBytes, slots, slotBytes;
  const Devices *devices;
} Image;

static sinter_status_code refuse(const Image *image, const char *what) {
  return srtError(SINTER_CORRUPT, "cannot load the code of '%s': it requires %s", image->path, what);
}

//===- The file ------------------------------------------------------------------------------------===//

static int inFile(const Image *image, uint64_t offset, uint64_t bytes) {
  return offset <= image->fileBytes && bytes <= image->fileBytes - offset;
}

int srtIsCodeOfMachine(const void *file, int64_t bytes) {
  Elf64_Ehdr header;
  if (bytes < (int64_t)sizeof header)
    return 0;
  memcpy(&header, file, sizeof header);
  return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == Machine;
}

static sinter_status_code checkHeader(const Image *image, Elf64_Ehdr *header) {
  if (!inFile(image, 0, sizeof *header))
    return refuse(image, "an ELF header");
  memcpy(header, image->file, sizeof *header);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return refuse(image, "an ELF header");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT || header->e_type != ET_DYN)
    return refuse(image, "a 64-bit little-endian shared object");
  if (header->e_machine != Machine)
    return srtError(SINTER_UNSUPPORTED, "cannot load the code of '%s': it is for machine %u, this one is %s (%u)",
                    image->path, header->e_machine, machineName, Machine);
  if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > maxHeaders ||
      !inFile(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)))
    return refuse(image, "at most 16 program headers, inside the file");
  return SINTER_OK;
}

static sinter_status_code addLoad(Image *image, const Elf64_Phdr *load) {
  const uint64_t limit = SRT_MAX_CODE_BYTES;
  if (image->numLoads == 0 && load->p_vaddr >= image->page)
    return refuse(image, "segments from address 0");
  if (load->p_vaddr > limit || load->p_memsz > limit - load->p_vaddr)
    return refuse(image, "segments below 1 GiB");
  if (load->p_filesz > load->p_memsz || !inFile(image, load->p_offset, load->p_filesz))
    return refuse(image, "segments inside the file");
  if (load->p_align & (load->p_align - 1) || load->p_align > (UINT64_C(1) << 21))
    return refuse(image, "an alignment of at most 2 MiB");
  if (load->p_flags != PF_R && load->p_flags != (PF_R | PF_X) && load->p_flags != (PF_R | PF_W))
    return refuse(image, "segments that are read-only, code or data");
  if (image->numLoads && load->p_vaddr / image->page * image->page < image->high)
    return refuse(image, "segments in order, on pages of their own");
  for (int i = 0; i < image->numLoads; ++i) {
    const Elf64_Phdr *other = &image->loads[i];
    if (load->p_offset < other->p_offset + other->p_filesz && other->p_offset < load->p_offset + load->p_filesz)
      return refuse(image, "segments that share no part of the file");
    if ((load->p_flags & PF_X) && (other->p_flags & PF_X))
      return refuse(image, "one segment of code");
  }
  image->high = (load->p_vaddr + load->p_memsz + image->page - 1) / image->page * image->page;
  if (load->p_align > image->alignment)
    image->alignment = load->p_align;
  image->loads[image->numLoads++] = *load;
  return SINTER_OK;
}

static sinter_status_code readHeaders(Image *image) {
  Elf64_Ehdr header;
  sinter_status_code status = checkHeader(image, &header);
  for (int i = 0; !status && i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, image->file + header.e_phoff + (uint64_t)i * sizeof segment, sizeof segment);
    switch (segment.p_type) {
    case PT_LOAD:
      status = addLoad(image, &segment);
      break;
    case PT_DYNAMIC:
    case PT_GNU_RELRO: {
      Elf64_Phdr *place = segment.p_type == PT_DYNAMIC ? &image->dynamic : &image->relro;
      if (place->p_type != PT_NULL)
        return refuse(image, "one dynamic and one relro segment");
      *place = segment;
      break;
    }
    case PT_GNU_STACK:
      if (segment.p_flags & PF_X)
        return refuse(image, "a stack that is not executable");
      break;
    case PT_PHDR:
      break;
    default:
      return srtError(SINTER_CORRUPT, "cannot load the code of '%s': its segment %d is of type 0x%x", image->path, i,
                      segment.p_type);
    }
  }
  if (!status && (!image->numLoads || image->dynamic.p_type != PT_DYNAMIC))
    return refuse(image, "segments to load and a dynamic one");
  return status;
}

//===- Memory --------------------------------------------------------------------------------------===//

static sinter_status_code noMemory(const Image *image) {
  return srtError(SINTER_OUT_OF_MEMORY, "no memory for the code of '%s': %" PRIu64 " bytes", image->path, image->high);
}

/// Copies the segments to fresh memory that may be written, aligned as they ask.
static sinter_status_code copySegments(Image *image) {
  uint64_t room = image->high + image->alignment;
  char *start = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return noMemory(image);
  uint64_t lead = -(uintptr_t)start & (image->alignment - 1);
  if (lead)
    munmap(start, lead);
  if (image->alignment > lead)
    munmap(start + lead + image->high, image->alignment - lead);
  image->base = start + lead;
  for (int i = 0; i < image->numLoads; ++i)
    memcpy(image->base + image->loads[i].p_vaddr, image->file + image->loads[i].p_offset, image->loads[i].p_filesz);
  return SINTER_OK;
}

/// The segment that holds all of [address, address + bytes), or null.
static const Elf64_Phdr *findLoad(const Image *image, uint64_t address, uint64_t bytes) {
  for (int i = 0; i < image->numLoads; ++i) {
    const Elf64_Phdr *load = &image->loads[i];
    if (address >= load->p_vaddr && address - load->p_vaddr <= load->p_memsz &&
        bytes <= load->p_memsz - (address - load->p_vaddr))
      return load;
  }
  return NULL;
}

/// Reads `bytes` at an address of the image. Returns 0 when they are not all in one segment.
static int readAt(const Image *image, uint64_t address, void *value, uint64_t bytes) {
  if (!findLoad(image, address, bytes))
    return 0;
  memcpy(value, image->base + address, bytes);
  return 1;
}

static sinter_status_code protect(Image *image) {
  for (int i = 0; i < image->numLoads; ++i) {
    const Elf64_Phdr *load = &image->loads[i];
    uint64_t begin = load->p_vaddr / image->page * image->page;
    uint64_t end = (load->p_vaddr + load->p_memsz + image->page - 1) / image->page * image->page;
    int rights = PROT_READ | (load->p_flags & PF_X ? PROT_EXEC : load->p_flags & PF_W ? PROT_WRITE : 0);
    if (load->p_flags & PF_X)
      __builtin___clear_cache(image->base + begin, image->base + end);
    if (begin < end && mprotect(image->base + begin, end - begin, rights) != 0)
      return srtError(errno == ENOMEM ? SINTER_OUT_OF_MEMORY : SINTER_LIMIT,
                      "cannot load the code of '%s': this system does not let memory become %s: %s", image->path,
                      load->p_flags & PF_X ? "executable" : "read-only", strerror(errno));
  }
  const Elf64_Phdr *relro = &image->relro;
  if (relro->p_type != PT_GNU_RELRO)
    return SINTER_OK;
  const Elf64_Phdr *load = findLoad(image, relro->p_vaddr, relro->p_memsz);
  if (!load || !(load->p_flags & PF_W))
    return refuse(image, "a relro segment inside a data segment");
  uint64_t begin = relro->p_vaddr / image->page * image->page;
  uint64_t end = (relro->p_vaddr + relro->p_memsz) / image->page * image->page; // what shares its last page is data
  if (begin < end && mprotect(image->base + begin, end - begin, PROT_READ) != 0)
    return noMemory(image);
  return SINTER_OK;
}

//===- The dynamic section -------------------------------------------------------------------------===//

/// The name at `offset` of the string table, or null when it does not end there.
static const char *nameAt(const Image *image, uint64_t offset) {
  const char *strings = image->base + image->strings;
  if (offset >= image->stringBytes)
    return NULL;
  uint64_t room = image->stringBytes - offset;
  return memchr(strings + offset, 0, room < maxName ? room : maxName) ? strings + offset : NULL;
}

static sinter_status_code readDynamic(Image *image) {
  uint64_t count = image->dynamic.p_memsz / sizeof(Elf64_Dyn), i = 0, needed[4];
  uint64_t relocationEntry = sizeof(Elf64_Rela), symbolEntry = sizeof(Elf64_Sym), slotKind = DT_RELA;
  int numNeeded = 0;
  for (;; ++i) {
    Elf64_Dyn entry;
    if (i >= count || !readAt(image, image->dynamic.p_vaddr + i * sizeof entry, &entry, sizeof entry))
      return refuse(image, "a dynamic section that ends");
    uint64_t value = entry.d_un.d_val;
    if (entry.d_tag == DT_NULL)
      break;
    switch (entry.d_tag) {
    case DT_SYMTAB:
      image->symbols = value;
      break;
    case DT_STRTAB:
      image->strings = value;
      break;
    case DT_STRSZ:
      image->stringBytes = value;
      break;
    case DT_GNU_HASH:
      image->hash = value;
      break;
    case DT_RELA:
      image->relocations = value;
      break;
    case DT_RELASZ:
      image->relocationBytes = value;
      break;
    case DT_JMPREL:
      image->slots = value;
      break;
    case DT_PLTRELSZ:
      image->slotBytes = value;
      break;
    case DT_RELAENT:
      relocationEntry = value;
      break;
    case DT_SYMENT:
      symbolEntry = value;
      break;
    case DT_PLTREL:
      slotKind = value;
      break;
    case DT_NEEDED:
      if (numNeeded == 4)
        return refuse(image, "no libraries but those of C");
      needed[numNeeded++] = value;
      break;
    // Our linker writes these; what they say is done, or does not matter here.
    case DT_FLAGS:
      if (value & ~(uint64_t)DF_BIND_NOW)
        return refuse(image, "no dynamic flags but BIND_NOW");
      break;
    case DT_FLAGS_1:
      if (value & ~(uint64_t)DF_1_NOW)
        return refuse(image, "no dynamic flags but NOW");
      break;
    case DT_RELACOUNT:
    case DT_PLTGOT:
    case DT_VERSYM:
    case DT_VERNEED:
    case DT_VERNEEDNUM:
      break;
    default:
      return srtError(SINTER_CORRUPT,
                      "cannot load the code of '%s': its dynamic section has an entry of tag 0x%" PRIx64, image->path,
                      (uint64_t)entry.d_tag);
    }
  }
  if (relocationEntry != sizeof(Elf64_Rela) || symbolEntry != sizeof(Elf64_Sym) || slotKind != DT_RELA)
    return refuse(image, "relocations and symbols of the sizes of ELF64");
  if (!image->symbols || !image->hash || !findLoad(image, image->strings, image->stringBytes))
    return refuse(image, "tables of symbols, strings and hashes");
  for (int n = 0; n < numNeeded; ++n) {
    const char *name = nameAt(image, needed[n]);
    if (!name || (strcmp(name, "libm.so.6") != 0 && strcmp(name, "libc.so.6") != 0))
      return refuse(image, "no libraries but those of C");
  }
  return SINTER_OK;
}

//===- Symbols and relocations ---------------------------------------------------------------------===//

static uint32_t hashOf(const char *name) {
  uint32_t hash = 5381;
  for (; *name; ++name)
    hash = hash * 33 + (unsigned char)*name;
  return hash;
}

/// The address of the exported symbol `name`, by the image's GNU hash table; 0 when there is none or the table is
/// damaged.
static uint64_t findSymbol(const Image *image, const char *name) {
  uint32_t header[4], bucket, hash = hashOf(name); // buckets, first symbol, words of the filter, its shift
  if (!readAt(image, image->hash, header, sizeof header) || header[0] == 0)
    return 0;
  uint64_t buckets = image->hash + sizeof header + (uint64_t)header[2] * 8;
  uint64_t chains = buckets + (uint64_t)header[0] * 4;
  if (!readAt(image, buckets + (uint64_t)(hash % header[0]) * 4, &bucket, 4) || bucket < header[1])
    return 0;
  for (uint64_t i = bucket;; ++i) {
    uint32_t other;
    Elf64_Sym symbol;
    if (!readAt(image, chains + (i - header[1]) * 4, &other, 4) ||
        !readAt(image, image->symbols + i * sizeof symbol, &symbol, sizeof symbol))
      return 0;
    const char *found = (other | 1) == (hash | 1) ? nameAt(image, symbol.st_name) : NULL;
    if (found && strcmp(found, name) == 0 && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE)
      return symbol.st_value;
    if (other & 1)
      return 0;
  }
}

/// The address in this process of symbol `index`.
static sinter_status_code resolve(const Image *image, uint64_t index, uint64_t *address) {
  Elf64_Sym symbol;
  if (index > UINT32_MAX || !readAt(image, image->symbols + index * sizeof symbol, &symbol, sizeof symbol))
    return refuse(image, "relocations by symbols that it has");
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (type > STT_FUNC)
    return refuse(image, "symbols of functions and data");
  if (symbol.st_shndx != SHN_UNDEF) {
    if (symbol.st_shndx >= SHN_LORESERVE || !findLoad(image, symbol.st_value, 0))
      return refuse(image, "symbols inside its segments");
    *address = (uint64_t)(uintptr_t)(image->base + symbol.st_value);
    return SINTER_OK;
  }
  const char *name = nameAt(image, symbol.st_name);
  if (!name)
    return refuse(image, "symbols with names");
  *address = (uint64_t)(uintptr_t)srtFindImport(name);
  if (!*address)
    *address = (uint64_t)(uintptr_t)srtFindDevice(image->devices, name);
  if (!*address)
    *address = (uint64_t)(uintptr_t)sinter_op_find(name, 0);
  if (!*address && ELF64_ST_BIND(symbol.st_info) != STB_WEAK)
    return srtError(
        SINTER_UNSUPPORTED,
        "cannot load the code of '%s': it calls '%s', which this runtime does not offer and the program has not "
        "registered (sinter_op_register)",
        image->path, name);
  return SINTER_OK;
}

static sinter_status_code relocate(const Image *image, uint64_t table, uint64_t bytes) {
  if (bytes % sizeof(Elf64_Rela) || !findLoad(image, table, bytes))
    return refuse(image, "relocations inside its segments");
  for (uint64_t at = table; at < table + bytes; at += sizeof(Elf64_Rela)) {
    Elf64_Rela entry;
    memcpy(&entry, image->base + at, sizeof entry);
    const Elf64_Phdr *load = findLoad(image, entry.r_offset, 8);
    if (!load || !(load->p_flags & PF_W))
      return refuse(image, "relocations of its data");
    uint64_t type = ELF64_R_TYPE(entry.r_info), address;
    if (type == Relative) {
      if (!findLoad(image, (uint64_t)entry.r_addend, 0))
        return refuse(image, "relocations to its segments");
      address = (uint64_t)(uintptr_t)image->base + (uint64_t)entry.r_addend;
    } else if (type == Absolute || type == Slot || type == Entry) {
      sinter_status_code status = resolve(image, ELF64_R_SYM(entry.r_info), &address);
      if (status)
        return status;
      address += type == Absolute ? (uint64_t)entry.r_addend : 0;
    } else {
      return srtError(SINTER_CORRUPT, "cannot load the code of '%s': it has a relocation of type %" PRIu64, image->path,
                      type);
    }
    memcpy(image->base + entry.r_offset, &address, sizeof address);
  }
  return SINTER_OK;
}

//===- Both ----------------------------------------------------------------------------------------===//

static sinter_status_code loadImage(Image *image, Code *code) {
  sinter_status_code status = readHeaders(image);
  if (!status)
    status = copySegments(image);
  if (status)
    return status;
  code->base = image->base; // from here on srtUnloadCode frees it
  code->bytes = (int64_t)image->high;
  status = readDynamic(image);
  if (!status)
    status = relocate(image, image->relocations, image->relocationBytes);
  if (!status)
    status = relocate(image, image->slots, image->slotBytes);
  if (status)
    return status;
  uint64_t table = findSymbol(image, "sinter_functions");
  if (!table || !findLoad(image, table, sizeof(void *)) || table % sizeof(void *))
    return srtError(SINTER_CORRUPT, "'%s' requires the symbol sinter_functions, found none", image->path);
  code->functions = (const void *)(image->base + table);
  for (int i = 0; i < image->numLoads; ++i)
    if (image->loads[i].p_flags & PF_X) {
      code->text = (int64_t)image->loads[i].p_vaddr;
      code->textBytes = (int64_t)image->loads[i].p_memsz;
    }
  return protect(image);
}

sinter_status_code srtLoadCode(const char *path, const void *file, int64_t bytes, const Devices *devices, Code *code) {
  *code = (Code){0};
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  Image image = {
      .path = path, .file = file, .fileBytes = (uint64_t)bytes, .page = page, .alignment = page, .devices = devices};
  sinter_status_code status = bytes > SRT_MAX_CODE_BYTES ? refuse(&image, "at most 1 GiB") : loadImage(&image, code);
  if (status)
    srtUnloadCode(code);
#if defined(PR_SET_VMA) && defined(PR_SET_VMA_ANON_NAME)
  else // for those who look at /proc/PID/maps; older kernels do not take names
    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, code->base, code->bytes, "sinter code");
#endif
  return status;
}

void srtUnloadCode(Code *code) {
  if (code->base)
    munmap(code->base, (size_t)code->bytes);
  *code = (Code){0};
}

int srtCodeHolds(const Code *code, const void *pointer, int64_t bytes) {
  uintptr_t at = (uintptr_t)pointer, base = (uintptr_t)code->base;
  return at >= base && at - base <= (uintptr_t)code->bytes && bytes >= 0 &&
         (uint64_t)bytes <= (uint64_t)code->bytes - (at - base);
}

int srtCodeRuns(const Code *code, const void *pointer) {
  uintptr_t at = (uintptr_t)pointer, text = (uintptr_t)code->base + (uintptr_t)code->text;
  return at >= text && at - text < (uintptr_t)code->textBytes;
}

//===- For the compiler ----------------------------------------------------------------------------===//

sinter_status_code sinter_code_load(const char *name, const void *image, int64_t bytes, sinter_code **code) {
  if (!name || !image || bytes < 0 || !code)
    return srtError(SINTER_INVALID_ARGUMENT, "loading code requires a name, an image and a place for the code");
  *code = malloc(sizeof **code);
  if (!*code)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for the code of '%s'", name);
  sinter_status_code status = srtLoadCode(name, image, bytes, NULL, *code);
  if (status) {
    free(*code);
    *code = NULL;
  }
  return status;
}

const sinter_function *const *sinter_code_functions(const sinter_code *code) { return code->functions; }

void sinter_code_free(sinter_code *code) {
  if (!code)
    return;
  srtUnloadCode(code);
  free(code);
}
