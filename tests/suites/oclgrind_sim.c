// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs one of Oclgrind's simulations (`.sim`) through the OpenCL API, and prints its buffers as Oclgrind does.
//
// A simulation names a source, a kernel, the global and the local size, and the arguments: `<size=16 fill=0 dump>`
// or `<size=8 float>` with values behind it. Attributes: char short int long float double and the unsigned ones
// (default: what the kernel's argument is made of), hex, dump, ro wo (what kernels may do), fill=V,
// range=FIRST:STEP:LAST, noinit, null.

#include <CL/cl.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(cl_int error, const char *what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(3);
}

// The text with the comments blanked out.
static char *slurp(const char *name) {
  FILE *file = fopen(name, "rb");
  if (!file) {
    perror(name);
    exit(3);
  }
  char *text = calloc(1, 1 << 20);
  size_t length = fread(text, 1, (1 << 20) - 1, file);
  text[length] = 0;
  fclose(file);
  return text;
}

static char *at;

static char *word(void) {
  while (isspace((unsigned char)*at)) at++;
  if (!*at || *at == '<') return NULL;
  char *start = at;
  while (*at && !isspace((unsigned char)*at)) at++;
  if (*at) *at++ = 0;
  return start;
}

enum type { CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, FLOAT, DOUBLE };
static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
static const char *names[] = {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"};

// The type that a name stands for: `ulong4*` is of unsigned longs. Structures count as integers.
static enum type named(const char *name) {
  for (int t = DOUBLE; t >= CHAR; t--) {
    size_t length = strlen(names[t]);
    if (!strncmp(name, names[t], length) && !isalpha((unsigned char)name[length])) return (enum type)t;
  }
  return INT;
}

static void put(void *to, enum type type, const char *text) {
  unsigned long long whole = *text == '-' ? (unsigned long long)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
  double real = strtod(text, NULL);
  switch (type) {
    case CHAR: case UCHAR: *(cl_uchar *)to = (cl_uchar)whole; break;
    case SHORT: case USHORT: *(cl_ushort *)to = (cl_ushort)whole; break;
    case INT: case UINT: *(cl_uint *)to = (cl_uint)whole; break;
    case LONG: case ULONG: *(cl_ulong *)to = whole; break;
    case FLOAT: *(cl_float *)to = (cl_float)real; break;
    case DOUBLE: *(cl_double *)to = real; break;
  }
}

static void show(const void *from, enum type type, int hex) {
  if (hex) {
    unsigned long long bits = 0;
    memcpy(&bits, from, sizes[type]);
    printf("0x%0*llx", (int)sizes[type] * 2, bits);
    return;
  }
  switch (type) {
    case CHAR: printf("%d", *(cl_char *)from); break;
    case UCHAR: printf("%u", *(cl_uchar *)from); break;
    case SHORT: printf("%d", *(cl_short *)from); break;
    case USHORT: printf("%u", *(cl_ushort *)from); break;
    case INT: printf("%d", *(cl_int *)from); break;
    case UINT: printf("%u", *(cl_uint *)from); break;
    case LONG: printf("%lld", (long long)*(cl_long *)from); break;
    case ULONG: printf("%llu", (unsigned long long)*(cl_ulong *)from); break;
    case FLOAT: printf("%g", *(cl_float *)from); break;
    case DOUBLE: printf("%g", *(cl_double *)from); break;
  }
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s FILE.sim [BUILD OPTIONS]\n", argv[0]);
    return 2;
  }
  at = slurp(argv[1]);
  for (char *c = at; *c; c++) {
    if (*c == '#') {
      while (*c && *c != '\n') *c++ = ' ';
      if (!*c) break;
    }
  }
  char *source = slurp(word()), *name = word();
  size_t global[3], local[3];
  for (int d = 0; d < 3; d++) global[d] = strtoul(word(), NULL, 0);
  for (int d = 0; d < 3; d++) local[d] = strtoul(word(), NULL, 0);

  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_program program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &error);
  check(error, "clCreateProgramWithSource");
  char options[256];
  snprintf(options, sizeof options, "-cl-kernel-arg-info %s", argc > 2 ? argv[2] : "");
  error = clBuildProgram(program, 1, &device, options, NULL, NULL);
  if (error) {
    static char log[1 << 16];
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    fputs(log, stderr);
  }
  check(error, "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, name, &error);
  check(error, "clCreateKernel");
  cl_uint count;
  check(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL), "clGetKernelInfo");

  struct {
    cl_mem mem;
    size_t size;
    enum type type;
    int hex;
  } dumps[64] = {0};
  for (cl_uint n = 0; n < count && n < 64; n++) {
    while (*at && *at != '<') at++;
    if (!*at) {
      fprintf(stderr, "argument %u is missing\n", n);
      return 3;
    }
    char *end = strchr(at, '>');
    *end = 0;
    char *attribute = strtok(at + 1, " ");
    at = end + 1;
    size_t size = 0;
    char given[256] = "";
    clGetKernelArgInfo(kernel, n, CL_KERNEL_ARG_TYPE_NAME, sizeof given, given, NULL);
    enum type type = named(given);
    cl_mem_flags flags = CL_MEM_READ_WRITE;
    int dump = 0, hex = 0, null = 0, initial = 1;
    const char *fill = NULL, *range = NULL;
    for (; attribute; attribute = strtok(NULL, " ")) {
      if (!strncmp(attribute, "size=", 5)) size = strtoul(attribute + 5, NULL, 0);
      else if (!strncmp(attribute, "fill=", 5)) fill = attribute + 5;
      else if (!strncmp(attribute, "range=", 6)) range = attribute + 6;
      else if (!strcmp(attribute, "dump")) dump = 1;
      else if (!strcmp(attribute, "hex")) hex = 1;
      else if (!strcmp(attribute, "null")) null = 1;
      else if (!strcmp(attribute, "noinit")) initial = 0;
      else if (!strcmp(attribute, "ro")) flags = CL_MEM_READ_ONLY;
      else if (!strcmp(attribute, "wo")) flags = CL_MEM_WRITE_ONLY;
      else {
        int known = 0;
        for (int t = CHAR; t <= DOUBLE; t++)
          if (!strcmp(attribute, names[t])) type = (enum type)t, known = 1;
        if (!known) {
          fprintf(stderr, "unknown attribute %s\n", attribute);
          return 3;
        }
      }
    }
    cl_kernel_arg_address_qualifier space;
    check(clGetKernelArgInfo(kernel, n, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL), "clGetKernelArgInfo");
    if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) {
      check(clSetKernelArg(kernel, n, size, NULL), "clSetKernelArg");
      continue;
    }
    if (null || size == 0) {
      check(clSetKernelArg(kernel, n, sizeof(cl_mem), NULL), "clSetKernelArg");
      continue;
    }
    unsigned char *data = calloc(1, size + 8);
    size_t elements = size / sizes[type];
    if (range) {
      double first = strtod(range, (char **)&range), step = strtod(range + 1, NULL);
      for (size_t i = 0; i < elements; i++) {
        char text[64];
        snprintf(text, sizeof text, "%.0f", first + step * (double)i);
        put(data + i * sizes[type], type, text);
      }
    } else if (fill) {
      for (size_t i = 0; i < elements; i++) put(data + i * sizes[type], type, fill);
    } else if (initial) {
      for (size_t i = 0; i < elements; i++) {
        char *value = word();
        if (value) put(data + i * sizes[type], type, value);
      }
    }
    if (space == CL_KERNEL_ARG_ADDRESS_PRIVATE) {
      check(clSetKernelArg(kernel, n, size, data), "clSetKernelArg");
      continue;
    }
    cl_mem mem = clCreateBuffer(context, flags | (initial ? CL_MEM_COPY_HOST_PTR : 0), size, initial ? data : NULL, &error);
    check(error, "clCreateBuffer");
    check(clSetKernelArg(kernel, n, sizeof mem, &mem), "clSetKernelArg");
    if (dump) dumps[n].mem = mem, dumps[n].size = size, dumps[n].type = type, dumps[n].hex = hex;
  }
  check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  error = clFinish(queue);
  fflush(stdout);
  for (cl_uint n = 0; n < count && n < 64; n++) {
    if (!dumps[n].mem) continue;
    unsigned char *data = calloc(1, dumps[n].size + 8);
    check(clEnqueueReadBuffer(queue, dumps[n].mem, CL_TRUE, 0, dumps[n].size, data, 0, NULL, NULL), "clEnqueueReadBuffer");
    char argument[256] = "";
    clGetKernelArgInfo(kernel, n, CL_KERNEL_ARG_NAME, sizeof argument, argument, NULL);
    printf("\nArgument '%s': %zu bytes\n", argument, dumps[n].size);
    size_t step = sizes[dumps[n].type];
    for (size_t i = 0; i < dumps[n].size / step; i++) {
      printf("  %s[%zu] = ", argument, i);
      show(data + i * step, dumps[n].type, dumps[n].hex);
      printf("\n");
    }
  }
  check(error, "clFinish");
  return 0;
}
