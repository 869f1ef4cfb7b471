// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which call of an API is being made, and where in the host program.
//!
//! Kept only where a tool asks for it: the frames are noted when the call is made, and names and lines are looked up once
//! somebody wants to tell of them.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use margay_observe::tool::{ApiCall, Caller, HostPlace};
use parking_lot::Mutex;

/// Frames that are kept of a call, of which our own libraries have up to thirty.
const FRAMES: usize = 48;

static WANTED: AtomicBool = AtomicBool::new(false);

/// A tool wants to know.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// The call that this thread is in, if anybody wants to know.
pub fn now() -> Option<Caller> {
    if !WANTED.load(Ordering::Relaxed) {
        return None;
    }
    let mut frames: Vec<u64> = Vec::with_capacity(FRAMES);
    backtrace::trace(|frame| {
        frames.push(frame.ip() as u64);
        frames.len() < FRAMES
    });
    frames.shrink_to_fit();
    Some(Caller::new(move || known(&frames)))
}

/// The call that led to these frames, which others may have led to before: what leaks is often of one place.
fn known(frames: &[u64]) -> ApiCall {
    static KNOWN: Mutex<BTreeMap<Vec<u64>, ApiCall>> = Mutex::new(BTreeMap::new());
    if let Some(call) = KNOWN.lock().get(frames) {
        return call.clone();
    }
    // Without the lock, as this takes time.
    let call = call(frames);
    KNOWN.lock().insert(frames.to_vec(), call.clone());
    call
}

/// What the loader knows of an address in code.
struct Symbol {
    library: String,
    base: u64,
    /// The exported function that it is in.
    name: Option<String>,
}

impl Symbol {
    /// Of the call before a place that is returned to.
    fn before(frame: u64) -> Option<Symbol> {
        // SAFETY: all zeros is a value of this structure of C's.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        let at = frame.saturating_sub(1) as *const c_void;
        // SAFETY: any address may be asked for; the answer is written to our own variable.
        if unsafe { libc::dladdr(at, &raw mut info) } == 0 {
            return None;
        }
        let text = |text: *const libc::c_char| {
            // SAFETY: not null, so a name that the loader keeps as long as the library is there; and its code is, as
            // it was called from.
            let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
            text.map(|text| text.to_string_lossy().into_owned())
        };
        Some(Symbol {
            library: text(info.dli_fname).unwrap_or_default(),
            base: info.dli_fbase as u64,
            name: text(info.dli_sname),
        })
    }

    /// The file's name, without its directory.
    fn file(&self) -> &str {
        self.library.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it is of the libraries that stand between the program and us.
    fn is_of_an_api(&self) -> bool {
        const LIBRARIES: [&str; 4] = ["libcuda.so", "libcudart", "libmargay", "libOpenCL.so"];
        LIBRARIES.iter().any(|library| self.file().starts_with(library))
    }

    /// The function's name, if it is an API's, as programs write it.
    fn call(&self) -> Option<&str> {
        let name = self.name.as_deref()?;
        let is_call = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(char::is_uppercase))
        };
        ["cu", "cuda", "cl"].into_iter().any(is_call).then(|| written(name))
    }
}

/// A call's name without what headers add for versions and for default streams (`cuMemAlloc_v2`).
fn written(name: &str) -> &str {
    let name = ["_ptds", "_ptsz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    match name.rsplit_once("_v") {
        Some((plain, version)) if version.parse::<u32>().is_ok() => plain,
        Some(_) | None => name,
    }
}

/// The call that led to these frames, from the inside.
fn call(frames: &[u64]) -> ApiCall {
    let mut symbols = frames.iter().map(|frame| (*frame, Symbol::before(*frame)));
    let mut name = None;
    let outside = symbols.by_ref().find_map(|(frame, symbol)| {
        let symbol = symbol.filter(|symbol| symbol.is_of_an_api());
        match symbol {
            Some(symbol) => {
                name = symbol.call().map(str::to_owned).or_else(|| name.take());
                None
            }
            None => Some(frame),
        }
    });
    // A queue's own thread has none.
    let (Some(first), Some(name)) = (outside, name) else { return ApiCall::default() };
    let rest = symbols.filter(|(_, symbol)| !symbol.as_ref().is_some_and(Symbol::is_of_an_api));
    let frames = std::iter::once(first).chain(rest.map(|(frame, _)| frame));
    let own = place(frames).filter(|(_, is_own)| *is_own).map(|(place, _)| place);
    ApiCall { name: Some(name), place: own.or_else(|| unknown(first)) }
}

/// For code whose source is not known: the function, or else the library and how far inside.
fn unknown(frame: u64) -> Option<HostPlace> {
    if let Some((place, _)) = place(std::iter::once(frame)) {
        return Some(place);
    }
    let symbol = Symbol::before(frame)?;
    let inside = frame.checked_sub(symbol.base)?;
    let function = format!("{}+{inside:#x}", symbol.file());
    Some(HostPlace { function, ..HostPlace::default() })
}

/// Whether a file is of the program itself, and not of the system's headers or ours.
fn is_own(file: &str) -> bool {
    let path = Path::new(file);
    let is_ours = path.parent().is_some_and(|folder| folder.ends_with("margay"))
        && path.extension().is_some_and(|end| end == "h");
    !file.starts_with("/usr/") && !is_ours && path.is_file()
}

/// Of places in the host program that each called the one before, the first that the program's own source has, and that it
/// is that; else the first that is known at all.
pub fn place(frames: impl Iterator<Item = u64>) -> Option<(HostPlace, bool)> {
    let mut known: Option<HostPlace> = None;
    for frame in frames {
        let mut own: Option<HostPlace> = None;
        backtrace::resolve(frame as *mut c_void, |symbol| {
            let place = HostPlace {
                function: symbol.name().map(|name| name.to_string()).unwrap_or_default(),
                file: symbol.filename().map(|file| file.display().to_string()),
                line: symbol.lineno().unwrap_or(0),
                column: symbol.colno().unwrap_or(0),
            };
            if own.is_none() && place.file.as_deref().is_some_and(is_own) {
                own = Some(place);
            } else if known.is_none() && !place.function.is_empty() {
                known = Some(place);
            }
        });
        if let Some(own) = own {
            return Some((own, true));
        }
    }
    known.map(|place| (place, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_programs_write_them() {
        for (exported, name) in [
            ("cuMemAlloc_v2", "cuMemAlloc"),
            ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"),
            ("cudaMemcpyAsync_ptsz", "cudaMemcpyAsync"),
            ("cudaMalloc", "cudaMalloc"),
            ("clCreateBuffer", "clCreateBuffer"),
        ] {
            assert_eq!(written(exported), name);
        }
        let call = |name: &str| {
            let name = Some(name.to_owned());
            let symbol = Symbol { library: "/a/libcuda.so.1".to_owned(), base: 0, name };
            assert!(symbol.is_of_an_api());
            symbol.call().map(str::to_owned)
        };
        assert_eq!(call("cudaFree").as_deref(), Some("cudaFree"));
        assert_eq!(call("current"), None);
    }

    #[test]
    fn nothing_is_kept_unless_somebody_wants_it() {
        assert!(now().is_none());
    }

    #[test]
    fn headers_of_ours_are_not_the_programs() {
        let folder = std::env::temp_dir().join(format!("margay-caller-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("margay")).unwrap();
        let [ours, theirs] = ["margay/runtime_templates.h", "a.cu"].map(|name| folder.join(name));
        for file in [&ours, &theirs] {
            std::fs::write(file, "").unwrap();
        }
        let own = [&ours, &theirs].map(|file| is_own(&file.display().to_string()));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(own, [false, true]);
        assert!(!is_own("/no/such/file.cu"));
    }
}
