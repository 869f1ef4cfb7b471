// SPDX-License-Identifier: MIT OR Apache-2.0
//! C's macros: the plain constants, and by hand those with a cast or with another name's value,
//! which the bindings cannot have.

use super::line;
use crate::model::Model;

/// Constants with an integer for a value. The versions' own are in `margay/version.h`.
pub fn constants(out: &mut String, model: &Model) {
    for constant in &model.constants {
        if constant.name != "CUDART_VERSION" && constant.name != "CUDA_VERSION" {
            line(out, format_args!("#define {} {}", constant.name, constant.value));
        }
    }
}

pub fn driver_decorations(out: &mut String) {
    line(out, "#ifndef CUDAAPI\n#define CUDAAPI\n#endif");
    line(out, "#ifndef CUDA_CB\n#define CUDA_CB CUDART_CB\n#endif");
}

/// The runtime's macros with casts, and the older names of launch attributes.
pub fn runtime(out: &mut String, model: &Model) {
    line(out, "#define cudaStreamLegacy ((cudaStream_t)0x1)");
    line(out, "#define cudaStreamPerThread ((cudaStream_t)0x2)");
    line(out, "#define cudaCpuDeviceId ((int)-1)");
    line(out, "#define cudaInvalidDeviceId ((int)-2)");
    for (attribute, value) in [
        ("cudaStreamAttrID", "cudaLaunchAttributeID"),
        ("cudaKernelNodeAttrID", "cudaLaunchAttributeID"),
        ("cudaStreamAttrValue", "cudaLaunchAttributeValue"),
        ("cudaKernelNodeAttrValue", "cudaLaunchAttributeValue"),
    ] {
        line(out, format_args!("#define {attribute} {value}"));
    }
    aliases(out, model, "cudaLaunchAttribute", &["cudaStreamAttribute", "cudaKernelNodeAttribute"]);
}

/// The driver's macros with casts, and the older names of launch attributes.
pub fn driver(out: &mut String, model: &Model) {
    line(out, "#define CU_STREAM_LEGACY ((CUstream)0x1)");
    line(out, "#define CU_STREAM_PER_THREAD ((CUstream)0x2)");
    line(out, "#define CU_DEVICE_CPU ((CUdevice)-1)");
    line(out, "#define CU_DEVICE_INVALID ((CUdevice)-2)");
    line(out, "#define CU_LAUNCH_PARAM_END ((void *)0x00)");
    line(out, "#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)");
    line(out, "#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)");
    aliases(
        out,
        model,
        "CU_LAUNCH_ATTRIBUTE_",
        &["CU_STREAM_ATTRIBUTE_", "CU_KERNEL_NODE_ATTRIBUTE_"],
    );
}

/// Before launch attributes there were a stream's and a kernel node's: their names remain, where
/// the enumerations do not have them.
fn aliases(out: &mut String, model: &Model, prefix: &str, older: &[&str]) {
    let all = model.enumerations.iter().flat_map(|enumeration| &enumeration.enumerators);
    for (name, _) in all {
        let Some(rest) = name.strip_prefix(prefix) else { continue };
        for older in older {
            let alias = format!("{older}{rest}");
            if model.enumerator(&alias).is_none() {
                line(out, format_args!("#define {alias} {name}"));
            }
        }
    }
}
