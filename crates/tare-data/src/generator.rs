//! The generator that orders a session: xoshiro256++ seeded by SplitMix64 (Blackman and Vigna, public domain).
//!
//! Its sequence is part of the record format: a seed written in a record must give the same plan for ever.

/// A small, fast generator with a published sequence. Not for secrets.
#[derive(Clone, Debug)]
pub struct Generator {
    state: [u64; 4],
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        let mut mix = seed;
        let mut next = || {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = mix;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Generator { state: [next(), next(), next(), next()] }
    }

    /// Creates a generator for one named part of a session, independent of the others' use.
    pub fn for_part(seed: u64, part: &str) -> Self {
        // FNV-1a: stable, and good enough to separate a few hundred names.
        let hash = part.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Generator::new(seed ^ hash)
    }

    /// Draws 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Draws a number in `0..bound`, without bias (Lemire's rejection). `bound` must not be 0.
    pub fn draw_below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "below(0) has no answer");
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(bound);
            let rest = wide as u64;
            // Rejected numbers are below `bound`; their exact limit needs a division, which is hardly ever made.
            if rest >= bound || rest >= bound.wrapping_neg() % bound {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Draws a number in `0.0..1.0` with 53 random bits.
    pub fn draw_unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Shuffles in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.draw_below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_never_changes() {
        // Reference output of xoshiro256++ from the state 1, 2, 3, 4.
        let mut generator = Generator { state: [1, 2, 3, 4] };
        let expected = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205];
        assert_eq!(expected.map(|_| generator.next_u64()), expected);
        // SplitMix64 from 0 starts with this word.
        assert_eq!(Generator::new(0).state[0], 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..50).collect();
        Generator::new(7).shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
