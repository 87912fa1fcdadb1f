// Executes an MSCCL++ plan with MSCCL++'s own executor and checks every element of every output.
//
// All ranks share one GPU, a thread each, so a plan of 16 ranks needs one GPU and not two boxes.  The
// times are therefore no times of a machine; the data, the operations and the limits of the executor
// are real.  Data are integers, so sums are exact in any order.
//
//   execute_plan PLAN CALLS BYTES...      message sizes as in nccl-tests
//
// Exit status: 0 if all outputs are right, 1 if one is wrong, 3 or 4 if the runtime refuses the plan.

#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mscclpp/core.hpp>
#include <mscclpp/executor.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "utils_internal.hpp"

namespace {

// The element of a rank's input in a call; different for neighbours in each of the three.
unsigned value(int rank, size_t element, int call) {
  unsigned x = 2654435761u * unsigned(element + 1) + 40503u * unsigned(rank + 1) + 977u * unsigned(call);
  x ^= x >> 15;
  x *= 2246822519u;
  return x ^ (x >> 13);
}

struct Collective {
  std::string name;
  int ranks;

  bool gathers() const { return name == "allgather"; }
  bool scatters() const { return name == "reducescatter"; }
  size_t input_bytes(size_t message) const { return gathers() ? message / ranks : message; }
  size_t output_bytes(size_t message) const { return scatters() ? message / ranks : message; }

  // The element that must stand in the output of a rank.
  unsigned expected(int rank, size_t element, size_t inputs, size_t outputs, int call) const {
    if (gathers()) return value(int(element / inputs), element % inputs, call);
    if (name == "alltoall") {
      const size_t share = inputs / ranks;
      return value(int(element / share), rank * share + element % share, call);
    }
    unsigned sum = 0;
    const size_t at = scatters() ? rank * outputs + element : element;
    for (int other = 0; other < ranks; ++other) sum += value(other, at, call);
    return sum;
  }
};

void must(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  fflush(stderr);
  std::_Exit(3);
}

/// Copies within the GPU load their own kernels at the first use, which waits for the kernels that run.
void warm_up_copies() {
  char *from, *to;
  const size_t most = 1 << 26;
  must(cudaMalloc(&from, most));
  must(cudaMalloc(&to, most));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (size_t bytes = 4; bytes <= most; bytes *= 2)
    for (size_t offset : {0, 1, 4}) must(cudaMemcpyAsync(to, from, bytes - offset % bytes, cudaMemcpyDeviceToDevice, stream));
  must(cudaMemsetAsync(to, 0, most, stream));
  must(cudaStreamSynchronize(stream));
}

std::barrier<>* all_ranks;

}  // namespace

/// Called by the executor between the setup of a call and its kernel.
void ready_to_launch() { all_ranks->arrive_and_wait(); }

/// The stream of all copies that are not a caller's.
cudaError_t stream_of_copies(cudaStream_t* stream) {
  static const cudaStream_t copies = [] {
    cudaStream_t made;
    must(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, -5));
    return made;
  }();
  *stream = copies;
  return cudaSuccess;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s PLAN CALLS BYTES...\n", argv[0]);
    return 2;
  }
  const std::string path = argv[1];
  const int calls = atoi(argv[2]);
  const auto plan = nlohmann::json::parse(std::ifstream(path));
  const Collective collective{plan["collective"], int(plan["gpus"].size())};
  const int ranks = collective.ranks;
  const bool in_place = plan["inplace"];
  if (collective.name != "allgather" && collective.name != "reducescatter" && collective.name != "alltoall" &&
      collective.name != "allreduce") {
    fprintf(stderr, "collective %s: expected allgather, reducescatter, allreduce or alltoall\n",
            collective.name.c_str());
    return 2;
  }
  const std::string where = "lo:127.0.0.1:" + std::to_string(20000 + getpid() % 20000);

  // Values that the runtime computes once and keeps, before there are threads.
  must(cudaSetDevice(0));
  must(cudaFree(nullptr));
  mscclpp::isNvlsSupported();
  mscclpp::getHostHash();
  mscclpp::getPidHash();
  warm_up_copies();

  std::barrier<> sync(ranks);
  all_ranks = &sync;
  std::atomic<long> wrong{0};
  auto work = [&](int rank) {
    try {
      must(cudaSetDevice(0));
      auto bootstrap = std::make_shared<mscclpp::TcpBootstrap>(rank, ranks);
      bootstrap->initialize(where, 60);
      auto communicator = std::make_shared<mscclpp::Communicator>(bootstrap);
      auto executor = std::make_shared<mscclpp::Executor>(communicator);
      mscclpp::ExecutionPlan loaded(path, rank);
      cudaStream_t stream;
      must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int i = 3; i < argc; ++i) {
        const size_t message = strtoull(argv[i], nullptr, 10);
        const size_t in = collective.input_bytes(message), out = collective.output_bytes(message);
        const size_t inputs = in / sizeof(unsigned), outputs = out / sizeof(unsigned);
        auto first = mscclpp::GpuBuffer(in_place ? std::max(in, out) : in).memory();
        auto second = in_place ? first : mscclpp::GpuBuffer(out).memory();
        char* input = first.get() + (in_place && collective.gathers() ? rank * in : 0);
        char* output = second.get() + (in_place && collective.scatters() ? rank * out : 0);
        // The calls follow each other on the stream, each with data of its own: a rank that is ahead must
        // not disturb one that is not.
        auto ins = mscclpp::GpuBuffer(in * calls).memory(), outs = mscclpp::GpuBuffer(out * calls).memory();
        std::vector<unsigned> data(std::max(inputs, outputs) * calls);
        for (size_t e = 0; e < inputs * calls; ++e) data[e] = value(rank, e % inputs, int(e / inputs));
        must(cudaMemcpyAsync(ins.get(), data.data(), in * calls, cudaMemcpyHostToDevice, stream));
        must(cudaStreamSynchronize(stream));
        for (int call = 0; call < calls; ++call) {
          must(cudaMemcpyAsync(input, ins.get() + call * in, in, cudaMemcpyDeviceToDevice, stream));
          executor->execute(rank, input, output, in, out, mscclpp::DataType::INT32, loaded, stream);
          must(cudaMemcpyAsync(outs.get() + call * out, output, out, cudaMemcpyDeviceToDevice, stream));
        }
        must(cudaStreamSynchronize(stream));
        must(cudaMemcpyAsync(data.data(), outs.get(), out * calls, cudaMemcpyDeviceToHost, stream));
        must(cudaStreamSynchronize(stream));
        long bad = 0;
        for (size_t e = 0; e < outputs * calls; ++e)
          bad += data[e] != collective.expected(rank, e % outputs, inputs, outputs, int(e / outputs));
        if (bad) fprintf(stderr, "rank %d, %zu bytes: %ld elements wrong\n", rank, message, bad);
        wrong += bad;
        sync.arrive_and_wait();
        if (rank == 0) printf("%zu %s\n", message, wrong ? "wrong" : "right");
        if (rank == 0) fflush(stdout);
      }
      sync.arrive_and_wait();
      if (rank == 0) std::_Exit(wrong ? 1 : 0);  // the runtime is not taken down
      for (;;) pause();
    } catch (const std::exception& error) {
      fprintf(stderr, "rank %d: %s\n", rank, error.what());
      fflush(stderr);
      std::_Exit(4);
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(work, rank);
  for (auto& one : threads) one.join();
}
