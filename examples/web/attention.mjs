// A kernel of attnc in a page, and the same attention as a plain loop in JavaScript. No library is needed: the module
// imports nothing, and exports the kernel of the header, its memory, malloc and free.
export const problem = "hq4 sq256 d64 causal=top_left";
const [heads, rows, columns] = [4, 256, 64];
const count = heads * rows * columns;

// f32 tensors in the memory of the module, filled by the same random numbers each time.
export class Kernel {
  constructor(bytes) {
    this.exports = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
    this.addresses = Array.from({ length: 4 }, () => this.exports.malloc(4 * count) >>> 0);
    let state = 1;
    for (const address of this.addresses.slice(0, 3))
      this.view(address).forEach((_, i, view) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        view[i] = state / 2 ** 31 - 1;
      });
  }

  // To take again after each call: memory that grows is another buffer.
  view(address) {
    return new Float32Array(this.exports.memory.buffer, address, count);
  }

  get tensors() {
    return this.addresses.map((address) => this.view(address));
  }

  // void attention(const float *q, const float *k, const float *v, float *out)
  call() {
    this.exports.attention(...this.addresses);
  }
}

// softmax(Q Kᵀ / sqrt(D)) V of the keys up to each query's own.
export function plainAttention(q, k, v, out) {
  const scores = new Float32Array(rows);
  for (let head = 0; head < heads; ++head)
    for (let i = 0; i < rows; ++i) {
      const query = (head * rows + i) * columns;
      let max = -Infinity;
      for (let j = 0; j <= i; ++j) {
        const key = (head * rows + j) * columns;
        let sum = 0;
        for (let e = 0; e < columns; ++e) sum += q[query + e] * k[key + e];
        scores[j] = sum / Math.sqrt(columns);
        max = Math.max(max, scores[j]);
      }
      let total = 0;
      for (let j = 0; j <= i; ++j) total += scores[j] = Math.exp(scores[j] - max);
      out.fill(0, query, query + columns);
      for (let j = 0; j <= i; ++j) {
        const key = (head * rows + j) * columns;
        const weight = scores[j] / total;
        for (let e = 0; e < columns; ++e) out[query + e] += weight * v[key + e];
      }
    }
}

// The ways, each as a function that returns its output: the plain loop, and each module that this engine takes.
export function createWays(modules) {
  const kernels = Object.entries(modules)
    .filter(([, bytes]) => WebAssembly.validate(bytes))
    .map(([name, bytes]) => [name, new Kernel(bytes)]);
  const [q, k, v] = kernels[0][1].tensors.slice(0, 3).map((tensor) => tensor.slice());
  const out = new Float32Array(count);
  const plain = () => {
    plainAttention(q, k, v, out);
    return out;
  };
  const run = (kernel) => () => {
    kernel.call();
    return kernel.tensors[3];
  };
  return [["JavaScript", plain], ...kernels.map(([name, kernel]) => [name, run(kernel)])];
}

// The ways in turn, `rounds` times. Rows of name, best and median milliseconds, times the speed of the plain loop (by
// medians), and the largest difference from it.
export function compare(modules, rounds) {
  const ways = createWays(modules);
  const expected = ways[0][1]().slice();
  const results = ways.map(([name, way]) => {
    const difference = way().reduce((largest, value, i) => Math.max(largest, Math.abs(value - expected[i])), 0);
    return { name, difference, times: [] };
  });
  for (let round = 0; round < rounds; ++round)
    ways.forEach(([, way], i) => {
      const start = performance.now();
      way();
      results[i].times.push(performance.now() - start);
    });
  for (const result of results) {
    result.times.sort((a, b) => a - b);
    result.best = result.times[0];
    result.median = result.times[rounds >> 1];
  }
  return results.map(({ name, best, median, difference }) => ({
    name, best, median, difference, speed: results[0].median / median,
  }));
}
