// SPDX-License-Identifier: MIT OR Apache-2.0
// C++ in device code: a class of data, a derived class with virtual functions, class and function
// templates, and a functor.
#include "example.h"

// A class of data: members and operators on both sides.
class Pixel {
  unsigned char r, g, b;

public:
  __host__ __device__ Pixel() : r(0), g(0), b(0) {}
  __host__ __device__ Pixel(int r, int g, int b) : r(r), g(g), b(b) {}
  __host__ __device__ Pixel operator+(const Pixel &p) const {
    return Pixel(r + p.r, g + p.g, b + p.b);
  }
  __host__ __device__ int sum() const { return r + g + b; }
};

__global__ void data_class(Pixel *pixels, int n) {
  int i = threadIdx.x;
  if (i < n)
    pixels[i] = pixels[i] + Pixel(i, 2 * i, 1);
}

// A derived class: the object is made where its virtual functions run.
class Shape {
public:
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
class Square : public Shape {
  float side;

public:
  __device__ Square(float side) : side(side) {}
  __device__ float area() const override { return side * side; }
};
class Rectangle : public Square {
  float factor;

public:
  __device__ Rectangle(float side, float factor) : Square(side), factor(factor) {}
  __device__ float area() const override { return factor * Square::area(); }
};

__global__ void derived_class(float *areas) {
  int i = threadIdx.x;
  Shape *shape = i % 2 ? (Shape *)new Square(i) : (Shape *)new Rectangle(i, 3);
  areas[i] = shape->area();
  delete shape;
}

// A class template with a static number and a specialisation.
template <class T, int N> class Window {
  T values[N];
  int next = 0;

public:
  __device__ void push(T v) { values[next++ % N] = v; }
  __device__ T sum() const {
    T s = 0;
    for (int i = 0; i < N; i++)
      s += values[i];
    return s;
  }
};
template <class T> class Window<T, 1> {
  T value;

public:
  __device__ void push(T v) { value = v; }
  __device__ T sum() const { return value; }
};

template <class T, int N> __global__ void class_template(T *out) {
  Window<T, N> window;
  for (int i = 0; i < 10; i++)
    window.push(T(threadIdx.x + i));
  out[threadIdx.x] = window.sum();
}

// A function template with a specialisation for one type.
template <class T> __device__ T twice(T v) { return v + v; }
template <> __device__ int twice<int>(int v) { return v * 2 + 1000; }

__global__ void function_template(float *f, int *i) {
  f[threadIdx.x] = twice(f[threadIdx.x]);
  i[threadIdx.x] = twice(i[threadIdx.x]);
}

// A functor and a lambda as arguments of a kernel.
struct Scale {
  float by;
  __device__ float operator()(float v) const { return v * by; }
};
template <class F> __global__ void apply(float *data, F f) {
  data[threadIdx.x] = f(data[threadIdx.x]);
}

int main() {
  const int n = 32;
  Pixel *pixels;
  float *f;
  int *k;
  CUDA(cudaMallocManaged(&pixels, n * sizeof *pixels));
  CUDA(cudaMallocManaged(&f, n * sizeof *f));
  CUDA(cudaMallocManaged(&k, n * sizeof *k));
  bool ok = true;
  for (int i = 0; i < n; i++)
    pixels[i] = Pixel(1, 2, 3);
  data_class<<<1, n>>>(pixels, n);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++)
    ok &= pixels[i].sum() == 7 + 3 * i;
  expect(ok, "a class of data");
  derived_class<<<1, n>>>(f);
  CUDA(cudaDeviceSynchronize());
  ok = true;
  for (int i = 0; i < n; i++)
    ok &= f[i] == i * i * (i % 2 ? 1 : 3);
  expect(ok, "derived classes, by virtual functions");
  class_template<int, 4><<<1, n>>>(k);
  CUDA(cudaDeviceSynchronize());
  ok = true;
  for (int i = 0; i < n; i++)
    ok &= k[i] == 4 * i + 30;
  class_template<int, 1><<<1, n>>>(k);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++)
    ok &= k[i] == i + 9;
  expect(ok, "a class template and its specialisation");
  for (int i = 0; i < n; i++)
    f[i] = k[i] = i;
  function_template<<<1, n>>>(f, k);
  CUDA(cudaDeviceSynchronize());
  ok = true;
  for (int i = 0; i < n; i++)
    ok &= f[i] == 2 * i && k[i] == 2 * i + 1000;
  expect(ok, "a function template and its specialisation");
  apply<<<1, n>>>(f, Scale{1.5f});
  CUDA(cudaDeviceSynchronize());
  ok = true;
  for (int i = 0; i < n; i++)
    ok &= f[i] == 3 * i;
  expect(ok, "a functor");
  return verdict();
}
