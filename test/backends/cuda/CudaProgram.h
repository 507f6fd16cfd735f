// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs for the CPU and the CUDA back end, through the compiler's front door; they run on the PTX machine
// (test/cuda).

#ifndef SINTER_TEST_BACKENDS_CUDA_CUDAPROGRAM_H
#define SINTER_TEST_BACKENDS_CUDA_CUDAPROGRAM_H

#include "test/backends/DeviceProgram.h"
#include <cstdlib>
#include <functional>

namespace sinter::cuda {

using Compiled = test::DeviceProgram;

/// Compiles a module for `target` and writes it to a file; false with the reason in `error`. The machine's reports
/// begin anew.
bool compile(mlir::ModuleOp module, Compiled &compiled, std::string &error, const char *target = "cpu+cuda");

/// The same of text.
bool compileText(const std::string &text, Compiled &compiled, std::string &error, const char *target = "cpu+cuda");

/// The back end's code of a module in text; where it does not compile, the test fails and there is none.
std::string compiledCode(const std::string &text, const char *target = "cpu+cuda");

/// `tensor<2x3xf32>`; a size of -1 is `?`, and so are all that are not known.
std::string tensorText(llvm::ArrayRef<int64_t> sizes, const std::string &type, bool isKnown = true);
/// `text` with `value` in place of each `key`.
std::string filled(std::string text, const std::string &key, const std::string &value);

/// Code that is compiled from now on is changed so; null: it stays.
void editCode(std::function<void(std::string &code)> edit);

/// Opens what was compiled and removes its file; null with the reason in `error`.
sinter_module *open(const Compiled &compiled, std::string &error);

/// The code that was compiled last.
const std::string &lastCode();

/// What the machine has told; empty when nothing was wrong.
std::string report();

/// Calls of the driver since the last program was compiled: "wait" for the device, copies "to host", "launch" of single
/// kernels and of a "graph", graphs that were "build" with so many "edge"s between nodes, nodes that were "update"d,
/// launches of any kind that run a kernel with "wgmma", or one of a "cluster" of blocks; each "bulk byte" that copies
/// to shared memory ask for, once however many blocks get it.
uint64_t count(const char *what);

/// Calls of the driver that the host waits in, and rounds: graphs that are launched.
struct HostWork {
  uint64_t waits = count("wait"), graphs = count("graph"), launches = count("launch");
  HostWork since() const {
    HostWork now;
    return {now.waits - waits, now.graphs - graphs, now.launches - launches};
  }
};

/// Lets the machine's call number `n` of a kind ("alloc", "copy", "launch", "module") from now on fail, or all
/// allocations from number `n` on ("memory"); 0: none.
void failAt(const char *kind, unsigned n);

/// Whether loops run on the machine while the host goes on, a trip of a graph or some thousand instructions of a kernel
/// for each of its looks whether they are done, for as long as this lives.
struct DeferredLoops {
  DeferredLoops();
  ~DeferredLoops();
};

/// What `run`, of `session` and with a loop that does not end, returns when another thread cancels it after the host
/// has found the machine busy `looks` times; with some, the loop has made trips. Loops are deferred.
sinter_status_code runCancelled(sinter_session *session, unsigned looks,
                                const std::function<sinter_status_code()> &run);

/// Whether loops of what is compiled while it lives are one kernel each where the GPU runs them ("one"), never
/// ("none"), or where the cost model finds it best ("best").
struct OneKernel {
  explicit OneKernel(const char *how);
  ~OneKernel();
};

/// SINTER_CUDA_GRAPHS for the modules that are opened while it lives.
struct Graphs {
  explicit Graphs(const char *how) { setenv("SINTER_CUDA_GRAPHS", how, 1); }
  ~Graphs() { unsetenv("SINTER_CUDA_GRAPHS"); }
};

} // namespace sinter::cuda

#endif
