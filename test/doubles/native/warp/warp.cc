// SPDX-License-Identifier: Apache-2.0
// Fibers and joins of the CUDA emulation; see cuda_runtime.h.
#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <vector>

#include "cuda_runtime.h"

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace warp {
namespace {

enum class State { kReady, kAtWarp, kAtBlock, kAtNamed, kDone };

struct Fiber {
  ucontext_t start;
  jmp_buf place;
  std::vector<char> stack;
  bool begun = false;
  State state = State::kReady;
  uint32_t deposits = 0;  ///< joins of its warp so far
  int barrier = 0;        ///< the barrier that it waits at
};

constexpr size_t kStackBytes = 64 << 10;
constexpr size_t kSharedLimit = 232448;  // per block on the largest device

/// A barrier of some warps: the arrived and the expected threads.
struct Named {
  int arrived = 0, threads = 0;
};

std::vector<Fiber> fibers;
Named named[16];
uint32_t slots[64][2][32];
int current = 0;
jmp_buf scheduler;
const std::function<void()>* body = nullptr;
alignas(16) char shared[kSharedLimit];

[[noreturn]] void broken(const char* what) {
  std::printf("FAILED: block %u %u %u, thread %d: %s\n", blockIdx.x, blockIdx.y, blockIdx.z, current, what);
  std::exit(1);
}

void entered() {
  (*body)();
  fibers[current].state = State::kDone;
  _longjmp(scheduler, 1);
}

void yield(State state) {
  Fiber& own = fibers[current];
  own.state = state;
  if (_setjmp(own.place) == 0) _longjmp(scheduler, 1);
}

void resume(int index) {
  current = index;
  const unsigned i = static_cast<unsigned>(index);
  threadIdx = dim3(i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y);
  Fiber& own = fibers[index];
  if (_setjmp(scheduler) != 0) return;
  if (own.begun) _longjmp(own.place, 1);
  own.begun = true;
  setcontext(&own.start);
}

/// Counts this thread in. Returns true if it was the last, and releases the waiting threads.
bool arrived(int barrier, int threads) {
  if (barrier < 1 || barrier > 15 || threads < 32 || threads % 32 != 0) broken("a named barrier that there is not");
  Named& own = named[barrier];
  if (own.arrived > 0 && own.threads != threads) broken("two counts of threads at one named barrier");
  own.threads = threads;
  if (++own.arrived < threads) return false;
  own.arrived = 0;
  for (Fiber& other : fibers) {
    if (other.state == State::kAtNamed && other.barrier == barrier) other.state = State::kReady;
  }
  return true;
}

void runBlock(int threads) {
  for (Named& one : named) one.arrived = 0;
  for (int i = 0; i < threads; ++i) {
    Fiber& own = fibers[i];
    own.begun = false, own.state = State::kReady, own.deposits = 0;
    getcontext(&own.start);
    own.start.uc_stack.ss_sp = own.stack.data();
    own.start.uc_stack.ss_size = own.stack.size();
    own.start.uc_link = nullptr;
    makecontext(&own.start, entered, 0);
  }
  for (;;) {
    bool moved = false;
    for (int first = 0; first < threads; first += 32) {
      const int end = std::min(first + 32, threads);
      for (int i = first; i < end; ++i) {
        if (fibers[i].state == State::kReady) resume(i), moved = true;
      }
      int atWarp = 0, elsewhere = 0;
      for (int i = first; i < end; ++i) {
        (fibers[i].state == State::kAtWarp ? atWarp : elsewhere) += 1;
      }
      if (atWarp == 0) continue;
      if (elsewhere > 0)
        broken("the lanes of a warp do not meet: some joined it and others ended or joined their block");
      for (int i = first; i < end; ++i) {
        if (fibers[i].deposits != fibers[first].deposits) broken("the lanes of a warp do not meet at the same place");
        fibers[i].state = State::kReady;
      }
      moved = true;
    }
    if (moved) continue;
    int waiting = 0, done = 0;
    for (int i = 0; i < threads; ++i) {
      waiting += fibers[i].state == State::kAtNamed, done += fibers[i].state == State::kDone;
    }
    if (waiting > 0) broken("some threads wait at a named barrier where too few arrive");
    for (const Named& one : named) {
      if (one.arrived > 0) broken("threads have arrived at a named barrier that no thread waits at");
    }
    if (done == threads) return;
    if (done > 0) broken("some threads wait for their block and others have ended");
    for (int i = 0; i < threads; ++i) fibers[i].state = State::kReady;
  }
}

}  // namespace

void run(dim3 grid, dim3 block, size_t sharedBytes, const std::function<void()>& kernel) {
  const int threads = static_cast<int>(block.x * block.y * block.z);
  if (threads < 1 || threads > 1024 || sharedBytes > kSharedLimit || grid.x == 0 || grid.y == 0 || grid.z == 0) {
    setError(cudaErrorInvalidValue);
    return;
  }
  while (fibers.size() < static_cast<size_t>(threads)) {
    fibers.emplace_back();
    fibers.back().stack.resize(kStackBytes);
  }
  body = &kernel;
  blockDim = block, gridDim = grid;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = dim3(x, y, z);
        std::memset(shared, 0xa5, sharedBytes);  // shared memory must not be assumed to be zero
        runBlock(threads);
      }
    }
  }
}

void* dynamicShared() { return shared; }

uint32_t exchange(uint32_t own, const std::function<uint32_t(const uint32_t*, int)>& pick) {
  const int warp = current / 32, lane = current % 32;
  const uint32_t parity = fibers[current].deposits++ & 1;
  slots[warp][parity][lane] = own;
  yield(State::kAtWarp);
  return pick(slots[warp][parity], lane);
}

void joinBlock() { yield(State::kAtBlock); }

void arriveAt(int barrier, int threads) { arrived(barrier, threads); }

void joinAt(int barrier, int threads) {
  fibers[current].barrier = barrier;
  yield(arrived(barrier, threads) ? State::kReady : State::kAtNamed);
}

}  // namespace warp
