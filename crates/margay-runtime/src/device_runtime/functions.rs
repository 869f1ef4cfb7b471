// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the device run time (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism", "API
//! Reference" and "Device-side Launch from PTX"), and the PTX that linked code gets for each.
//!
//! A function widens its arguments to 64-bit words and calls the engine. It has several names: the guide's; that with `__cudaCDP2` in place of `cuda`, which NVIDIA's headers of CUDA 12 give it;
//! and both with `_ptsz`. Limit: in the last ones stream 0 should be each thread's own; here it stays its
//! block's, which is an order that a program may see as well.

use std::collections::BTreeSet;
use std::fmt::Write;

/// How an argument is passed, and how it is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// 32 bits.
    W,
    /// 64 bits.
    Q,
    /// `dim3`: three words.
    D,
    /// A structure of so many 64-bit words, by value.
    Value(u32),
    /// A pointer to a structure of so many 64-bit words, which the engine reads: the first argument only.
    Points(u32),
}

impl Pass {
    fn words(self) -> u32 {
        match self {
            Pass::W | Pass::Q | Pass::Points(_) => 1,
            Pass::D => 3,
            Pass::Value(words) => words,
        }
    }
}

macro_rules! functions {
    ($( $variant:ident $name:literal ($($pass:expr),*) -> $result:ident )*) => {
        /// A function of the device run time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Call {
            $( #[doc = $name] $variant, )*
        }

        impl Call {
            /// All, in the order of their numbers.
            pub const ALL: &'static [Call] = &[$( Call::$variant, )*];

            /// The guide's name.
            pub fn name(self) -> &'static str {
                match self { $( Call::$variant => $name, )* }
            }

            fn passes(self) -> &'static [Pass] {
                use Pass::*;
                match self { $( Call::$variant => &[$($pass),*], )* }
            }

            fn result(self) -> Pass {
                match self { $( Call::$variant => Pass::$result, )* }
            }
        }
    };
}

functions! {
    GetParameterBuffer "cudaGetParameterBuffer" (Q, Q) -> Q
    GetParameterBufferV2 "cudaGetParameterBufferV2" (Q, D, D, W) -> Q
    LaunchDevice "cudaLaunchDevice" (Q, Q, D, D, W, Q) -> W
    LaunchDeviceV2 "cudaLaunchDeviceV2" (Q, Q) -> W
    DeviceSynchronize "cudaDeviceSynchronize" () -> W
    SynchronizeKnowingly "__cudaDeviceSynchronizeDeprecationAvoidance" () -> W
    GetLastError "cudaGetLastError" () -> W
    PeekAtLastError "cudaPeekAtLastError" () -> W
    GetErrorString "cudaGetErrorString" (W) -> Q
    GetErrorName "cudaGetErrorName" (W) -> Q
    GetDevice "cudaGetDevice" (Q) -> W
    GetDeviceCount "cudaGetDeviceCount" (Q) -> W
    DeviceGetAttribute "cudaDeviceGetAttribute" (Q, W, W) -> W
    DeviceGetLimit "cudaDeviceGetLimit" (Q, W) -> W
    DeviceGetCacheConfig "cudaDeviceGetCacheConfig" (Q) -> W
    DeviceGetSharedMemConfig "cudaDeviceGetSharedMemConfig" (Q) -> W
    RuntimeGetVersion "cudaRuntimeGetVersion" (Q) -> W
    StreamCreateWithFlags "cudaStreamCreateWithFlags" (Q, W) -> W
    StreamDestroy "cudaStreamDestroy" (Q) -> W
    StreamWaitEvent "cudaStreamWaitEvent" (Q, Q, W) -> W
    EventCreateWithFlags "cudaEventCreateWithFlags" (Q, W) -> W
    EventRecord "cudaEventRecord" (Q, Q) -> W
    EventRecordWithFlags "cudaEventRecordWithFlags" (Q, Q, W) -> W
    EventDestroy "cudaEventDestroy" (Q) -> W
    FuncGetAttributes "cudaFuncGetAttributes" (Q, Q) -> W
    Malloc "cudaMalloc" (Q, Q) -> W
    Free "cudaFree" (Q) -> W
    MemcpyAsync "cudaMemcpyAsync" (Q, Q, Q, W, Q) -> W
    Memcpy2DAsync "cudaMemcpy2DAsync" (Q, Q, Q, Q, Q, Q, W, Q) -> W
    Memcpy3DAsync "cudaMemcpy3DAsync" (Points(20), Q) -> W
    MemsetAsync "cudaMemsetAsync" (Q, W, Q, Q) -> W
    Memset2DAsync "cudaMemset2DAsync" (Q, Q, W, Q, Q, Q) -> W
    Memset3DAsync "cudaMemset3DAsync" (Value(4), W, Value(3), Q) -> W
    MaxActiveBlocks "cudaOccupancyMaxActiveBlocksPerMultiprocessor" (Q, Q, W, Q) -> W
    MaxActiveBlocksWithFlags "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" (Q, Q, W, Q, W) -> W
    GraphLaunch "cudaGraphLaunch" (Q, Q) -> W
}

/// Words that the engine is passed.
const WORDS: u32 = 10;

impl Call {
    /// The function that a program means by a name.
    pub fn by_name(name: &str) -> Option<Call> {
        let plain = name.strip_suffix("_ptsz").unwrap_or(name);
        let guide = plain.strip_prefix("__cudaCDP2").map(|rest| format!("cuda{rest}"));
        let guide = guide.as_deref().unwrap_or(plain);
        Call::ALL.iter().copied().find(|call| call.name() == guide)
    }

    /// The function with this number.
    pub fn by_number(number: u32) -> Option<Call> {
        Call::ALL.get(number as usize).copied()
    }

    /// Writes the function under a name.
    fn write(self, name: &str, out: &mut String) {
        let types = |(at, pass): (usize, &Pass)| match pass {
            Pass::W => format!(".param .b32 a{at}"),
            Pass::Q | Pass::Points(_) => format!(".param .b64 a{at}"),
            Pass::D => format!(".param .align 4 .b8 a{at}[12]"),
            Pass::Value(words) => format!(".param .align 8 .b8 a{at}[{}]", words * 8),
        };
        let parameters: Vec<String> = self.passes().iter().enumerate().map(types).collect();
        let result = if self.result() == Pass::Q { "b64" } else { "b32" };
        let mut line = |text: String| {
            out.push_str(&text);
            out.push('\n');
        };
        line(format!(".visible .func (.param .{result} r) {name}({})\n{{", parameters.join(", ")));
        line(
            "  .reg .b64 %value;\n  .reg .b32 %word;\n  {\n    .param .b32 f;\n    .param .b64 q;"
                .to_owned(),
        );
        let mut number = self as u32;
        let mut loads = Vec::new();
        for (at, pass) in self.passes().iter().enumerate() {
            if let Pass::Points(words) = pass {
                number |= words << 16;
            }
            loads.extend((0..pass.words()).map(|word| match pass {
                Pass::Q | Pass::Points(_) => format!("ld.param.b64 %value, [a{at}];"),
                Pass::Value(_) => format!("ld.param.b64 %value, [a{at}+{}];", word * 8),
                Pass::W | Pass::D => format!(
                    "ld.param.b32 %word, [a{at}+{}];\n    cvt.u64.u32 %value, %word;",
                    word * 4
                ),
            }));
        }
        for word in 0..WORDS as usize {
            let load = loads.get(word).map_or("mov.b64 %value, 0;", String::as_str);
            line(format!(
                "    .param .b64 p{word};\n    {load}\n    st.param.b64 [p{word}], %value;"
            ));
        }
        let words: Vec<String> = (0..WORDS).map(|word| format!("p{word}")).collect();
        line(format!("    st.param.b32 [f], {number};"));
        line(format!("    call (q), __margay_device_runtime, (f, {});", words.join(", ")));
        line("    ld.param.b64 %value, [q];\n  }".to_owned());
        match self.result() {
            Pass::Q => line("  st.param.b64 [r], %value;".to_owned()),
            Pass::W | Pass::D | Pass::Value(_) | Pass::Points(_) => {
                line("  cvt.u32.u64 %word, %value;\n  st.param.b32 [r], %word;".to_owned())
            }
        }
        line("  ret;\n}".to_owned());
    }
}

/// PTX of those functions that are among the names; `None` if none is.
pub fn ptx_of(names: &[String]) -> Option<String> {
    let mut out = String::from(".version 6.0\n.target sm_30\n.address_size 64\n");
    let words: Vec<String> = (0..WORDS).map(|word| format!(".param .b64 a{word}")).collect();
    let _ = writeln!(
        out,
        ".extern .func (.param .b64 result) __margay_device_runtime(.param .b32 function, {});",
        words.join(", ")
    );
    let mut any = false;
    // Each file that needs one names it.
    let names: BTreeSet<&String> = names.iter().collect();
    for name in names {
        if let Some(call) = Call::by_name(name) {
            let _ = writeln!(out, "// {}", call.name());
            call.write(name, &mut out);
            any = true;
        }
    }
    any.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_ptx_under_each_of_its_names() {
        let mut names = Vec::new();
        for call in Call::ALL {
            let plain = call.name().to_owned();
            names.extend([format!("{plain}_ptsz"), plain.clone()]);
            if let Some(rest) = plain.strip_prefix("cuda") {
                names.push(format!("__cudaCDP2{rest}"));
            }
            assert_eq!(Call::by_number(*call as u32), Some(*call));
        }
        names.push("cudaMalloc".to_owned());
        let text = ptx_of(&names).unwrap();
        let module = crate::image::lower(text.as_bytes()).unwrap();
        for name in &names {
            let id = module.function(name).unwrap_or_else(|| panic!("{name}"));
            let function = &module.functions[id.0 as usize];
            assert!(function.unsupported.is_empty(), "{name}: {:?}", function.unsupported);
            assert!(!function.blocks.is_empty());
        }
        assert!(margay_ir::verify(&module).is_ok());
    }

    #[test]
    fn other_names_are_none_of_ours() {
        for name in ["vprintf", "malloc", "cudaCDP2Malloc", "__cudaCDP2", "cuda", ""] {
            assert_eq!(Call::by_name(name), None, "{name}");
        }
        assert_eq!(ptx_of(&["f".to_owned()]), None);
    }
}
