// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay launch`: one kernel, without a host program.

mod argument;
mod npy;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use margay_ptx::ast::{Item, Variable};
use margay_ptx::types::ScalarType;
use margay_runtime::copy::{Extent, Side, Where};
use margay_runtime::launch::{LaunchRequest, SharedArgument};
use margay_runtime::module::Module;
use margay_runtime::stream::DefaultStream;
use margay_runtime::{Context, CudaError, image};

use self::argument::{Argument, Scalar};
use super::compiler::CompilerArgs;
use super::opencl;
use super::profile::{Profile, ProfileArgs};
use super::ptx::ptx_of;
use super::{child, gpu_name};
use crate::failure::{At, Failure};

/// Launch one kernel of a .cu, .cl or .ptx file.
#[derive(clap::Args)]
#[command(after_help = "\
Arguments, in the kernel's order:
  i32:5  f32:1.5  u64:0x10        a value
  buf:f32[1024]=iota              a device buffer: zeros, ones, iota, or values
  buf:i32[4]=1,2,3,4
  @file.npy                       a device buffer with a NumPy array's contents
  local:1024                      bytes of local memory, for a local pointer of a .cl file
Of a .cl file, --grid counts work-groups and --block is the work-group's size.
Example:
  margay launch saxpy.cu saxpy --grid 4 --block 256 i32:1000 f32:2 \\
    buf:f32[1000]=iota buf:f32[1000]=ones")]
pub struct Args {
    /// A .cu, .cl or .ptx file.
    file: PathBuf,
    /// The kernel: its C++ name, or the mangled one.
    kernel: String,
    /// Blocks: X, X,Y or X,Y,Z.
    #[arg(long, default_value = "1", value_parser = dimensions)]
    grid: [u32; 3],
    /// Threads of a block: X, X,Y or X,Y,Z.
    #[arg(long, default_value = "1", value_parser = dimensions)]
    block: [u32; 3],
    /// Bytes of dynamic shared memory.
    #[arg(long, default_value_t = 0)]
    shared: u32,
    /// Launch cooperatively, for grid-wide barriers.
    #[arg(long)]
    cooperative: bool,
    /// The virtual GPU (`margay gpus` lists them).
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Seconds that the kernel may run before it is stopped (exit code 124); 0 is no limit.
    #[arg(long, value_name = "SECONDS", value_parser = super::run::seconds)]
    timeout: Option<f64>,
    /// Fixes the order of blocks, warps and atomics.
    #[arg(long)]
    seed: Option<u64>,
    /// What runs the kernel: the interpreter, compiled code, or compiled code where it pays (the default).
    #[arg(long, value_parser = ["interp", "jit", "auto"])]
    engine: Option<String>,
    /// Save the buffer of argument N (from 0) after the launch. May be repeated.
    #[arg(long, value_name = "N=FILE.npy")]
    save: Vec<String>,
    /// Elements of each buffer to print.
    #[arg(long, default_value_t = 64, value_name = "COUNT")]
    show: usize,
    /// Print the buffers as one JSON object.
    #[arg(long)]
    json: bool,
    /// Build options of a .cl file, as `clBuildProgram` takes them.
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    cl_options: Option<String>,
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    compiler: CompilerArgs,
    /// The kernel's arguments.
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    arguments: Vec<String>,
}

fn dimensions(text: &str) -> Result<[u32; 3], String> {
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split([',', 'x']).collect();
    if parts.len() > 3 {
        return Err("at most three dimensions".into());
    }
    for (slot, part) in out.iter_mut().zip(parts) {
        *slot = part.trim().parse().map_err(|_| format!("`{part}` is no size"))?;
    }
    Ok(out)
}

/// A buffer on the device, and the argument that it belongs to.
struct Buffer {
    argument: usize,
    scalar: Scalar,
    shape: Vec<usize>,
    address: u64,
    bytes: Vec<u8>,
}

/// Launches, prints, saves.
pub fn run(args: Args) -> Result<u8, Failure> {
    if let Some(gpu) = &args.gpu {
        gpu_name::find(gpu)?;
    }
    // The child of the launch below finds the directory in its environment, and launches.
    if let Some(profile) = args.profile.wanted()?
        && std::env::var_os("MARGAY_PROFILE").is_none()
    {
        return profiled(&profile);
    }
    let settings = [
        ("MARGAY_GPU", args.gpu.clone()),
        ("MARGAY_TIMEOUT", args.timeout.map(|s| s.to_string())),
        ("MARGAY_SEED", args.seed.map(|s| s.to_string())),
        ("MARGAY_ENGINE", args.engine.clone()),
    ];
    for (name, value) in settings {
        if let Some(value) = value {
            // SAFETY: no other thread exists yet.
            unsafe { std::env::set_var(name, value) };
        }
    }
    let saves = args.save.iter().map(|s| save_target(s)).collect::<Result<Vec<_>, _>>()?;
    let arguments =
        args.arguments.iter().map(|a| Argument::parse(a)).collect::<Result<Vec<_>, _>>()?;
    let is_opencl = opencl::is_source(&args.file);
    let text = if is_opencl {
        opencl::refuse_cuda_flags(&args.file, &args.compiler)?;
        opencl::compile(&args.file, args.cl_options.as_deref(), args.gpu.as_deref())?
            .ptx
            .into_bytes()
    } else {
        opencl::refuse_options(&args.file, args.cl_options.as_deref())?;
        let text = ptx_of(&args.file, None, args.gpu.as_deref(), &args.compiler)?;
        let Some(text) = text else { return Ok(0) };
        text
    };

    let runtime =
        margay_runtime::init().map_err(|e| Failure::Usage(format!("no virtual GPU: {e}")))?;
    let device = runtime.device(0).map_err(failed("the device"))?;
    let context = device.retain_primary();
    let sm = device.gpu.cc().sm();
    let code = image::compile(&text, sm).map_err(|f| load_failure(&args.file, &f))?;
    let module = if is_opencl {
        let loaded = context.load_opencl(code).map_err(|f| load_failure(&args.file, &f))?;
        loaded.1.lines().for_each(margay_runtime::report::warn);
        loaded.0
    } else {
        context.load_ir(code).map_err(|f| load_failure(&args.file, &f))?
    };
    let name = kernel_name(&module, &args.kernel)?;
    let function = module.function(&name).map_err(failed("the kernel"))?;

    let types = parameter_types(&text, &name);
    let declared = &function.code().params;
    if declared.len() != arguments.len() {
        return Err(Failure::Usage(format!(
            "{}: the kernel takes {} argument(s), {} given",
            args.kernel,
            declared.len(),
            arguments.len()
        )));
    }
    let mut params = vec![0; function.code().param_size as usize];
    let mut buffers = Vec::new();
    let fixed = function.fixed_shared().map_err(failed("the kernel"))?;
    let mut local_top = u64::from(fixed);
    let mut shared_arguments = Vec::new();
    let stream = context.stream(0, DefaultStream::Legacy).map_err(failed("the stream"))?;
    for (index, argument) in arguments.iter().enumerate() {
        let given = &args.arguments[index];
        if let Some(what) = types.get(index).and_then(|t| mismatch(argument, *t)) {
            return Err(Failure::Usage(format!("argument {index} (`{given}`): {what}")));
        }
    }
    for (index, (argument, param)) in arguments.into_iter().zip(declared).enumerate() {
        let bytes = match argument {
            Argument::Value { bytes, scalar: _ } => bytes,
            Argument::Local { bytes } => {
                if param.pointee != Some(margay_ir::Space::Shared) {
                    let given = &args.arguments[index];
                    return Err(Failure::Usage(format!(
                        "argument {index} (`{given}`): the kernel's parameter is no pointer to local memory"
                    )));
                }
                // Aligned for any type of OpenCL C.
                let at = local_top.next_multiple_of(128);
                shared_arguments.push(SharedArgument {
                    param: param.offset,
                    first: at,
                    bytes: u64::from(bytes),
                });
                local_top = at + u64::from(bytes);
                at.to_le_bytes().to_vec()
            }
            Argument::Buffer { scalar, shape, bytes } => {
                let size = bytes.len() as u64;
                let address = match is_opencl {
                    true => context.buffer(size, 256, "buffer"),
                    false => context.mem_alloc(size),
                };
                let address = address.map_err(failed("a buffer"))?;
                let from = Side::linear(bytes.as_ptr() as u64, Where::Host);
                let to = Side::linear(address, Where::Device);
                context
                    .copy(&stream, to, from, Extent::linear(bytes.len() as u64))
                    .map_err(failed("a copy"))?;
                buffers.push(Buffer { argument: index, scalar, shape, address, bytes });
                address.to_le_bytes().to_vec()
            }
        };
        if bytes.len() != param.size as usize {
            return Err(Failure::Usage(format!(
                "argument {index} (`{}`) has {} bytes, and the kernel's parameter has {}",
                args.arguments[index],
                bytes.len(),
                param.size
            )));
        }
        let start = param.offset as usize;
        params[start..start + bytes.len()].copy_from_slice(&bytes);
    }

    let request = LaunchRequest {
        grid: args.grid,
        block: args.block,
        cluster: None,
        dynamic_shared: args.shared + (local_top - u64::from(fixed)) as u32,
        cooperative: args.cooperative,
        params,
        shared_arguments,
    };
    if is_opencl {
        let dimensions = (1..=3).rev().find(|d| args.grid[d - 1] * args.block[d - 1] > 1);
        let range = margay_opencl_c::Range {
            dimensions: dimensions.unwrap_or(1) as u32,
            offset: [0; 3],
            global: std::array::from_fn(|d| u64::from(args.grid[d]) * u64::from(args.block[d])),
            local: args.block,
        };
        let items: u64 = args.block.iter().map(|n| u64::from(*n)).product();
        let most = function.max_threads().map_err(failed("the kernel"))?;
        if items == 0 || items > u64::from(most) {
            return Err(Failure::Usage(format!(
                "--block: a work-group of {items} work-items; kernel {name} takes 1 to {most} on this \
                 device (CL_INVALID_WORK_GROUP_SIZE)"
            )));
        }
        let environment = range.environment([0; 3]);
        context.run(&function, request, environment).map_err(|failure| {
            margay_runtime::report::opencl_failure(&function, &failure, [0; 3]);
            let what = "the kernel: it did not end well".to_owned();
            if failure.timed_out() { Failure::Stopped(what) } else { Failure::Work(what) }
        })?;
    } else {
        context.launch(&function, &stream, request).map_err(failed("the launch"))?;
        context.synchronize().map_err(failed("the kernel"))?;
    }
    fetch(&context, &stream, &mut buffers)?;
    print(&args, &name, &buffers);
    for (argument, path) in saves {
        let buffer = buffers.iter().find(|b| b.argument == argument).ok_or_else(|| {
            Failure::Usage(format!("--save {argument}=…: argument {argument} is no buffer"))
        })?;
        npy::write(&path, buffer.scalar, &buffer.shape, &buffer.bytes)?;
    }
    Ok(0)
}

/// The same command as a child, whose counts become the report when it has ended.
fn profiled(profile: &Profile) -> Result<u8, Failure> {
    let program = std::env::current_exe().at(Path::new("margay"), "cannot find itself")?;
    let mut command = Command::new(&program);
    command.args(std::env::args_os().skip(1));
    profile.prepare(&mut command);
    let status = child::run(&mut command)?;
    let words: Vec<String> =
        std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    profile.finish(&words, status, Vec::new())
}

/// The declared types of a kernel's parameters; arrays, which are structures in C++, have none.
fn parameter_types(ptx: &[u8], kernel: &str) -> Vec<Option<ScalarType>> {
    // Compiled before, so it parses.
    let Ok(module) = margay_ptx::parse_bytes(ptx) else { return Vec::new() };
    let entry = module.items.iter().find_map(|item| match item {
        Item::Function(f) if module.name(f.name.symbol) == kernel => Some(f),
        _ => None,
    });
    let one = |v: &Variable| (v.dims.is_empty() && v.vector.is_none()).then_some(v.ty);
    entry.map(|f| f.params.iter().map(one).collect()).unwrap_or_default()
}

/// What is wrong with passing the argument as a parameter of the type. Untyped bits take anything.
fn mismatch(argument: &Argument, ty: Option<ScalarType>) -> Option<String> {
    let wants_float = match ty? {
        ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => true,
        ScalarType::U8
        | ScalarType::U16
        | ScalarType::U32
        | ScalarType::U64
        | ScalarType::S8
        | ScalarType::S16
        | ScalarType::S32
        | ScalarType::S64 => false,
        _ => return None,
    };
    let given = match argument {
        Argument::Value { scalar, .. } => *scalar,
        Argument::Buffer { .. } if wants_float => {
            return Some("a buffer, and the kernel's parameter is a floating-point number".into());
        }
        Argument::Buffer { .. } | Argument::Local { .. } => return None,
    };
    let (is, wants) = match (given.is_float(), wants_float) {
        (true, false) => ("a floating-point number", "an integer or a pointer"),
        (false, true) => ("an integer", "a floating-point number"),
        (true, true) | (false, false) => return None,
    };
    Some(format!("{is}, and the kernel's parameter is {wants}"))
}

fn fetch(
    context: &Context,
    stream: &margay_runtime::stream::Stream,
    buffers: &mut [Buffer],
) -> Result<(), Failure> {
    for buffer in buffers {
        let to = Side::linear(buffer.bytes.as_mut_ptr() as u64, Where::Host);
        let from = Side::linear(buffer.address, Where::Device);
        context
            .copy(stream, to, from, Extent::linear(buffer.bytes.len() as u64))
            .map_err(failed("a copy"))?;
    }
    Ok(())
}

fn print(args: &Args, kernel: &str, buffers: &[Buffer]) {
    let elements = |b: &Buffer| -> Vec<String> {
        b.bytes.chunks_exact(b.scalar.bytes()).take(args.show).map(|e| b.scalar.show(e)).collect()
    };
    if args.json {
        let list: Vec<_> = buffers
            .iter()
            .map(|b| {
                let values: Vec<serde_json::Value> = elements(b)
                    .iter()
                    // NaN and the infinities are no JSON numbers.
                    .map(|e| serde_json::from_str(e).unwrap_or_else(|_| e.clone().into()))
                    .collect();
                serde_json::json!({
                    "argument": b.argument, "type": b.scalar.name(), "shape": b.shape, "values": values,
                })
            })
            .collect();
        println!("{}", serde_json::json!({ "kernel": kernel, "buffers": list }));
        return;
    }
    for buffer in buffers {
        let shape: Vec<String> = buffer.shape.iter().map(usize::to_string).collect();
        println!("argument {}: {}[{}]", buffer.argument, buffer.scalar.name(), shape.join("]["));
        let shown = elements(buffer);
        for line in shown.chunks(8) {
            println!("  {}", line.join(" "));
        }
        let count = buffer.bytes.len() / buffer.scalar.bytes();
        if count > shown.len() {
            println!(
                "  … {} more (--show {count}, or --save {}=FILE.npy)",
                count - shown.len(),
                buffer.argument
            );
        }
    }
}

fn save_target(text: &str) -> Result<(usize, PathBuf), Failure> {
    text.split_once('=')
        .and_then(|(n, file)| Some((n.parse().ok()?, PathBuf::from(file))))
        .ok_or_else(|| Failure::Usage(format!("--save {text}: expected N=FILE.npy")))
}

/// The kernel whose name, or whose C++ name without its parameters, is as given.
fn kernel_name(module: &Arc<Module>, wanted: &str) -> Result<String, Failure> {
    let names = module.kernel_names();
    if names.iter().any(|n| n == wanted) {
        return Ok(wanted.to_string());
    }
    let found: Vec<&String> =
        names.iter().filter(|n| plain(n).as_deref() == Some(wanted)).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let known: Vec<String> =
                names.iter().map(|n| plain(n).unwrap_or_else(|| n.clone())).collect();
            let list = if known.is_empty() { "none".into() } else { known.join(", ") };
            Err(Failure::Usage(format!("no kernel `{wanted}`; the file has: {list}")))
        }
        [..] => {
            let list: Vec<&str> = found.iter().map(|n| n.as_str()).collect();
            Err(Failure::Usage(format!("`{wanted}` is ambiguous; name one of {}", list.join(", "))))
        }
    }
}

/// `_Z5saxpyifPfS_` is `saxpy`.
fn plain(mangled: &str) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(mangled).ok()?;
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    symbol.demangle(&options).ok()
}

fn load_failure(file: &Path, failure: &image::LoadFailure) -> Failure {
    Failure::Work(format!("{}: {}\n{}", file.display(), failure.error, failure.log.trim_end()))
}

fn failed(what: &'static str) -> impl Fn(CudaError) -> Failure {
    move |error| {
        let text = format!("{what}: {error}");
        if error == CudaError::LaunchTimeout { Failure::Stopped(text) } else { Failure::Work(text) }
    }
}
