// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bodies of launchers in PTX: a buffer for the parameters, the parameters, the launch (CUDA C++ Programming Guide,
//! "Device-side Launch from PTX").

use std::fmt::Write;

use super::lowered::Launcher;

/// Parameters of a launcher before those of the kernel: its address, six dimensions, shared bytes, the stream.
const OWN: usize = 9;

const BUFFER: &str = ".extern .func (.param .b64 func_retval0) cudaGetParameterBufferV2(\n\
    \t.param .b64 func,\n\t.param .align 4 .b8 gridDimension[12],\n\t.param .align 4 .b8 blockDimension[12],\n\
    \t.param .b32 sharedMemSize\n)\n;\n";
const LAUNCH: &str = ".extern .func (.param .b32 func_retval0) cudaLaunchDeviceV2(\n\
    \t.param .b64 parameterBuffer,\n\t.param .b64 stream\n)\n;\n";

/// A parameter as the backend declares it.
struct Parameter<'a> {
    name: &'a str,
    size: u32,
    align: u32,
}

/// Puts a body in the place of each launcher's declaration.
pub fn with_bodies(ptx: &str, launchers: &[Launcher]) -> Result<String, String> {
    let mut out = String::with_capacity(ptx.len() + launchers.len() * 2048);
    let mut rest = ptx;
    let mut declared = false;
    while let Some(at) = rest.find(".extern .func ") {
        let end = rest[at..].find(';').map_or(rest.len(), |n| at + n + 1);
        let declaration = &rest[at..end];
        let name =
            declaration[".extern .func ".len()..].split(['(', '\n', ' ']).find(|w| !w.is_empty());
        let launcher = launchers.iter().find(|launcher| Some(launcher.name.as_str()) == name);
        out.push_str(&rest[..at]);
        match launcher {
            Some(launcher) => {
                if !std::mem::replace(&mut declared, true) {
                    for (name, prototype) in
                        [("cudaGetParameterBufferV2", BUFFER), ("cudaLaunchDeviceV2", LAUNCH)]
                    {
                        // A program may launch by these functions itself.
                        if !ptx.contains(&format!(") {name}\n")) {
                            out.push_str(prototype);
                        }
                    }
                }
                out.push_str(&body(declaration, launcher)?);
            }
            None => out.push_str(declaration),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The parameters of a declaration.
fn parameters(declaration: &str) -> Option<Vec<Parameter<'_>>> {
    let inside = declaration.split_once('(')?.1.rsplit_once(')')?.0;
    inside
        .split(',')
        .map(|text| {
            let mut words = text.split_whitespace().peekable();
            (words.next()? == ".param").then_some(())?;
            let mut align = None;
            if words.peek() == Some(&".align") {
                words.next();
                align = Some(words.next()?.parse().ok()?);
            }
            let bits: u32 = words.next()?.get(2..)?.parse().ok()?;
            let name = words.next()?;
            let (name, count) = match name.split_once('[') {
                Some((name, count)) => (name, count.trim_end_matches(']').parse().ok()?),
                None => (name, 1),
            };
            Some(Parameter { name, size: bits / 8 * count, align: align.unwrap_or(bits / 8) })
        })
        .collect()
}

fn body(declaration: &str, launcher: &Launcher) -> Result<String, String> {
    let parameters = parameters(declaration)
        .filter(|p| p.len() == OWN + launcher.sizes.len())
        .ok_or_else(|| format!("the declaration of {} is not as expected", launcher.name))?;
    let head = declaration.trim_start_matches(".extern ").trim_end_matches(';').trim_end();
    let (own, passed) = parameters.split_at(OWN);
    let mut out = format!("{head}\n{{\n");
    let mut line = |text: String| {
        let _ = writeln!(out, "\t{text}");
    };
    line(".reg .pred \t%none;\n\t.reg .b16 \t%half;\n\t.reg .b32 \t%word;\n\t.reg .b64 \t%to, %value;".into());
    line("{\n\t.param .b64 func;\n\t.param .align 4 .b8 grid[12];\n\t.param .align 4 .b8 block[12];\n\t.param .b32 shared;\n\t.param .b64 buffer;".into());
    line(format!("ld.param.b64 \t%value, [{}];\n\tst.param.b64 \t[func], %value;", own[0].name));
    for (at, parameter) in own[1..7].iter().enumerate() {
        let (to, axis) = if at < 3 { ("grid", at) } else { ("block", at - 3) };
        line(format!(
            "ld.param.b32 \t%word, [{}];\n\tst.param.b32 \t[{to}+{}], %word;",
            parameter.name,
            axis * 4
        ));
    }
    // More than fits into 32 bits is more than any device has.
    line(format!(
        "ld.param.b64 \t%value, [{}];\n\tmin.u64 \t%value, %value, 4294967295;",
        own[7].name
    ));
    line("cvt.u32.u64 \t%word, %value;\n\tst.param.b32 \t[shared], %word;".into());
    line("call.uni (buffer), cudaGetParameterBufferV2, (func, grid, block, shared);".into());
    line("ld.param.b64 \t%to, [buffer];\n\t}".into());
    // What was wrong is the thread's last error.
    line("setp.eq.s64 \t%none, %to, 0;\n\t@%none ret;".into());
    let mut offset: u32 = 0;
    for (parameter, narrow) in passed.iter().zip(&launcher.sizes) {
        let (size, align) = narrow.map_or((parameter.size, parameter.align), |size| (size, size));
        offset = offset.next_multiple_of(align.max(1));
        let step = align.clamp(1, 8).min(size.max(1));
        let register = match step {
            1 | 2 => "%half",
            4 => "%word",
            _ => "%value",
        };
        for at in (0..size).step_by(step as usize) {
            let bits = step * 8;
            line(format!("ld.param.b{bits} \t{register}, [{}+{at}];", parameter.name));
            line(format!("st.b{bits} \t[%to+{}], {register};", offset + at));
        }
        offset += size;
    }
    line("{\n\t.param .b64 parameters;\n\t.param .b64 stream;\n\t.param .b32 error;".into());
    line(format!("st.param.b64 \t[parameters], %to;\n\tld.param.b64 \t%value, [{}];", own[8].name));
    line("st.param.b64 \t[stream], %value;".into());
    line("call.uni (error), cudaLaunchDeviceV2, (parameters, stream);\n\t}\n\tret;".into());
    out.push_str("}\n");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_lie_as_the_kernel_has_them() {
        let own: String = (0..9)
            .map(|n| {
                format!("\t.param .b{} l_param_{n},\n", if (1..7).contains(&n) { 32 } else { 64 })
            })
            .collect();
        let ptx = format!(
            ".version 8.3\n.extern .func l\n(\n{own}\t.param .b32 l_param_9,\n\t.param .align 8 .b8 l_param_10[16],\n\t.param .b32 l_param_11\n)\n;\n"
        );
        let launchers = [Launcher { name: "l".into(), sizes: vec![Some(1), None, Some(2)] }];
        let out = with_bodies(&ptx, &launchers).unwrap();
        for part in [
            "cudaGetParameterBufferV2(",
            "cudaLaunchDeviceV2(",
            "ld.param.b8 \t%half, [l_param_9+0];\n\tst.b8 \t[%to+0], %half;",
            "ld.param.b64 \t%value, [l_param_10+8];\n\tst.b64 \t[%to+16], %value;",
            "ld.param.b16 \t%half, [l_param_11+0];\n\tst.b16 \t[%to+24], %half;",
        ] {
            assert!(out.contains(part), "{part}\n{out}");
        }
        assert!(!out.contains(".extern .func l"));
        let few = [Launcher { name: "l".into(), sizes: vec![] }];
        assert!(with_bodies(&ptx, &few).is_err());
        let parsed = margay_ptx::parse(
            &out.replace(".version 8.3", ".version 8.3\n.target sm_80\n.address_size 64"),
        );
        assert!(parsed.is_ok(), "{parsed:?}");
    }
}
