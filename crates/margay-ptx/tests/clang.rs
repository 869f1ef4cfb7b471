// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX as clang writes it, for several targets and with debugging sections. Skipped, with a word on
//! stderr, where there is no `clang-19`.

use margay_ptx::{parse, print};
use std::process::{Command, Stdio};

/// A little of everything, without any header.
const SOURCE: &str = r#"
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
typedef unsigned long long u64;
struct Pair { int a; double b; char c[5]; };
struct Base { __device__ virtual int f(int x) { return x + 1; } };
struct Derived : Base { __device__ int f(int x) override { return x * 3; } };
__device__ int counter = 7;
__device__ float vectors[4][3] = {{1, 2, 3}, {4.5f, -6, 1e10f}, {}, {0, 0, 1}};
__device__ const char *message = "hello";
__constant__ double table[3] = {1.0, 2.0, 3.5};
__device__ int (*pointer)(int);
extern "C" __device__ int vprintf(const char *, void *);
__device__ __attribute__((noinline)) int twice(int x) { return 2 * x; }
__device__ __attribute__((noinline)) int down(int n) { return n < 2 ? n : down(n - 1) + down(n - 2); }
__device__ __attribute__((noinline)) Pair make(Pair p, int i) { p.a += i; p.b *= 0.5; p.c[1] = 'x'; return p; }
__global__ void kernel(int *out, const float *__restrict__ in, u64 n, Pair pair) {
  __shared__ float tile[256];
  int i = __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ctaid_x() * 256;
  int local[16];
  for (int k = 0; k < 16; ++k) local[k] = out[k ^ i];
  tile[i & 255] = in[i] * 2.0f + 1.0f;
  __syncthreads();
  if ((u64)i < n) {
    switch (out[i]) {
      case 0: out[i] = twice(counter); break;
      case 1: out[i] = down(i); break;
      case 2: out[i] = (int)tile[255 - (i & 255)]; break;
      case 3: out[i] = (int)(table[i % 3] / 3.0); break;
      case 4: out[i] = local[i & 15]; break;
      default: out[i] = pointer(i);
    }
  }
  Derived d;
  Base *b = n > 3 ? (Base *)&d : nullptr;
  if (b) out[0] += b->f(i);
  pair = make(pair, i);
  out[1] = pair.a + (int)pair.b + pair.c[1] + __nvvm_atom_add_gen_i(&counter, 3);
  struct { int x; double y; } args = {i, 2.5};
  vprintf("%d %f\n", &args);
  double root = __builtin_sqrt(pair.b), div = pair.b / root;
  out[2] = (int)div + (short)out[3] * (unsigned char)out[4] + __builtin_popcountll(n) + __builtin_clz(i);
  if (out[5] == 17) __builtin_trap();
}
"#;

fn compile(flags: &[&str]) -> Option<String> {
    use std::io::Write;
    let base = [
        "-x",
        "cuda",
        "-nocudainc",
        "-nocudalib",
        "--cuda-device-only",
        "-S",
        "-o",
        "-",
        "-Wno-everything",
    ];
    let child = Command::new("clang++-19")
        .args(base)
        .args(flags)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) => {
            eprintln!("skipped: clang++-19: {e}");
            return None;
        }
    };
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(SOURCE.as_bytes())
        .expect("clang reads its input");
    let output = child.wait_with_output().expect("clang ends");
    assert!(output.status.success(), "clang failed with {flags:?}");
    Some(String::from_utf8(output.stdout).expect("PTX is text"))
}

#[test]
fn what_clang_writes_survives() {
    for flags in [
        &["-O2", "--cuda-gpu-arch=sm_90", "--cuda-feature=+ptx83"][..],
        &["-O0", "--cuda-gpu-arch=sm_70", "--cuda-feature=+ptx70"],
        &["-O1", "-g", "--cuda-gpu-arch=sm_80", "--cuda-feature=+ptx75"],
        &["-O2", "-gline-tables-only", "--cuda-gpu-arch=sm_52", "--cuda-feature=+ptx60"],
        &["-O3", "-ffast-math", "--cuda-gpu-arch=sm_35", "--cuda-feature=+ptx43"],
    ] {
        let Some(text) = compile(flags) else { return };
        let mut module = parse(&text).unwrap_or_else(|errors| {
            panic!(
                "{flags:?}\n{}",
                errors.iter().map(|e| e.render("clang", &text)).collect::<String>()
            );
        });
        let kernel = module
            .functions()
            .find(|f| module.name(f.name.symbol).contains("kernel"))
            .expect("the kernel");
        assert_eq!(kernel.params.len(), 4);
        assert!(kernel.body.as_ref().is_some_and(|b| b.statements.len() > 50));
        let printed = print(&module);
        let mut again = parse(&printed)
            .unwrap_or_else(|e| panic!("{flags:?}: {}", e[0].render("printed", &printed)));
        assert_eq!(print(&again), printed);
        module.erase_spans();
        again.erase_spans();
        assert!(module == again, "{flags:?}: the round trip changed the tree");
    }
}
