//! Pauses between attempts: exponential, with jitter, so that many clients do not reconnect at the same time.

use std::time::Duration;

/// Pauses that double from `first` up to `most`, each shortened by a random part of at most a half.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    chance: fn() -> f64,
    tries: u32,
}

impl Default for Backoff {
    /// From 0.1 s up to 5 s.
    fn default() -> Backoff {
        Backoff::new(Duration::from_millis(100), Duration::from_secs(5), fastrand::f64)
    }
}

impl Backoff {
    /// Returns pauses from `first` up to `most`; `chance` returns a number from 0 to 1.
    pub fn new(first: Duration, most: Duration, chance: fn() -> f64) -> Backoff {
        Backoff { first, most, chance, tries: 0 }
    }

    /// Returns the next pause, plus `at_least`, the pause that the server has asked all its clients for.
    pub fn next(&mut self, at_least: Duration) -> Duration {
        let whole = self.first.saturating_mul(1 << self.tries.min(30)).min(self.most);
        self.tries += 1;
        at_least + whole.mul_f64(1.0 - (self.chance)() / 2.0)
    }

    /// Starts again from the first pause, after a success.
    pub fn reset(&mut self) {
        self.tries = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn pauses_double_up_to_the_most_and_start_again() {
        let mut backoff = Backoff::new(MS(100), MS(5000), || 0.0);
        let pauses: Vec<_> = (0..8).map(|_| backoff.next(Duration::ZERO)).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000].map(MS));
        backoff.reset();
        assert_eq!(backoff.next(Duration::ZERO), MS(100));
        for _ in 0..100 {
            assert!(backoff.next(Duration::ZERO) <= MS(5000));
        }
    }

    #[test]
    fn chance_cuts_a_pause_by_at_most_a_half_and_what_the_server_asks_for_comes_on_top() {
        let mut backoff = Backoff::new(MS(100), MS(5000), || 1.0);
        assert_eq!(backoff.next(MS(3000)), MS(3050));
        let mut usual = Backoff::default();
        let pause = usual.next(Duration::ZERO);
        assert!((MS(50)..=MS(100)).contains(&pause), "{pause:?}");
    }
}
