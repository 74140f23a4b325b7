#!/bin/sh
# build.sh SOURCE OUTPUT PRIVATE: builds a static CBLAS without LAPACK and copies it and its headers to OUTPUT.
set -e
source=$1 output=$(cd "$2" && pwd) private=$3

run_make() {
  make -C src DYNAMIC_ARCH=1 NO_LAPACK=1 NOFORTRAN=1 NO_SHARED=1 USE_OPENMP=0 NUM_THREADS=64 "$@"
}

rm -rf "$private"
mkdir -p "$private"
cp -R "$source" "$private/src"
cd "$private"
run_make -j"$(nproc)" libs netlib
run_make PREFIX="$PWD/installed" install
cp installed/lib/libopenblas.a installed/include/cblas.h installed/include/openblas_config.h "$output"
