// SPDX-License-Identifier: MIT OR Apache-2.0
//! `libmargay_jit.so`, opened when code is first wanted.

#[cfg(target_arch = "x86_64")]
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::Library;

use super::{background, cache};

/// Version of the library's interface that this engine speaks.
const VERSION: u32 = 1;
const NAME: &str = "libmargay_jit.so";
/// A module with something of what kernels have, after which LLVM has set up what it sets up late.
const FIRST: &str = "declare <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr>, i32, <32 x i1>, <32 x i32>)
declare i32 @llvm.vector.reduce.add.v32i32(<32 x i32>)
define i32 @first(ptr %p, ptr %q) {
  %a = load <32 x i32>, ptr %p, align 4
  %m = icmp slt <32 x i32> %a, zeroinitializer
  %w = sext <32 x i32> %a to <32 x i64>
  %at = getelementptr i32, ptr %q, <32 x i64> %w
  %g = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %at, i32 4, <32 x i1> %m, <32 x i32> %a)
  %f = sitofp <32 x i32> %g to <32 x float>
  %s = fadd <32 x float> %f, %f
  %t = fptosi <32 x float> %s to <32 x i32>
  store <32 x i32> %t, ptr %p, align 4
  %r = call i32 @llvm.vector.reduce.add.v32i32(<32 x i32> %t)
  ret i32 %r
}
";

#[repr(C)]
struct Bytes {
    data: *mut u8,
    length: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Text {
    data: *const u8,
    length: usize,
}

impl Text {
    fn of(s: &str) -> Text {
        Text { data: s.as_ptr(), length: s.len() }
    }
}

type Compile = unsafe extern "C" fn(Text, Text, Text, Text, u32, *mut Bytes) -> i32;
type Free = unsafe extern "C" fn(Bytes);
type Host = unsafe extern "C" fn(*mut Bytes);

/// The opened library.
pub struct Jit {
    compile: Compile,
    free: Free,
    /// The name of this machine's processor and its features, as LLVM writes them, on two lines.
    host: String,
    _library: Library,
}

/// The processor that code is made for, as LLVM names it.
pub struct Target {
    pub cpu: String,
    pub features: String,
}

/// The processor that code is made for, or why there can be none. LLVM is asked once and its answer kept with the
/// cached objects, so that a process whose kernels are all there need not open LLVM, which takes some 50 ms.
pub fn target() -> Result<&'static Target, String> {
    let find = || {
        let key = key(&file()?);
        match kept(&key) {
            Some(host) => choose(&host),
            None => {
                let jit = get()?;
                cache::put(&key, jit.host.as_bytes());
                choose(&jit.host)
            }
        }
    };
    TARGET.get_or_init(find).as_ref().map_err(String::clone)
}

/// [`target`], where LLVM need not be opened for it.
pub fn known_target() -> Option<Result<&'static Target, String>> {
    if TARGET.get().is_none() {
        if LOOKED.swap(true, Ordering::Relaxed) {
            return None;
        }
        if let Ok(file) = file() {
            let host = kept(&key(&file))?;
            return Some(TARGET.get_or_init(|| choose(&host)).as_ref().map_err(String::clone));
        }
    }
    Some(target())
}

static TARGET: OnceLock<Result<Target, String>> = OnceLock::new();
/// Whether the cache was asked for it.
static LOOKED: AtomicBool = AtomicBool::new(false);

/// Where the cache has what LLVM says of this machine.
fn key(file: &Path) -> String {
    cache::key(&[b"target", stamp(file).as_bytes(), processor().as_bytes()])
}

fn kept(key: &str) -> Option<String> {
    cache::get(key).and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Which build of the library a file is.
fn stamp(file: &Path) -> String {
    let Ok(data) = file.metadata() else { return String::new() };
    format!("{} {:?} {:?}", file.display(), data.len(), data.modified().ok())
}

/// What the processor says of itself, of that on which LLVM's description of it rests. (The system's list of all of them takes
/// milliseconds to read on large machines.)
#[cfg(target_arch = "x86_64")]
fn processor() -> String {
    use std::arch::x86_64::{__cpuid_count, _xgetbv};
    /// Leaves with the maker, the model and the features.
    const LEAVES: [(u32, u32); 12] = [
        (0, 0),
        (1, 0),
        (7, 0),
        (7, 1),
        (0xd, 1),
        (0x14, 0),
        (0x19, 0),
        (0x1e, 1),
        (0x24, 0),
        (0x8000_0000, 0),
        (0x8000_0001, 0),
        (0x8000_0008, 0),
    ];
    /// Of the first leaf of features: the processor lets programs ask what registers the system saves.
    const XSAVE: u32 = 1 << 27;
    /// The first leaf's second register says which core this is, and the last one's third how many there are.
    const OWN: [(u32, usize); 2] = [(1, 1), (0x8000_0008, 2)];
    // SAFETY: every x86-64 processor has the instruction. (Newer compilers do not ask for the word.)
    #[allow(unused_unsafe)]
    let cpuid = |leaf, sub| unsafe { __cpuid_count(leaf, sub) };
    let (most, most_extended) = (cpuid(0, 0).eax, cpuid(0x8000_0000, 0).eax);
    let mut text = String::new();
    for (leaf, sub) in LEAVES {
        let there = if leaf < 0x8000_0000 { leaf <= most } else { leaf <= most_extended };
        if !there {
            continue;
        }
        let r = cpuid(leaf, sub);
        for (n, value) in [r.eax, r.ebx, r.ecx, r.edx].into_iter().enumerate() {
            let value = if OWN.contains(&(leaf, n)) { 0 } else { value };
            let _ = write!(text, "{value:x} ");
        }
        if leaf == 1 && r.ecx & XSAVE != 0 {
            // SAFETY: the processor and the system have the instruction, as the bit says.
            let saved = unsafe { xgetbv() };
            let _ = write!(text, "{saved:x} ");
        }
    }
    /// # Safety
    /// The processor has the instruction.
    #[target_feature(enable = "xsave")]
    unsafe fn xgetbv() -> u64 {
        // SAFETY: by the contract; register 0 is always there.
        unsafe { _xgetbv(0) }
    }
    text
}

/// There is no code for other processors.
#[cfg(not(target_arch = "x86_64"))]
fn processor() -> String {
    String::new()
}

/// The library, or why it cannot be had.
pub fn get() -> Result<&'static Jit, String> {
    static JIT: OnceLock<Result<Jit, String>> = OnceLock::new();
    if background::is_lost() {
        return Err("this process was made by fork while its parent opened LLVM".to_owned());
    }
    JIT.get_or_init(open).as_ref().map_err(String::clone)
}

/// Says that there is no LLVM, unless nothing is to be said.
pub fn tell_missing(why: &str) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    let off = |v: String| v == "0" || v.eq_ignore_ascii_case("off");
    ONCE.call_once(|| {
        if !std::env::var("MARGAY_LOG").is_ok_and(off) {
            eprintln!("margay: kernels are interpreted: {why}");
        }
    });
}

/// Where the library may lie: beside this one, beside the executable, where `make install` puts it.
fn places() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(file) = std::env::var_os("MARGAY_JIT_LIBRARY") {
        return vec![file.into()];
    }
    if let Some(own) = own_file()
        && let Some(folder) = own.parent()
    {
        folders.push(folder.to_owned());
        folders.push(folder.join("../lib/margay"));
    }
    if let Ok(executable) = std::env::current_exe()
        && let Some(folder) = executable.parent()
    {
        folders.push(folder.to_owned());
        // Test programs lie one folder below the libraries.
        folders.push(folder.join(".."));
        folders.push(folder.join("../lib/margay"));
    }
    folders.into_iter().map(|f| f.join(NAME)).collect()
}

/// The file that this code was loaded from.
fn own_file() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: an all-zero record is valid; the call fills it.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for.
    let found = unsafe { libc::dladdr(get as *const () as *const libc::c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a name that `dladdr` gives is a C string of the loader.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) };
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    path.canonicalize().ok()
}

/// Whether code could be made on this kind of machine, were the library there.
pub fn possible() -> bool {
    cfg!(all(target_arch = "x86_64", target_os = "linux"))
}

/// Where the library lies.
fn file() -> Result<PathBuf, String> {
    if !possible() {
        return Err("code is made for x86-64 Linux only".to_owned());
    }
    let found = places().into_iter().find(|f| f.is_file());
    found.ok_or_else(|| format!("{NAME} is not installed beside margay's other libraries"))
}

fn open() -> Result<Jit, String> {
    let file = file()?;
    let fail = |e: libloading::Error| format!("{}: {e}", file.display());
    let _steps = background::FirstSteps::begin().ok_or("the process exits")?;
    // SAFETY: the library is ours; its initialisers are those of LLVM.
    let library = unsafe { Library::new(&file) }.map_err(fail)?;
    // SAFETY: these are the types that the library exports under these names, which its version
    // vouches for.
    unsafe {
        let version: extern "C" fn() -> u32 =
            *library.get(b"margay_jit_version\0").map_err(fail)?;
        let found = version();
        if found != VERSION {
            let file = file.display();
            return Err(format!("{file} has version {found}, not {VERSION}: install it again"));
        }
        let compile: Compile = *library.get(b"margay_jit_compile\0").map_err(fail)?;
        let free: Free = *library.get(b"margay_jit_free\0").map_err(fail)?;
        let host: Host = *library.get(b"margay_jit_host\0").map_err(fail)?;
        let mut text = Bytes { data: std::ptr::null_mut(), length: 0 };
        host(&mut text);
        let bytes = std::slice::from_raw_parts(text.data, text.length).to_vec();
        free(text);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Jit { compile, free, host: text, _library: library })
    }
}

/// The processor to make code for, on a host that LLVM describes so.
fn choose(host: &str) -> Result<Target, String> {
    let (mut cpu, mut features) = match host.split_once('\n') {
        Some((c, f)) => (c.to_owned(), f.to_owned()),
        None => (host.to_owned(), String::new()),
    };
    if let Ok(wish) = std::env::var("MARGAY_CPU")
        && !wish.is_empty()
    {
        (cpu, features) = (level(&wish)?.to_owned(), String::new());
    }
    // What `saved` keeps is all that code may have: no extended general-purpose registers, and
    // AVX-512 only with masks of 64 bits.
    features = features.replace("+egpr", "-egpr");
    // LLVM 19 lets operands of a comparison of halves change places and not the comparison (`vcmpph` with a mask
    // and a load): they are compared as floats.
    features = features.replace("+avx512fp16", "-avx512fp16");
    let masks = std::is_x86_feature_detected!("avx512bw");
    if std::is_x86_feature_detected!("avx512f") && !masks {
        (cpu, features) = (level("x86-64-v3")?.to_owned(), String::new());
    }
    let has = [
        std::is_x86_feature_detected!("avx2"),
        std::is_x86_feature_detected!("fma"),
        std::is_x86_feature_detected!("f16c"),
    ];
    if has.contains(&false) {
        return Err("the processor has no AVX2 with FMA and F16C".to_owned());
    }
    Ok(Target { cpu, features })
}

/// A level of x86-64 that this processor has.
fn level(name: &str) -> Result<&'static str, String> {
    let four = ["f", "bw", "cd", "dq", "vl"];
    let has = [
        std::is_x86_feature_detected!("avx512f"),
        std::is_x86_feature_detected!("avx512bw"),
        std::is_x86_feature_detected!("avx512cd"),
        std::is_x86_feature_detected!("avx512dq"),
        std::is_x86_feature_detected!("avx512vl"),
    ];
    match name {
        "x86-64-v3" => Ok("x86-64-v3"),
        "x86-64-v4" => match has.iter().zip(four).find(|(has, _)| !**has) {
            None => Ok("x86-64-v4"),
            Some((_, part)) => Err(format!("MARGAY_CPU=x86-64-v4: no avx512{part} here")),
        },
        _ => Err(format!("MARGAY_CPU={name} is neither x86-64-v3 nor x86-64-v4")),
    }
}

impl Jit {
    /// Compiles a module to an ELF object.
    pub fn compile(&self, module: &str, passes: &str, level: u32) -> Result<Vec<u8>, String> {
        let _inside = self.enter(passes).ok_or("the process exits")?;
        let made = self.compile_inside(module, passes, level);
        // A defect of ours, which the interpreter would hide from every test.
        if cfg!(debug_assertions)
            && let Err(why) = &made
        {
            eprintln!("margay: LLVM refuses the text of a kernel: {why}");
            std::process::abort();
        }
        made
    }

    fn enter(&self, passes: &str) -> Option<background::Inside> {
        background::Inside::enter(|| {
            let _ = self.compile_inside(FIRST, passes, 2);
        })
    }

    /// Has LLVM set up what it sets up when it first compiles.
    pub fn set_up(&self, passes: &str) {
        drop(self.enter(passes));
    }

    fn compile_inside(&self, module: &str, passes: &str, level: u32) -> Result<Vec<u8>, String> {
        let target = target()?;
        let mut out = Bytes { data: std::ptr::null_mut(), length: 0 };
        // SAFETY: the texts live through the call, and `out` is ours.
        unsafe {
            let status = (self.compile)(
                Text::of(module),
                Text::of(&target.cpu),
                Text::of(&target.features),
                Text::of(passes),
                level,
                &mut out,
            );
            let bytes = std::slice::from_raw_parts(out.data, out.length).to_vec();
            (self.free)(out);
            match status {
                0 => Ok(bytes),
                _ => Err(String::from_utf8_lossy(&bytes).into_owned()),
            }
        }
    }
}
