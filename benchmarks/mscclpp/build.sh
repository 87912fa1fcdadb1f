#!/usr/bin/env bash
# Builds execute_plan with MSCCL++'s core and no network cards; neither needs a GPU to compile.
#
#   benchmarks/mscclpp/build.sh MSCCLPP JSON OUT    a checkout of microsoft/mscclpp (v0.9), the folder
#                                                   include of nlohmann/json, and a folder to build in
#
# CUDA is the toolkit (default /usr/local/cuda), ARCH the GPU (default sm_90).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd) json=$(cd "$2" && pwd) cuda=${CUDA:-/usr/local/cuda} arch=${ARCH:-sm_90}
mkdir -p "$3/include/mscclpp" && cd "$3"
cp -r "$source/src/core" . && cp -r "$source/include/mscclpp" include/

# Ranks are threads of one process here, so these must not be shared by them.
sed -i 's/static uint32_t flag = 0;/static thread_local uint32_t flag = 0;/' core/executor/executor.cc
sed -i 's/^static std::shared_ptr<GpuStreamPool>/static thread_local std::shared_ptr<GpuStreamPool>/' \
    core/gpu_utils.cc
# The GPU has 32 queues, and a queue that waits for a kernel holds up its other streams: all copies of
# proxies share one stream, so that each rank has a queue.
sed -i 's/cudaStreamCreateWithFlags(&stream_, flags)/stream_of_copies(\&stream_)/; 1i #include <cuda_runtime.h>' \
    core/gpu_utils.cc
sed -i 's/(void)cudaStreamDestroy(stream_)/stream_ = nullptr/; 2i cudaError_t stream_of_copies(cudaStream_t*);' \
    core/gpu_utils.cc
# No kernel may wait on the GPU while another rank still allocates memory for its own.
sed -i 's/  this->impl_->launchKernel(/  ready_to_launch();\n&/; 1i void ready_to_launch();' core/executor/executor.cc
sed 's/@[A-Z_]*@/0/g; s/\${[A-Z_]*}/0/g' include/mscclpp/version.hpp.in > include/mscclpp/version.hpp
rm -f core/mlx5dv_wrapper.cc
: > include/nvml.h  # without it, the ranks of a host are one domain
cat > core/numa.cc <<'END'
namespace mscclpp {
int getDeviceNumaNode(int) { return -1; }
void numaBind(int) {}
}  // namespace mscclpp
END

flags="-O2 -std=c++20 -DMSCCLPP_USE_CUDA -I include -I core/include -I $json"
cp "$here/execute_plan.cc" core/
find core -name '*.cc' -o -name '*.cpp' | xargs -P "$(nproc)" -I{} \
    sh -c "g++ $flags -fPIC -I $cuda/include -I $cuda/include/cccl -c {} -o \$(echo {} | tr / _).o"
"$cuda/bin/nvcc" $flags -arch="$arch" -Xcompiler -fPIC -c core/executor/execution_kernel.cu -o kernel.o

# The driver's library is on machines with a GPU only: its names suffice for linking.
nm -u ./*.o "$cuda/lib64/libcudart_static.a" 2>/dev/null |
    awk '/ U cu[A-Z]/ {print "void " $2 "(void) {}"}' | sort -u > driver.c
gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so driver.c
g++ -o execute_plan ./*.o -L. -L"$cuda/lib64" -lcudart_static -lcuda -ldl -lrt -lpthread
echo "$PWD/execute_plan"
