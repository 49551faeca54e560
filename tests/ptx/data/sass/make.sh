#!/bin/sh
# Lists the kernels with the CUDA tools (nvcc, nvdisasm, cuobjdump): run in this folder. Long runs of spaces are cut.
set -e
narrow() { sed -E 's/ {9,}(\/[\/*])/        \1/; s/^ +(\/\* 0x)/        \1/; s/[[:space:]]+$//'; }
for arch in 75 86 90; do
    nvcc -arch=sm_$arch -O3 -cubin -o kernels.cubin kernels.cu
    nvdisasm -c -hex kernels.cubin | narrow > sm_$arch.sass
    nvdisasm -bbcfg kernels.cubin > sm_$arch.bbcfg
    nvdisasm -c -plr -lrm narrow kernels.cubin | narrow > sm_$arch.plr
done
nvcc -arch=sm_75 -O3 -lineinfo -cubin -o kernels.cubin kernels.cu
cuobjdump -sass -fun recursion,reduce kernels.cubin | narrow > cuobjdump.sass
rm kernels.cubin
