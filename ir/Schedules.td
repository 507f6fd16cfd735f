// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For which machine code is made, and how the code of each kernel will look: what is chosen, as data that is printed,
// parsed and verified.

#ifndef SINTER_IR_SCHEDULES
#define SINTER_IR_SCHEDULES

include "ir/DialectBase.td"
include "mlir/IR/AttrTypeBase.td"

def Sinter_TargetAttr : AttrDef<Sinter_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "what the machine offers that code is made for";
  let description = [{
    The attribute `sinter.target` of a module. Passes, the cost model and back ends see machines only through it.

        #sinter.target<"x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", features = "+avx2,+fma", requires = "x86-64-v3",
                       capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>

    * `features` are those that code may use, in LLVM's words; `requires` what the loader looks for.
    * `capabilities`, sorted: `fma` (one instruction rounds once), `masked_memory` (masked loads and stores are cheap), `scaling` (one instruction for x * 2^n),
      `half_units` (a vector of half the width takes half of the time in units that multiply),
      `byte_pairs` (sums of two products of an unsigned and a signed byte, saturated to 16 bits),
      `bfloat_tiles` and `byte_tiles` (matrix units that multiply tiles of bf16, of bytes), `bfloat_rounding` (one instruction rounds f32 to bf16, denormals to 0).
    * `l1` is bytes x ways; all caches in bytes as one core may use them; `panel` is bytes of one row of a matrix in panels.
  }];
  let parameters = (ins StringRefParameter<"as --target says it">:$name, StringRefParameter<"LLVM triple">:$triple,
                        StringRefParameter<"LLVM CPU name">:$cpu, StringRefParameter<"LLVM feature string">:$features,
                        StringRefParameter<"features to check at load">:$required,
                        ArrayRefParameter<"::mlir::StringAttr", "sorted names">:$capabilities, "int64_t":$vectorBits, "int64_t":$registers,
                        "int64_t":$l1Bytes, "int64_t":$l1Ways, "int64_t":$l2Bytes, "int64_t":$l3Bytes, "int64_t":$lineBytes,
                        "int64_t":$panelBytes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The attribute of modules that holds one.
    static constexpr ::llvm::StringLiteral moduleAttr = "sinter.target";
    static bool isCapability(::llvm::StringRef name);
    bool has(::llvm::StringRef capability) const;
  }];
}

def Sinter_ScheduleAttr : AttrDef<Sinter_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how the code of one kernel looks";
  let description = [{
    Which emitter of the back end writes the kernel's loops, and what it may choose:

        #sinter.schedule<contraction, lanes = 16, tile = [14, 2], chunk = 2097152, packing = [1]>

    * `lanes`: elements side by side in a vector; 1 is scalar code.
    * `tile`: what is held in registers, in the emitter's own order (backends/README.md).
    * `chunk`: how much work a thread takes at once, in the emitter's unit.
    * `packing`: inputs that are constants and read in the emitter's order; `zeros`: inputs of which blocks of zeros are looked for.

    A field that the emitter does not choose is left out. The verifier asks for positive numbers; the back end for what fits the kernel.
  }];
  let parameters = (ins StringRefParameter<"name of the emitter">:$emitter, "int64_t":$lanes,
                        ArrayRefParameter<"int64_t">:$tile, "int64_t":$chunk,
                        ArrayRefParameter<"int64_t">:$packing, ArrayRefParameter<"int64_t">:$zeros);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool packs(int64_t input) const { return ::llvm::is_contained(getPacking(), input); }
    bool looksForZeros(int64_t input) const { return ::llvm::is_contained(getZeros(), input); }
  }];
}

#endif
