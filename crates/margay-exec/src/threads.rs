// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads of this process that are margay's own. All others are the host program's.

use parking_lot::Mutex;

/// Their numbers in the system.
static OWN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// The number of the calling thread.
pub fn number() -> u32 {
    // SAFETY: asks for the caller's own number.
    unsafe { libc::gettid() as u32 }
}

/// The calling thread is margay's own until this is dropped.
pub struct Own(u32);

/// See [`Own`].
pub fn own() -> Own {
    let number = number();
    OWN.lock().push(number);
    Own(number)
}

impl Drop for Own {
    fn drop(&mut self) {
        let mut all = OWN.lock();
        if let Some(at) = all.iter().position(|&n| n == self.0) {
            all.swap_remove(at);
        }
    }
}

/// Whether a thread is margay's own.
pub fn is_own(number: u32) -> bool {
    OWN.lock().contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_own_while_it_says_so() {
        assert!(!is_own(number()));
        let own = own();
        assert!(is_own(number()));
        // Threads that it starts are not.
        assert!(!std::thread::spawn(|| is_own(number())).join().unwrap());
        drop(own);
        assert!(!is_own(number()));
    }
}
