// Runs the CUDA kernels on a processor: a thread of the system for each thread of a block, blocks
// one after the other. Barriers and shuffles wait for all threads of a block.

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__
struct Index { unsigned x = 0, y = 0; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
static thread_local Index threadIdx;
static Index blockIdx, blockDim, gridDim;
using std::min;

static const int kShared = 1 << 17;
alignas(16) char memory[kShared];
alignas(16) double shared_w[kShared / 8], sums[kShared / 8];

static std::unique_ptr<std::barrier<>> all;
static double exchanged[1024];

static void __syncthreads() { all->arrive_and_wait(); }
static double __shfl_xor_sync(unsigned, double value, int step) {
  exchanged[threadIdx.x] = value;
  __syncthreads();
  const double other = exchanged[threadIdx.x ^ step];
  __syncthreads();
  return other;
}
static void atomicAdd(double* to, double value) { std::atomic_ref<double>(*to).fetch_add(value); }
static float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }

#include "kernels.cu"

// `given` points to the value of every argument, as the launch of a CUDA kernel takes them.
template <typename... P, size_t... I>
void call(void (*kernel)(P...), void** given, std::index_sequence<I...>) {
  kernel(*reinterpret_cast<P*>(given[I])...);
}

template <typename... P>
void launch(void (*kernel)(P...), unsigned columns, unsigned lines, unsigned threads,
            void** given) {
  gridDim = {columns, lines};
  blockDim = {threads, 1};
  for (unsigned block = 0; block < columns * lines; block++) {
    blockIdx = {block % columns, block / columns};
    // Shared memory is not zero at the start of a block.
    std::fill(memory, memory + kShared, 77);
    std::fill(shared_w, shared_w + kShared / 8, 1e300);
    std::fill(sums, sums + kShared / 8, 1e300);
    all = std::make_unique<std::barrier<>>(threads);
    std::vector<std::thread> running;
    for (unsigned t = 0; t < threads; t++)
      running.emplace_back([=] {
        threadIdx = {t, 0};
        call(kernel, given, std::index_sequence_for<P...>());
      });
    for (auto& one : running) one.join();
  }
}
