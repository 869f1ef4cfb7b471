// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looking for what is about to come, before a thread sleeps.
//!
//! A system takes tens of microseconds to wake a thread, as long as a short launch takes all in all. So a thread that was
//! called twice in short time looks for the next call for a while, unless as many look as there are processors, and who waits
//! for something looks for its end. Where there is one processor only nobody does: what is waited for could not run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::workers::cores_lately;

/// Calls that follow one another so soon come often.
const OFTEN: Duration = Duration::from_micros(250);
/// For how long a thread then looks for the next.
const LOOK: Duration = Duration::from_micros(100);
/// For how long an end is looked for.
pub const AWAIT: Duration = Duration::from_micros(200);
/// After this long, whoever else could run goes first.
const ALONE: Duration = Duration::from_micros(20);

/// Threads that look for a call.
static LOOKING: AtomicUsize = AtomicUsize::new(0);

/// Whether another thread can run while one spins.
pub fn has_room() -> bool {
    cores_lately() > 1
}

/// Spins until something is so, or the time is up.
pub fn spin(most: Duration, is_so: impl Fn() -> bool) {
    if !has_room() {
        return;
    }
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            if is_so() {
                return;
            }
            std::hint::spin_loop();
        }
        let spent = start.elapsed();
        if spent >= most {
            return;
        }
        if spent >= ALONE {
            std::thread::yield_now();
        }
    }
}

/// When one thread was called.
#[derive(Default)]
pub struct Rhythm {
    called: Option<Instant>,
    until: Option<Instant>,
}

impl Rhythm {
    /// The thread is called, or has been while it did not see it.
    pub fn note(&mut self) {
        let now = Instant::now();
        let before = self.called.replace(now);
        let is_often = before.is_some_and(|before| now - before < OFTEN);
        self.until = is_often.then_some(now + LOOK);
    }

    /// What the thread was called for has ended, however long that took.
    pub fn ended(&mut self) {
        let now = Instant::now();
        self.called = Some(now);
        self.until = self.until.map(|_| now + LOOK);
    }

    /// To look for the next call, if that is worth it.
    pub fn look(&self) -> Option<Look> {
        let left = self.until?.saturating_duration_since(Instant::now());
        if left.is_zero() || !has_room() {
            return None;
        }
        let look = Look(left);
        // With more than that, those that work would wait for those that look.
        (LOOKING.fetch_add(1, Ordering::Relaxed) < cores_lately()).then_some(look)
    }
}

/// A thread that looks for a call, for so long.
pub struct Look(Duration);

impl Look {
    /// Returns when there is one, or the time is up.
    pub fn until(self, is_there: impl Fn() -> bool) {
        spin(self.0, is_there);
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        LOOKING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn spins_until_it_is_so_or_time_is_up() {
        let asked = AtomicU32::new(0);
        spin(Duration::from_secs(60), || asked.fetch_add(1, Ordering::Relaxed) == 40);
        assert!(asked.load(Ordering::Relaxed) <= 41);
        let (start, most) = (Instant::now(), Duration::from_millis(2));
        spin(most, || false);
        assert!(!has_room() || start.elapsed() >= most);
    }

    #[test]
    fn who_is_called_often_looks_for_the_next_call() {
        let mut rhythm = Rhythm::default();
        rhythm.note();
        assert!(rhythm.look().is_none(), "one call is not often");
        rhythm.ended();
        assert!(rhythm.look().is_none());
        // Soon after the other, unless the machine took the processor away between.
        let is_soon = |rhythm: &mut Rhythm| {
            rhythm.ended();
            rhythm.note();
            rhythm.until.is_some()
        };
        assert!((0..100).any(|_| is_soon(&mut rhythm)));
        // However long the work takes.
        std::thread::sleep(OFTEN * 2);
        rhythm.ended();
        assert!(rhythm.until.is_some());
        let far = Rhythm { called: None, until: Some(Instant::now() + Duration::from_secs(60)) };
        let all: Vec<_> = (0..cores_lately() + 4).map_while(|_| far.look()).collect();
        assert!(all.len() <= cores_lately());
        drop(all);
        // Other tests' threads may look meanwhile.
        let in_the_end = |_| {
            std::thread::sleep(Duration::from_millis(1));
            far.look().is_some()
        };
        assert_eq!((0..1000).any(in_the_end), has_room());
        std::thread::sleep(OFTEN * 2);
        assert!(rhythm.look().is_none());
        rhythm.note();
        assert!(rhythm.look().is_none(), "that was not soon");
    }
}
