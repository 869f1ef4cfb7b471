// SPDX-License-Identifier: MIT OR Apache-2.0
// OpenCL's memory spaces from the host's side: what the host makes, gives and maps, and what it gets back.
//
//   cc examples/opencl/memory_spaces.c -lOpenCL -lm -o spaces
//   margay run --profile ./spaces examples/opencl/memory_spaces.cl
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64 };

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static int failed;

static void must(cl_int code, const char *what) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s: error %d\n", what, code);
  exit(1);
}

static cl_kernel kernel(const char *name) {
  cl_int code;
  cl_kernel made = clCreateKernel(program, name, &code);
  must(code, name);
  return made;
}

static cl_mem buffer(cl_mem_flags flags, size_t bytes, void *host) {
  cl_int code;
  cl_mem made = clCreateBuffer(context, flags, bytes, host, &code);
  must(code, "clCreateBuffer");
  return made;
}

// Runs N work-items in one work-group; maps the result, which is copied to nowhere.
static void run(cl_kernel k, cl_mem result, float (*expected)(int), const char *what) {
  size_t items = N;
  must(clEnqueueNDRangeKernel(queue, k, 1, NULL, &items, &items, 0, NULL, NULL), what);
  cl_int code;
  float *seen = clEnqueueMapBuffer(queue, result, CL_TRUE, CL_MAP_READ, 0, N * sizeof(float), 0, NULL, NULL, &code);
  must(code, "clEnqueueMapBuffer");
  int good = 1;
  for (int i = 0; i < N; i++) good &= fabsf(seen[i] - expected(i)) < 1e-5f;
  must(clEnqueueUnmapMemObject(queue, result, seen, 0, NULL, NULL), "clEnqueueUnmapMemObject");
  printf("  %s  %s\n", good ? "ok    " : "FAILED", what);
  failed |= !good;
  clReleaseKernel(k);
}

static float plus_one(int i) { return i + 1; }
static float constants(int i) { return 40 + (float)(i % 4 + 1); }
static float reversed(int i) { return 63 - i + 100; }
static float looked_up(int i) { return i % 8; }
static float twice_and_a_half(int i) { return i + i + (i % 8 == 7 ? 0 : 0.5f); }

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "memory_spaces.cl";
  FILE *file = fopen(path, "rb");
  if (!file) return perror(path), 1;
  static char source[1 << 16];
  size_t length = fread(source, 1, sizeof source, file);
  fclose(file);

  cl_platform_id platform;
  cl_device_id device;
  cl_int code;
  must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  must(code, "clCreateContext");
  queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
  must(code, "clCreateCommandQueueWithProperties");
  const char *text = source;
  program = clCreateProgramWithSource(context, 1, &text, &length, &code);
  must(code, "clCreateProgramWithSource");
  if (clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL) != CL_SUCCESS) {
    static char log[1 << 16];
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    fputs(log, stderr);
    return 1;
  }

  float numbers[N], table[4] = {10, 20, 30, 40};
  int order[8] = {3, 1, 4, 0, 5, 7, 2, 6};
  for (int i = 0; i < N; i++) numbers[i] = i;
  cl_mem to = buffer(CL_MEM_READ_WRITE, sizeof numbers, NULL);

  // Global memory: a copy of the host's.
  cl_mem from = buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers);
  cl_kernel k = kernel("in_global");
  clSetKernelArg(k, 0, sizeof from, &from);
  clSetKernelArg(k, 1, sizeof to, &to);
  run(k, to, plus_one, "global: clCreateBuffer, and back by a map");

  // Host memory that the kernel uses in place.
  cl_mem mapped = buffer(CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, sizeof numbers, numbers);
  k = kernel("in_global");
  clSetKernelArg(k, 0, sizeof mapped, &mapped);
  clSetKernelArg(k, 1, sizeof to, &to);
  run(k, to, plus_one, "host memory, mapped: CL_MEM_USE_HOST_PTR");

  // Shared virtual memory has one address on both sides.
  float *shared = clSVMAlloc(context, CL_MEM_READ_ONLY, sizeof numbers, 0);
  must(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, shared, sizeof numbers, 0, NULL, NULL), "clEnqueueSVMMap");
  for (int i = 0; i < N; i++) shared[i] = i;
  must(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL), "clEnqueueSVMUnmap");
  k = kernel("in_global");
  clSetKernelArgSVMPointer(k, 0, shared);
  clSetKernelArg(k, 1, sizeof to, &to);
  run(k, to, plus_one, "host memory, shared: clSVMAlloc");

  cl_mem constants_of_host = buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof table, table);
  k = kernel("in_constant");
  clSetKernelArg(k, 0, sizeof constants_of_host, &constants_of_host);
  clSetKernelArg(k, 1, sizeof to, &to);
  run(k, to, constants, "constant: of the host, and of the program");

  k = kernel("in_local");
  clSetKernelArg(k, 0, N * sizeof(float), NULL); // a size, and no memory of the host's
  clSetKernelArg(k, 1, sizeof to, &to);
  run(k, to, reversed, "local: of the kernel, and clSetKernelArg(k, 0, bytes, NULL)");

  cl_mem indices = buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof order, order);
  k = kernel("in_private");
  clSetKernelArg(k, 0, sizeof indices, &indices);
  clSetKernelArg(k, 1, sizeof to, &to);
  run(k, to, looked_up, "private: an array of each work-item");

  cl_image_format format = {CL_R, CL_FLOAT};
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
  cl_mem image = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &shape, numbers, &code);
  must(code, "clCreateImage");
  cl_mem into = clCreateImage(context, CL_MEM_WRITE_ONLY, &format, &shape, NULL, &code);
  must(code, "clCreateImage");
  cl_sampler_properties plain[] = {CL_SAMPLER_NORMALIZED_COORDS, CL_FALSE, CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST, 0};
  cl_sampler nearest = clCreateSamplerWithProperties(context, plain, &code);
  must(code, "clCreateSamplerWithProperties");
  k = kernel("in_image");
  clSetKernelArg(k, 0, sizeof image, &image);
  clSetKernelArg(k, 1, sizeof nearest, &nearest);
  clSetKernelArg(k, 2, sizeof into, &into);
  clSetKernelArg(k, 3, sizeof to, &to);
  run(k, to, twice_and_a_half, "images, with a sampler of the host's and one of the program's");

  clSVMFree(context, shared);
  puts(failed ? "a check failed" : "all checks passed");
  return failed;
}
