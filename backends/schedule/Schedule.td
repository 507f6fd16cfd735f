// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's side of a compiled function: sizes, memory, launches of kernels and control flow, before any of it is code
// of a machine. Numbers are i64 and elements of tensors, computed by arith; branches and loops are those of scf; all
// that touches memory, kernels or the runtime is an op of this dialect.

#ifndef SINTER_BACKENDS_SCHEDULE
#define SINTER_BACKENDS_SCHEDULE

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Schedule_Dialect : Dialect {
  let name = "schedule";
  let cppNamespace = "::sinter::schedule";
  let summary = "what the host does to run a function: sizes, memory, launches, control flow";
  let description = [{
    A schedule is one function over buffers, made from a function of kernels by one plan of its memory (SchedulePlan) and
    lowered by each back end. An op that can fail ends the call with a status code; nothing after it runs then.

    Ops on the host's memory keep their order, and so do `output`, `acquire` and launches on the host. A launch of
    another back end (`on`) only has to come after the launches and copies before it that write what it reads or
    writes, and after those that read what it writes: its back end may run it at any time after that. Launches that are
    `ordered` run in the order of the text among themselves, whatever they read (as collectives must, on all ranks).
    The host waits for none of them but where the schedule says so (`wait`).
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===- types ---------------------------------------------------------------------------------===//

class Schedule_Type<string name, string mnemonic_, string summary_> : TypeDef<Schedule_Dialect, name> {
  let mnemonic = mnemonic_;
  let summary = summary_;
}

def Schedule_Buffer : Schedule_Type<"Buffer", "buffer", "bytes in memory, 64-byte aligned unless it is a view"> {
  let description = [{
    `!schedule.buffer` lies in the host's memory, `!schedule.buffer<"cuda">` in that of the back end `cuda`. Only
    kernels of that back end read or write it; the host knows its address and copies it.
  }];
  let parameters = (ins OptionalParameter<"::mlir::StringAttr">:$memory);
  let assemblyFormat = "(`<` $memory^ `>`)?";
  let extraClassDeclaration = [{
    bool isHost() const { return !getMemory(); }
  }];
}
/// A buffer that the host itself reads and writes.
def Schedule_HostBuffer : Type<CPred<"::llvm::isa<::sinter::schedule::BufferType>($_self) && ::llvm::cast<::sinter::schedule::BufferType>($_self).isHost()">,
                               "buffer in the host's memory">,
                          BuildableType<"::sinter::schedule::BufferType::get($_builder.getContext(), {})">;

/// A number of bytes, elements, trips or chunks.
def Schedule_Size : TypeAlias<I64, "64-bit size">;
def Schedule_Element : AnyTypeOf<[F64, F32, F16, BF16, I1, I8, I16, I32, I64]>;
/// What a kernel is called with: memory or a size.
def Schedule_Argument : AnyTypeOf<[Schedule_Buffer, I64], "buffer or 64-bit size">;

//===- enumerations --------------------------------------------------------------------------===//

def Schedule_SizeKind : I32EnumAttr<"SizeKind", "how two sizes become one", [
    I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"mul", 1>, I32EnumAttrCase<"floor_div", 2>, I32EnumAttrCase<"ceil_div", 3>,
    I32EnumAttrCase<"mod", 4>, I32EnumAttrCase<"min", 5>, I32EnumAttrCase<"max", 6>]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::sinter::schedule";
}
def Schedule_SizeKindAttr : EnumAttr<Schedule_Dialect, Schedule_SizeKind, "size_kind"> {
  let assemblyFormat = "$value";
}

//===- ops -----------------------------------------------------------------------------------===//

class Schedule_Op<string mnemonic, list<Trait> traits = []> : Op<Schedule_Dialect, mnemonic, traits>;

def FunctionOp : Schedule_Op<"function", [IsolatedFromAbove, Symbol]> {
  let summary = "the schedule of one function";
  let description = [{
    `inputs` and `outputs` are how many tensors the caller passes and gets. (C1) Every output is asked for by an
    `output` op. (C2) Inputs and outputs are named by numbers below these.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ConfinedAttr<I64Attr, [IntNonNegative]>:$inputs,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$outputs);
  let regions = (region MinSizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `inputs` $inputs `outputs` $outputs attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def ReturnOp : Schedule_Op<"return", [Terminator, HasParent<"FunctionOp">]> {
  let summary = "ends the call with success";
  let assemblyFormat = "attr-dict";
}

// Sizes.

def InputSizeOp : Schedule_Op<"input_size", [Pure]> {
  let summary = "size of one axis of an input";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Schedule_Size:$size);
  let assemblyFormat = "$input `axis` $axis attr-dict";
}

def SizeOp : Schedule_Op<"size", [Pure]> {
  let summary = "two sizes combined, without overflow and without a trap";
  let description = [{
    As expressions of sizes mean it (ir/SizeArithmetic.h): what exceeds 64 bits stays at the nearest number, a division
    by 0 is one by 1, and quotients round down (`floor_div`, `mod`) or up (`ceil_div`).
  }];
  let arguments = (ins Schedule_SizeKindAttr:$kind, Schedule_Size:$lhs, Schedule_Size:$rhs);
  let results = (outs Schedule_Size:$result);
  let assemblyFormat = "`` $kind $lhs `,` $rhs attr-dict";
}

def ProductOp : Schedule_Op<"product", [Pure]> {
  let summary = "product of sizes, or -1";
  let description = [{ -1 where a factor is negative or the product does not fit into 64 bits; requests for memory refuse that. }];
  let arguments = (ins Variadic<Schedule_Size>:$factors);
  let results = (outs Schedule_Size:$result);
  let assemblyFormat = "$factors attr-dict";
}

// Memory.

def InputOp : Schedule_Op<"input", [Pure]> {
  let summary = "memory of an input";
  let description = [{ That of a state may be in the memory of a back end, where the session keeps it. }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$index);
  let results = (outs Schedule_Buffer:$buffer);
  let assemblyFormat = "$index custom<Memory>(type($buffer)) attr-dict";
}

def OutputOp : Schedule_Op<"output"> {
  let summary = "memory for an output of the given sizes; fails when there is none";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$index, Variadic<Schedule_Size>:$sizes);
  let results = (outs Schedule_Buffer:$buffer);
  let assemblyFormat = "$index `[` $sizes `]` custom<Memory>(type($buffer)) attr-dict";
}

def WeightOp : Schedule_Op<"weight", [Pure]> {
  let summary = "a constant, at a byte offset of the module's weights";
  let description = [{
    The weights are in the memory of each back end whose schedules name them there, since its code was loaded.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$offset);
  let results = (outs Schedule_Buffer:$buffer);
  let assemblyFormat = "$offset custom<Memory>(type($buffer)) attr-dict";
}

def ArenaOp : Schedule_Op<"arena"> {
  let summary = "places for buffers whose sizes are known when the call begins; fails when there is no memory";
  let description = [{
    Buffer i has `sizes[i]` bytes and lives over the positions `lives[2 i]` to `lives[2 i + 1]` of the schedule, both
    inclusive. Buffers whose lives do not meet may share bytes; those of results that are written over an input are one
    buffer from the start.

    * (C1) one size and one life for each buffer.   * (C2) lives begin before they end.
  }];
  let arguments = (ins Variadic<Schedule_Size>:$sizes, DenseI32ArrayAttr:$lives);
  let results = (outs Variadic<Schedule_Buffer>:$buffers);
  let assemblyFormat = "`(` $sizes `)` `lives` $lives attr-dict `:` type($buffers)";
  let hasVerifier = 1;
}

def LocalOp : Schedule_Op<"local"> {
  let summary = "a few bytes of the host, from the beginning to the end of the call";
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$bytes);
  let results = (outs Schedule_HostBuffer:$buffer);
  let assemblyFormat = "$bytes attr-dict";
}

def AcquireOp : Schedule_Op<"acquire"> {
  let summary = "memory of a size that the call itself finds; fails when there is none";
  let description = [{
    `of` is where a tensor of the caller lies, which is copied to or from `buffer`: memory of a back end is `of` itself
    where the caller has the tensor there. It is not released then.
  }];
  let arguments = (ins Schedule_Size:$bytes, Optional<Schedule_Buffer>:$of);
  let results = (outs Schedule_Buffer:$buffer);
  let assemblyFormat = "$bytes custom<Memory>(type($buffer)) (`of` $of^ custom<Memory>(type($of)))? attr-dict";
}

def ReleaseOp : Schedule_Op<"release"> {
  let summary = "gives acquired memory back, after all launches before it that use it";
  let arguments = (ins Schedule_Buffer:$buffer);
  let assemblyFormat = "$buffer custom<Memory>(type($buffer)) attr-dict";
}

def GrowOp : Schedule_Op<"grow", [AllTypesMatch<["buffer", "larger"]>]> {
  let summary = "acquired memory of at least `needed` bytes that begins with the bytes of `buffer`";
  let description = [{
    `buffer`, which is given up, has `capacity` bytes. The same buffer where these are enough. Fails when there is no
    memory, or when all such buffers exceed the session's limit.
  }];
  let arguments = (ins Schedule_Buffer:$buffer, Schedule_Size:$capacity, Schedule_Size:$needed);
  let results = (outs Schedule_Buffer:$larger, Schedule_Size:$larger_capacity);
  let assemblyFormat = "$buffer custom<Memory>(type($buffer)) `of` $capacity `to` $needed attr-dict";
}

def ViewOp : Schedule_Op<"view", [Pure, AllTypesMatch<["buffer", "view"]>]> {
  let summary = "a part of a buffer, from a byte offset on";
  let arguments = (ins Schedule_Buffer:$buffer, Schedule_Size:$offset);
  let results = (outs Schedule_Buffer:$view);
  let assemblyFormat = "$buffer custom<Memory>(type($buffer)) `at` $offset attr-dict";
}

def LoadOp : Schedule_Op<"load"> {
  let summary = "the element at a byte offset of a buffer; booleans are stored as bytes";
  let arguments = (ins Schedule_HostBuffer:$buffer, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Schedule_Element:$element);
  let assemblyFormat = "$buffer (`at` $offset^)? attr-dict `:` type($element)";
}

def StoreOp : Schedule_Op<"store"> {
  let summary = "writes one element at a byte offset of a buffer";
  let arguments = (ins Schedule_Element:$element, Schedule_HostBuffer:$buffer, DefaultValuedAttr<I64Attr, "0">:$offset);
  let assemblyFormat = "$element `to` $buffer (`at` $offset^)? attr-dict `:` type($element)";
}

def CopyOp : Schedule_Op<"copy"> {
  let summary = "copies bytes; the two do not overlap, or are the same";
  let description = [{
    From or to the memory of a back end: the host's bytes have been read, or are there, when the op is done. `wait`
    comes before a copy to the host.

    * (C1) one of the two is in the host's memory, or both are in the same.
  }];
  let arguments = (ins Schedule_Buffer:$from, Schedule_Buffer:$to, Schedule_Size:$bytes);
  let assemblyFormat = "$from custom<Memory>(type($from)) `to` $to custom<Memory>(type($to)) `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

def CopyPiecesOp : Schedule_Op<"copy_pieces"> {
  let summary = "copies `count` pieces of `bytes` each that lie at regular distances";
  let description = [{ * (C1) one of the two is in the host's memory, or both are in the same. }];
  let arguments = (ins Schedule_Buffer:$from, Schedule_Size:$from_step, Schedule_Buffer:$to, Schedule_Size:$to_step,
                       Schedule_Size:$bytes, Schedule_Size:$count);
  let assemblyFormat = [{
    $from custom<Memory>(type($from)) `step` $from_step `to` $to custom<Memory>(type($to)) `step` $to_step
    `bytes` $bytes `count` $count attr-dict
  }];
  let hasVerifier = 1;
}

def ClearOp : Schedule_Op<"clear"> {
  let summary = "sets bytes to 0";
  let arguments = (ins Schedule_Buffer:$buffer, Schedule_Size:$bytes);
  let assemblyFormat = "$buffer custom<Memory>(type($buffer)) `bytes` $bytes attr-dict";
}

// Kernels and the call.

def CodeOp : Schedule_Op<"kernel", [IsolatedFromAbove, Symbol, NoTerminator, SingleBlock]> {
  let summary = "a kernel that launches run, before it is code";
  let description = [{
    `backend` makes its code when it lowers the schedule. The only op of the region is a `sinter.kernel`, whose
    `#sinter.schedule` says how the code looks; the block's arguments are its inputs. `sizes` has one text for each
    input, with a word for each axis: the size, or a symbol where only the launch tells. Axes with equal symbols have
    equal sizes. `elements` has one text for each input, too: a word for each element of a small tensor of integers
    where the function around knows these, `?` for one that it does not know, no word where it knows none.
    `constants` lists inputs that are constants.

    * (C1) The region holds one `sinter.kernel` of the block's arguments. * (C2) `sizes` has a number or a symbol for
    each axis of each input, and `elements` one word for each element or none. * (C3) `constants` lists inputs.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$backend, StrArrayAttr:$sizes,
                       OptionalAttr<StrArrayAttr>:$elements, OptionalAttr<DenseI64ArrayAttr>:$constants);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `for` $backend `sizes` $sizes (`elements` $elements^)? (`constants` $constants^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def LaunchOp : Schedule_Op<"launch", [AttrSizedOperandSegments]> {
  let summary = "runs all chunks of a kernel";
  let description = [{
    The arguments are those of the kernel: inputs, results, room for sizes that it finds, scratch memory, sizes. Of the
    buffers, the kernel writes those numbered in `writes` and only reads the others. `inline` says that the kernel is so
    short, or has so few chunks, that it runs on the calling thread. Fails with the kernel's status, and when the call
    was cancelled, but not after `commit`.

    `forks` is 0 where sizes that only running tells make the kernel so short that it runs on the calling thread.

    `steps` runs all chunks so many times, each time after all chunks of the time before. The kernel then has one more
    argument, the last, which is the number of the step.

    `on` names the back end that runs the kernel, where that is not the host. The op is then done when the launch has
    been handed over; a failure shows at the next `wait`. `ordered` launches run in the order of the text.

    * (C1) `writes` numbers buffers among the arguments, in ascending order. * (C2) All buffers are in the memory of the
    back end that runs the kernel. * (C3) `inline`, `forks` and `steps` are for the host alone.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Schedule_Argument>:$arguments, Schedule_Size:$chunks,
                       Optional<Schedule_Size>:$forks, Optional<Schedule_Size>:$steps, DenseI64ArrayAttr:$writes, UnitAttr:$runs_inline, UnitAttr:$ordered,
                       OptionalAttr<StrAttr>:$backend);
  let assemblyFormat = [{
    (`inline` $runs_inline^)? (`ordered` $ordered^)? $kernel (`on` $backend^)? `(` $arguments `)` `writes` $writes
    `chunks` $chunks (`forks` $forks^)? (`steps` $steps^)? attr-dict `:` type($arguments)
  }];
  let hasVerifier = 1;
}

def ChainOp : Schedule_Op<"chain"> {
  let summary = "runs kernels in turns, some chunks of each, so that what passes between them stays in a cache";
  let description = [{
    Each kernel but the first reads what the one before it writes, of which only a window is kept, in `memory`. The
    `arguments` are those of all kernels, `counts[k]` of kernel k. Tensor i, between kernels i and i + 1, is argument
    `places[2 i]`, of its writer, and argument `places[2 i + 1]`, of its reader.

    Where a session has more than half as many threads as there are parts, whose shares would differ too much, the
    kernels run one after the other instead, and the tensors are written whole. `memory` may be one of them.

    Part p of the work, which runs on one thread, is the steps `parts[p]` to `parts[p + 1] - 1`, which continue from
    what the part before has left in the windows. Where another thread had that part, or nobody yet, step p of `begins`
    takes the place of the first. It has `windows[i]` bytes for window i. A step has, for each window, the offset in it and the number of the bytes that come to its
    beginning before the step, and the byte of the tensor that is there then; after these the first chunk and the end of
    the chunks of each kernel. Fails as a launch does.

    * (C1) one count for each of two kernels or more, which add up to the arguments, and a size for each window between
    two kernels. * (C2) `parts` ascends from 0 to the number of `steps`, which have 3 numbers for each window and 2 for
    each kernel, as those of `begins` have, one of each part. * (C3) the two places of a tensor are one value, among the arguments of its writer and of its reader.
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$kernels, Variadic<Schedule_Argument>:$arguments,
                       Schedule_HostBuffer:$memory, DenseI64ArrayAttr:$counts, DenseI64ArrayAttr:$windows,
                       DenseI64ArrayAttr:$places, DenseI64ArrayAttr:$parts, DenseI64ArrayAttr:$begins,
                       DenseI64ArrayAttr:$steps);
  let assemblyFormat = [{
    $kernels `(` $arguments `)` `counts` $counts `places` $places `in` $memory `windows` $windows `parts` $parts `begins` $begins
    `steps` $steps attr-dict `:` type($arguments)
  }];
  let extraClassDeclaration = [{
    /// Numbers of a step.
    int64_t numbersOfStep() {
      return 3 * static_cast<int64_t>(getWindows().size()) + 2 * static_cast<int64_t>(getKernels().size());
    }
    /// Bytes of the windows of a part, each of which begins a line of a cache.
    int64_t bytesOfPart();
    /// The first argument of kernel `k`; of the number of kernels, that of arguments.
    int64_t beginOfKernel(int64_t k);
    /// Chunks of all of kernel `k`.
    int64_t chunksOf(int64_t k);
  }];
  let hasVerifier = 1;
}

def RepeatOp : Schedule_Op<"repeat", [SingleBlock]> {
  let summary = "a loop that a back end runs by itself, without the host";
  let description = [{
    The launches of `test`, then, where the byte that its terminator names is not 0, those of the body, and again. At
    most `most` trips are made, if that is there and not below 0. `trips` is where their number is stored, 64 bits. The host writes the
    whole loop into the back end's queue once and goes on. A cancelled call ends the loop; the next `wait` says so.

    `as` names the one kernel that the back end has made of the whole loop (Backend::chooseLoops): the host then writes
    one launch of it into the queue.

    * (C1) `trips` is in the memory of a back end. * (C2) The regions hold launches of this back end, copies within its
    memory, clears, memory that is acquired and released as they are written, loops and branches of its own, and ops
    without effects.
  }];
  let arguments = (ins Schedule_Buffer:$trips, Optional<Schedule_Size>:$most, OptionalAttr<FlatSymbolRefAttr>:$kernel);
  let regions = (region SizedRegion<1>:$test, SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`as` $kernel^)? `counting` $trips custom<Memory>(type($trips)) (`most` $most^)? attr-dict-with-keyword
    `while` $test `do` $body
  }];
  let hasRegionVerifier = 1;
}

def ChooseOp : Schedule_Op<"choose", [SingleBlock]> {
  let summary = "a branch that a back end takes by itself, without the host";
  let description = [{
    The launches of one of two regions: of the first, if the byte at `flag` is not 0.

    * (C1) `flag` is in the memory of a back end. * (C2) as for `repeat`.
  }];
  let arguments = (ins Schedule_Buffer:$flag);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{
    $flag custom<Memory>(type($flag)) attr-dict-with-keyword `then` $thenRegion `else` $elseRegion
  }];
  let hasRegionVerifier = 1;
}

def TestOp : Schedule_Op<"test", [Terminator, HasParent<"RepeatOp">]> {
  let summary = "ends the test of a `repeat`: one more trip, if the byte at `flag` is not 0";
  let arguments = (ins Schedule_Buffer:$flag);
  let assemblyFormat = "$flag custom<Memory>(type($flag)) attr-dict";
}

def EndOp : Schedule_Op<"end", [Terminator, ParentOneOf<["RepeatOp", "ChooseOp"]>]> {
  let summary = "ends a trip or a branch";
  let assemblyFormat = "attr-dict";
}

def WaitOp : Schedule_Op<"wait"> {
  let summary = "waits until all launches and copies so far that use a buffer are done; fails when one failed";
  let description = [{ * (C1) The buffer is in the memory of a back end: the host's own launches are done when they end. }];
  let arguments = (ins Schedule_Buffer:$buffer);
  let assemblyFormat = "$buffer custom<Memory>(type($buffer)) attr-dict";
  let hasVerifier = 1;
}

def RequireOp : Schedule_Op<"require"> {
  let summary = "fails the call with a message unless the condition holds";
  let description = [{
    The first {} of `message` stands for `first`, the second for `second`. `code` is a sinter_status_code.

    * (C1) `code` is not 0.
  }];
  let arguments = (ins I1:$holds, ConfinedAttr<I32Attr, [IntPositive]>:$code, StrAttr:$message, Schedule_Size:$first,
                       Schedule_Size:$second);
  let assemblyFormat = "$holds `else` $code $message `(` $first `,` $second `)` attr-dict";
}

def ExternalOp : Schedule_Op<"external"> {
  let summary = "calls a C function of the program, or prints";
  let description = [{
    `name` is the function, which is linked or found when code is loaded; with `prints` the text of a debug_print. `layout` has the
    number of tensors that are read and of those that are written, then the sinter_dtype and rank of each; `arguments` has
    the buffer and the sizes of each in that order. Fails with the function's status.

    * (C1) `arguments` are what `layout` says. * (C2) All buffers are the host's.
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$prints, Variadic<Schedule_Argument>:$arguments,
                       DenseI32ArrayAttr:$layout);
  let assemblyFormat = "(`prints` $prints^)? $name `(` $arguments `)` `layout` $layout attr-dict `:` type($arguments)";
  let hasVerifier = 1;
}

def PollOp : Schedule_Op<"poll"> {
  let summary = "ends the call if somebody cancelled it";
  let description = [{ Looks in one of `every` trips only, a power of two; `trip` counts them. }];
  let arguments = (ins Schedule_Size:$trip, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$every);
  let assemblyFormat = "$trip (`every` $every^)? attr-dict";
  let hasVerifier = 1;
}

def CommitOp : Schedule_Op<"commit"> {
  let summary = "from here on states are written where they lie: the call cannot be cancelled any more";
  let assemblyFormat = "attr-dict";
}

#endif
