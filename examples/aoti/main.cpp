// Runs the packages of models.py without Python: attention by attn in a program of PyTorch's C++, beside its own.
// docs/Training.md has the commands that build it.
//
//   aoti-run FOLDER
#include <ATen/ATen.h>
#include <iostream>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

using torch::inductor::AOTIModelPackageLoader;

// Of sizes that the packages were not exported with.
static double checkDense(const std::string &folder) {
  AOTIModelPackageLoader model(folder + "/dense.pt2");
  double error = 0;
  for (int64_t length : {1, 33, 113}) {
    at::Tensor q = at::randn({3, 4, length, 16}), k = at::randn({3, 2, length, 16}), v = at::randn({3, 2, length, 16});
    at::Tensor expected = at::scaled_dot_product_attention(q, k, v, {}, 0.0, /*is_causal=*/true, {}, /*gqa=*/true);
    error = std::max(error, (model.run({q, k, v}).at(0) - expected).abs().max().item<double>());
  }
  return error;
}

// A request of 21 keys in pages of 8 in any order, of which the last 4 have queries.
static double checkStep(const std::string &folder) {
  AOTIModelPackageLoader model(folder + "/step.pt2");
  const int64_t length = 21, rows = 4;
  at::Tensor q = at::randn({rows, 4, 16}), keys = at::randn({24, 2, 16}), values = at::randn({24, 2, 16});
  at::Tensor order = at::tensor({4, 0, 3}, at::kInt), caches = at::zeros({2, 5, 8, 2, 16});
  caches[0].index_copy_(0, order.to(at::kLong), keys.view({3, 8, 2, 16}));
  caches[1].index_copy_(0, order.to(at::kLong), values.view({3, 8, 2, 16}));
  at::Tensor lengths = at::full({1}, length, at::kInt), sums = at::tensor({int64_t(0), rows}, at::kInt);
  std::vector<at::Tensor> found = model.run({q, caches[0], caches[1], order.unsqueeze(0), lengths, sums});
  at::Tensor mask = at::ones({rows, length}, at::kBool).tril(length - rows);
  at::Tensor k = keys.slice(0, 0, length).transpose(0, 1).unsqueeze(0);
  at::Tensor v = values.slice(0, 0, length).transpose(0, 1).unsqueeze(0);
  at::Tensor expected =
      at::scaled_dot_product_attention(q.transpose(0, 1).unsqueeze(0), k, v, mask, 0.0, false, {}, true);
  return (found.at(0) - expected.squeeze(0).transpose(0, 1)).abs().max().item<double>();
}

int main(int count, char **arguments) {
  if (count != 2) {
    std::cerr << "usage: aoti-run FOLDER\n";
    return 2;
  }
  at::manual_seed(0);
  double dense = checkDense(arguments[1]), step = checkStep(arguments[1]);
  std::cout << "largest differences: dense " << dense << ", step " << step << "\n";
  bool isRight = dense < 1e-5 && step < 1e-5;
  std::cout << (isRight ? "right\n" : "wrong\n");
  return isRight ? 0 : 1;
}
