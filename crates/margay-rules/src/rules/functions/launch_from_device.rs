// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG107: Kernels launched from device code need 3.5 and separate compilation.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG107",
    name: "launch-from-device",
    group: Group::Functions,
    summary: "Kernels launched from device code need 3.5 and separate compilation",
    severity: Severity::Error,
    what: "Reports `<<<…>>>` in device code where dynamic parallelism does not exist: before \
           compute capability 3.5, or without `-rdc=true`.",
    why: "A launch on the device calls the device runtime, which is linked into relocatable \
           device code only and needs hardware from 3.5 on.",
    illegal: Example::new(
        r#"__global__ void child(int *p) { p[0] = 1; }
__global__ void parent(int *p) { child<<<1, 1>>>(p); }
"#,
    ),
    legal: Example::new(
        r#"__global__ void child(int *p) { p[0] = 1; }
int main() { child<<<1, 1>>>(nullptr); return cudaDeviceSynchronize(); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"CUDA Dynamic Parallelism\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "reference to __global__ function * in __global__ function",
        "reference to __global__ function * in __device__ function",
        "no matching *call to __global__ function from __",
    ],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    for launch in &facts.launches {
        if !facts.on_device(launch.node) {
            continue;
        }
        let finding = |why: String| {
            Finding::new(
                RULE.code,
                facts.place(launch.node),
                "a kernel is launched from device code",
            )
            .note(why)
        };
        if facts.sm() < 35 {
            out.push(finding(format!(
                "dynamic parallelism needs compute capability 3.5; this is {}",
                facts.capability()
            )));
        } else if !facts.environment.relocatable {
            out.push(finding("it needs separate compilation: -rdc=true".into()));
        }
    }
}
