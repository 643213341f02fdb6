// Products of a matrix on the device. All sums are in double unless a template says otherwise; sums
// of blocks are written apart and added in their order, so that results do not change from run to
// run. The host checks sizes (kernels.py).

typedef long long rows_t;

// bfloat16 is the upper half of a float.
struct bf16 { unsigned short bits; };
__device__ inline double wide(float x) { return x; }
__device__ inline double wide(double x) { return x; }
__device__ inline double wide(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }

// V entries that are loaded at once; sixteen bytes where the row length allows it.
template <typename T, int V> struct alignas(sizeof(T) * V) Pack { T x[V]; };

// out = X w + offset. A group of LANES threads has a row, so that a warp reads whole sectors.
template <typename T, int V>
__global__ void dense_scores(const T* X, rows_t n, int d, const double* w, double offset,
                             double* out) {
  extern __shared__ double shared_w[];
  for (int j = threadIdx.x; j < d; j += blockDim.x) shared_w[j] = w[j];
  __syncthreads();
  const int LANES = 8;
  const int lane = threadIdx.x % LANES;
  const rows_t stride = (rows_t)gridDim.x * blockDim.x / LANES;
  const rows_t first = ((rows_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const rows_t most = (n + stride - 1) / stride;
  for (rows_t k = 0; k < most; k++) {  // all lanes of a warp stay together for the shuffles
    const rows_t row = first + k * stride;
    double sum = 0.0;
    if (row < n) {
      const T* x = X + row * d;
#pragma unroll 4
      for (int j = lane * V; j < d; j += LANES * V) {
        const Pack<T, V> part = *reinterpret_cast<const Pack<T, V>*>(x + j);
#pragma unroll
        for (int v = 0; v < V; v++) sum += wide(part.x[v]) * shared_w[j + v];
      }
    }
    for (int step = LANES / 2; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (row < n && lane == 0) out[row] = sum + offset;
  }
}

// parts[block] = X' u of the rows of a block, or the same for the squares of the entries.
template <typename T, int V>
__global__ void dense_gradient(const T* X, rows_t n, int d, const double* u, int squared,
                               double* parts) {
  extern __shared__ double sums[];
  const int packs = d / V, side = blockDim.x / packs;
  const int column = threadIdx.x % packs, mine = threadIdx.x / packs;
  double sum[V];
#pragma unroll
  for (int v = 0; v < V; v++) sum[v] = 0.0;
  if (mine < side) {
    const rows_t stride = (rows_t)gridDim.x * side;
#pragma unroll 8
    for (rows_t row = (rows_t)blockIdx.x * side + mine; row < n; row += stride) {
      const Pack<T, V> part = *reinterpret_cast<const Pack<T, V>*>(X + row * d + column * V);
      const double weight = u[row];
#pragma unroll
      for (int v = 0; v < V; v++) {
        const double x = wide(part.x[v]);
        sum[v] += weight * (squared ? x * x : x);
      }
    }
#pragma unroll
    for (int v = 0; v < V; v++) sums[mine * d + column * V + v] = sum[v];
  }
  __syncthreads();
  for (int j = threadIdx.x; j < d; j += blockDim.x) {
    double total = 0.0;
    for (int k = 0; k < side; k++) total += sums[k * d + j];
    parts[(rows_t)blockIdx.x * d + j] = total;
  }
}

// out = A w + offset for compressed rows; LANES threads have a row.
template <typename T, typename I, int LANES>
__global__ void csr_scores(const rows_t* indptr, const I* indices, const T* values, rows_t n,
                           const double* w, int squared, double offset, double* out) {
  const int lane = threadIdx.x % LANES;
  const rows_t stride = (rows_t)gridDim.x * blockDim.x / LANES;
  const rows_t first = ((rows_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const rows_t most = (n + stride - 1) / stride;
  for (rows_t k = 0; k < most; k++) {
    const rows_t row = first + k * stride;
    double sum = 0.0;
    if (row < n) {
#pragma unroll 4
      for (rows_t e = indptr[row] + lane, end = indptr[row + 1]; e < end; e += LANES) {
        const double x = wide(values[e]);
        sum += (squared ? x * x : x) * w[indices[e]];
      }
    }
    for (int step = LANES / 2; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (row < n && lane == 0) out[row] = sum + offset;
  }
}

// out = A' u without a transpose: double atomics, whose order is not that of another run.
template <typename T, typename I>
__global__ void csr_scatter(const rows_t* indptr, const I* indices, const T* values, rows_t n,
                            const double* u, int squared, double* out) {
  const int LANES = 16;
  const int lane = threadIdx.x % LANES;
  const rows_t stride = (rows_t)gridDim.x * blockDim.x / LANES;
  for (rows_t row = ((rows_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES; row < n;
       row += stride) {
    const double weight = u[row];
    for (rows_t e = indptr[row] + lane; e < indptr[row + 1]; e += LANES) {
      const double x = wide(values[e]);
      atomicAdd(out + indices[e], weight * (squared ? x * x : x));
    }
  }
}

// out = sum over columns of tables[column][code] + offset. Codes are by column, `ld` bytes apart;
// a thread has four rows. Tables of `chunk` columns are in shared memory, once for all rows of a
// block if they all fit. Entries are added in T, chunks in double.
template <typename T>
__global__ void look_up(const unsigned char* codes, rows_t ld, rows_t n, int p, int bins,
                        const T* tables, int chunk, double offset, double* out) {
  extern __shared__ char memory[];
  T* table = reinterpret_cast<T*>(memory);
  const rows_t tile = 4 * (rows_t)blockDim.x;
  int loaded = -1;
  for (rows_t start = blockIdx.x * tile; start < n; start += gridDim.x * tile) {
    const rows_t row = start + 4 * (rows_t)threadIdx.x;
    double sum[4] = {offset, offset, offset, offset};
    for (int low = 0; low < p; low += chunk) {
      const int high = min(low + chunk, p);
      if (loaded != low) {
        __syncthreads();
        for (int k = threadIdx.x; k < (high - low) * bins; k += blockDim.x)
          table[k] = tables[(rows_t)low * bins + k];
        __syncthreads();
        loaded = low;
      }
      if (row >= n) continue;
      T part[4] = {0, 0, 0, 0};
      const unsigned char* code = codes + (rows_t)low * ld + row;
#pragma unroll 8
      for (int j = 0; j < high - low; j++) {
        const uchar4 c = *reinterpret_cast<const uchar4*>(code + j * ld);
        const T* column = table + j * bins;
        part[0] += column[c.x];
        part[1] += column[c.y];
        part[2] += column[c.z];
        part[3] += column[c.w];
      }
#pragma unroll
      for (int k = 0; k < 4; k++) sum[k] += part[k];
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (row + k < n) out[row + k] = sum[k];
  }
}

// parts[split][column][bin] = sum of u over the rows of a split with that code. Every lane has a
// histogram of its own, in bank `lane` of the shared memory: no atomics, no conflicts.
template <typename T>
__global__ void histograms(const unsigned char* codes, rows_t ld, rows_t n, int p, int bins,
                           const T* u, double* parts) {
  extern __shared__ char memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T* all = reinterpret_cast<T*>(memory);
  for (int k = threadIdx.x; k < warps * bins * 32; k += blockDim.x) all[k] = 0;
  __syncthreads();
  T* mine = all + warp * bins * 32 + lane;
  const int column = blockIdx.y;
  const unsigned char* code = codes + (rows_t)column * ld;
  const rows_t stride = (rows_t)gridDim.x * blockDim.x * 4;
  // u has `ld` entries, zeros from n on: four rows at a time.
#pragma unroll 4
  for (rows_t row = ((rows_t)blockIdx.x * blockDim.x + threadIdx.x) * 4; row < n; row += stride) {
    const uchar4 c = *reinterpret_cast<const uchar4*>(code + row);
    const Pack<T, 4> v = *reinterpret_cast<const Pack<T, 4>*>(u + row);
    mine[c.x * 32] += v.x[0];
    mine[c.y * 32] += v.x[1];
    mine[c.z * 32] += v.x[2];
    mine[c.w * 32] += v.x[3];
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) {
    double total = 0.0;
    for (int w = 0; w < warps; w++)
      for (int k = 0; k < 32; k++) total += all[(w * bins + b) * 32 + (k + b) % 32];
    parts[((rows_t)blockIdx.x * p + column) * bins + b] = total;
  }
}
