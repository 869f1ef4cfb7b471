// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects as the program holds them: handles and reference counts.
//!
//! A handle points at a header whose only word is the dispatch table, which the ICD loader reads. The object
//! itself is found in its kind's table. It stays there as long as the program has references or another
//! object uses it; a handle that a query gives of such an object can be retained again.
//!
//! Invariant: headers are never unmapped, and one is used again only after many others, so that the loader
//! survives a call with a released handle and the call gets the error that the specification names.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::{Arc, Weak};

use opencl_sys::cl_icd::cl_icd_dispatch;
use opencl_sys::cl_int;
use parking_lot::Mutex;

use crate::Result;

/// What lies behind a handle.
#[repr(C)]
struct Header {
    dispatch: &'static cl_icd_dispatch,
    // A header is never the address of anything else of the same size class.
    _reserved: usize,
}

/// Released headers wait until so many are waiting.
const QUARANTINE: usize = 4096;
const CHUNK: usize = 256;

#[derive(Default)]
struct Headers {
    fresh: Vec<usize>,
    retired: VecDeque<usize>,
}

static HEADERS: Mutex<Headers> =
    Mutex::new(Headers { fresh: Vec::new(), retired: VecDeque::new() });

fn new_header() -> usize {
    let mut headers = HEADERS.lock();
    if headers.retired.len() > QUARANTINE
        && let Some(address) = headers.retired.pop_front()
    {
        return address;
    }
    if headers.fresh.is_empty() {
        let make = |_| Header { dispatch: &crate::exports::DISPATCH, _reserved: 0 };
        let chunk: &'static [Header] = Box::leak((0..CHUNK).map(make).collect());
        headers.fresh.extend(chunk.iter().map(|h| std::ptr::from_ref(h).addr()));
        // The addresses are given to C, which reads through them.
        std::ptr::from_ref(chunk).cast::<Header>().expose_provenance();
    }
    headers.fresh.pop().unwrap_or_default()
}

/// An object's place in its table; dropping it ends the handle.
pub struct Id {
    address: usize,
    forget: fn(usize),
}

impl Id {
    pub fn address(&self) -> usize {
        self.address
    }

    /// The handle.
    pub fn handle(&self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.address)
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        (self.forget)(self.address);
        HEADERS.lock().retired.push_back(self.address);
    }
}

/// A kind of object.
pub trait Object: Send + Sync + Sized + 'static {
    /// What a call with no handle of this kind returns.
    const INVALID: cl_int;
    fn table() -> &'static Table<Self>;
    fn id(&self) -> &Id;
    /// Whether the handle is good as long as another object uses this one, though the program has released it.
    const USE_KEEPS_HANDLE: bool = true;

    /// The handle for C.
    fn handle(&self) -> *mut c_void {
        self.id().handle()
    }
}

struct Entry<T> {
    /// Held while the program has references.
    strong: Option<Arc<T>>,
    weak: Weak<T>,
    references: u32,
}

/// All objects of one kind.
pub struct Table<T> {
    map: Mutex<Option<HashMap<usize, Entry<T>>>>,
}

impl<T> Table<T> {
    pub const fn new() -> Table<T> {
        Table { map: Mutex::new(None) }
    }
}

fn forget<T: Object>(address: usize) {
    if let Some(map) = T::table().map.lock().as_mut() {
        map.remove(&address);
    }
}

/// Makes an object with one reference, which is the program's.
pub fn publish<T: Object>(build: impl FnOnce(Id) -> T) -> Arc<T> {
    enter(build(Id { address: new_header(), forget: forget::<T> }))
}

/// As [`publish`], for what may fail to be made.
pub fn try_publish<T: Object>(build: impl FnOnce(Id) -> Result<T>) -> Result<Arc<T>> {
    build(Id { address: new_header(), forget: forget::<T> }).map(enter)
}

fn enter<T: Object>(object: T) -> Arc<T> {
    let object = Arc::new(object);
    let (strong, weak) = (Some(object.clone()), Arc::downgrade(&object));
    let entry = Entry { strong, weak, references: 1 };
    let address = object.id().address();
    T::table().map.lock().get_or_insert_default().insert(address, entry);
    object
}

/// Makes an object that the program has no reference to yet.
pub fn internal<T: Object>(build: impl FnOnce(Id) -> T) -> Arc<T> {
    let object = publish(build);
    drop(take_reference::<T>(object.handle()));
    object
}

/// The object of a handle.
pub fn get<T: Object>(handle: *mut c_void) -> Result<Arc<T>> {
    let map = T::table().map.lock();
    let entry = map.as_ref().and_then(|m| m.get(&handle.addr()));
    let entry = entry.filter(|e| T::USE_KEEPS_HANDLE || e.references > 0);
    entry.and_then(|e| e.weak.upgrade()).ok_or(T::INVALID)
}

/// Gives the program one more reference.
pub fn retain<T: Object>(handle: *mut c_void) -> Result<()> {
    let mut map = T::table().map.lock();
    let entry = map.as_mut().and_then(|m| m.get_mut(&handle.addr())).ok_or(T::INVALID)?;
    if !T::USE_KEEPS_HANDLE && entry.references == 0 {
        return Err(T::INVALID);
    }
    let object = entry.weak.upgrade().ok_or(T::INVALID)?;
    entry.strong = Some(object);
    entry.references += 1;
    Ok(())
}

/// Takes a reference back; what it held comes out, to be dropped outside the table's lock.
fn take_reference<T: Object>(handle: *mut c_void) -> Result<Option<Arc<T>>> {
    let mut map = T::table().map.lock();
    let entry = map.as_mut().and_then(|m| m.get_mut(&handle.addr())).ok_or(T::INVALID)?;
    if entry.references == 0 {
        return Err(T::INVALID);
    }
    entry.references -= 1;
    Ok(if entry.references == 0 { entry.strong.take() } else { None })
}

/// Takes one of the program's references back.
pub fn release<T: Object>(handle: *mut c_void) -> Result<()> {
    take_reference::<T>(handle).map(drop)
}

/// The program's references.
pub fn references<T: Object>(object: &T) -> u32 {
    let map = T::table().map.lock();
    map.as_ref().and_then(|m| m.get(&object.id().address())).map_or(0, |e| e.references)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(Id);
    static THINGS: Table<Thing> = Table::new();
    impl Object for Thing {
        const INVALID: cl_int = -99;
        fn table() -> &'static Table<Thing> {
            &THINGS
        }
        fn id(&self) -> &Id {
            &self.0
        }
    }

    #[test]
    fn references() {
        let thing = publish(Thing);
        let handle = thing.handle();
        retain::<Thing>(handle).unwrap();
        assert_eq!(super::references(&*thing), 2);
        release::<Thing>(handle).unwrap();
        release::<Thing>(handle).unwrap();
        assert_eq!(release::<Thing>(handle), Err(-99));
        // Somebody inside still has it: the handle is alive and can be retained again.
        retain::<Thing>(handle).unwrap();
        release::<Thing>(handle).unwrap();
        drop(thing);
        assert!(get::<Thing>(handle).is_err() && retain::<Thing>(handle).is_err());
        assert!(get::<Thing>(std::ptr::null_mut()).is_err());
        // The loader still finds a table there.
        // SAFETY: headers are never unmapped.
        let dispatch = unsafe { (*handle.cast::<Header>()).dispatch };
        assert!(std::ptr::eq(dispatch, &crate::exports::DISPATCH));
    }
}
