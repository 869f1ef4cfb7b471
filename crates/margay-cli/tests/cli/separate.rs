// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device code of several files.

use super::{Place, clang, libraries};

const MAIN: &str = "#include <cstdio>\n\
    extern __device__ int other(int);\n\
    __global__ void k(int *p) { *p = other(1); }\n\
    int main() {\n  int *p;\n  cudaMallocManaged(&p, 4);\n  k<<<1, 1>>>(p);\n  cudaDeviceSynchronize();\n  \
      printf(\"%d\\n\", *p);\n}\n";
const OTHER: &str = "__device__ int g = 41;\n__device__ int other(int a) { return a + g; }\n";

fn place() -> Place {
    let place = Place::empty();
    place.write("main.cu", MAIN).write("other.cu", OTHER);
    place
}

#[test]
fn what_does_not_link_is_said_with_the_cure() {
    if !clang("what_does_not_link_is_said_with_the_cure") || !libraries("the link") {
        return;
    }
    let place = place();
    place.write("again.cu", "__device__ int other(int a) { return a; }\n");
    place.fails(
        &["cc", "main.cu", "other.cu"],
        1,
        "margay: error: main.cu: its device code is not complete\n  \
           unresolved extern function 'other(int)', called by 'k(int*)'\n\
         Where another file defines it, compile them all with -rdc=true.",
    );
    place.fails(
        &["cc", "-rdc=true", "main.cu"],
        1,
        "margay: error: the device code does not link\n  \
           Undefined reference to 'other(int)' in 'main.cu'\n\
         Is the file that defines it missing on the command line, or compiled without -rdc=true or -dc?",
    );
    place.fails(
        &["cc", "-rdc=true", "main.cu", "other.cu", "again.cu"],
        1,
        "margay: error: the device code does not link\n  \
           Multiple definition of 'other(int)' in 'again.cu', first defined in 'other.cu'",
    );
    place.fails(
        &["cc", "-dlink", "main.cu"],
        2,
        "margay: error: main.cu: -dlink takes objects; compile with -dc first",
    );
}

#[test]
fn what_kernels_use_is_known_once_they_are_linked() {
    if !clang("what_kernels_use_is_known_once_they_are_linked") || !libraries("the link") {
        return;
    }
    let place = place();
    let got =
        place.margay(&["cc", "-rdc=true", "-arch=sm_80", "-Xptxas", "-v", "main.cu", "other.cu"]);
    assert_eq!((got.code, got.stdout.as_str()), (0, ""), "{}", got.stderr);
    let (before, after) =
        got.stderr.split_once("Not known for _Z1kPi: it calls '_Z5otheri'").unwrap();
    assert!(!before.contains("Used"), "{before}");
    let linked = after.split_once("Compiling entry function '_Z1kPi' for 'sm_80'").unwrap().1;
    assert!(linked.contains(" registers, 8 bytes cmem[0]"), "{linked}");
}

#[test]
fn objects_archives_and_a_device_link_of_its_own() {
    if !clang("objects_archives_and_a_device_link_of_its_own") || !libraries("the link") {
        return;
    }
    let place = place();
    std::fs::create_dir(place.path("sub")).unwrap();
    // The same name as written on the command line, in another directory.
    place.write("sub/main.cu", "__device__ int unused() { return 0; }\n");
    let done = |arguments: &[&str]| {
        let outcome = place.margay(arguments);
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{arguments:?}");
        outcome.stdout
    };
    let run = |arguments: &[&str]| assert_eq!(done(arguments), "42\n", "{arguments:?}");
    run(&["run", "-rdc=true", "main.cu", "other.cu"]);
    for (source, object) in [("main.cu", "main.o"), ("other.cu", "other.o")] {
        done(&["cc", "-dc", source, "-o", object]);
    }
    let mut inside = place.command(&["cc", "-dc", "main.cu"]);
    let inside = place.finish(inside.current_dir(place.path("sub")));
    assert_eq!(inside.code, 0, "{}", inside.stderr);
    done(&["cc", "main.o", "other.o", "sub/main.o", "-o", "app"]);
    run(&["run", "./app"]);
    let mut ar = std::process::Command::new("ar");
    let ar = ar.args(["rcs", "libother.a", "other.o"]).current_dir(place.path(""));
    assert!(ar.status().is_ok_and(|status| status.success()));
    done(&["cc", "main.o", "-L.", "-lother", "-o", "with_archive"]);
    run(&["run", "./with_archive"]);
    done(&["cc", "-dlink", "main.o", "libother.a", "-o", "linked.o"]);
    done(&["cc", "main.o", "linked.o", "libother.a", "-o", "prelinked"]);
    run(&["run", "./prelinked"]);
}
