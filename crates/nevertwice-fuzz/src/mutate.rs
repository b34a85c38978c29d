//! Changes inputs, as a seed has it: what a fuzzer does without looking.

use nevertwice_core::model::Random;

/// The longest input.
const BYTES_MAX: usize = 128 << 10;
/// The most changes of one input.
const CHANGES_MAX: u64 = 6;

/// Numbers at which readers go wrong.
const EDGES: &[u64] = &[0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 53, u64::MAX >> 1, u64::MAX];

/// A source of changed inputs.
pub struct Mutator {
    random: Random,
    words: &'static [&'static str],
}

impl Mutator {
    /// One whose changes follow from the seed. `words` are what inputs are made of.
    #[must_use]
    pub fn new(seed: u64, words: &'static [&'static str]) -> Self {
        Self { random: Random::new(seed), words }
    }

    /// A changed copy of one of the inputs.
    #[must_use]
    pub fn mutate(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.pick(inputs).cloned().unwrap_or_default();
        let more = if self.random.chance(500) { 0 } else { self.random.below(CHANGES_MAX) };
        for _ in 0..=more {
            self.change(&mut bytes, inputs);
        }
        bytes.truncate(BYTES_MAX);
        bytes
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len())) }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit.max(1) as u64) as usize
    }

    /// A range of a few bytes, sometimes of many.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let longest = if self.random.chance(800) { 16 } else { len };
        start..len.min(start + self.below(longest + 1))
    }

    fn byte(&mut self) -> u8 {
        self.random.below(256) as u8
    }

    fn change(&mut self, bytes: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let at = self.below(bytes.len());
        match self.random.below(12) {
            0 | 1 => {
                let bit = 1 << self.random.below(8);
                bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= bit);
            }
            2 => {
                let value = self.byte();
                bytes.get_mut(at).into_iter().for_each(|byte| *byte = value);
            }
            3 => self.set_number(bytes, at),
            4 => {
                let range = self.range(bytes.len());
                bytes.drain(range);
            }
            5 => {
                let copy = bytes[self.range(bytes.len())].to_vec();
                bytes.splice(at..at, copy);
            }
            6 => {
                let range = self.range(bytes.len());
                let copy = bytes[self.range(bytes.len())].to_vec();
                bytes.splice(range, copy);
            }
            7 => {
                let fresh: Vec<u8> = (0..=self.below(8)).map(|_| self.byte()).collect();
                bytes.splice(at..at, fresh);
            }
            8 => {
                let other = self.pick(inputs).cloned().unwrap_or_default();
                let from = self.range(other.len());
                let to = if self.random.chance(500) { at..at } else { self.range(bytes.len()) };
                bytes.splice(to, other[from].iter().copied());
            }
            9 | 10 => {
                let word = self.pick(self.words).map_or(&b"\0\0\0\0"[..], |word| word.as_bytes());
                let to = if self.random.chance(500) { at..at } else { self.range(bytes.len()) };
                bytes.splice(to, word.iter().copied());
            }
            _ => bytes.truncate(at),
        }
    }

    /// Overwrites or moves a little-endian number.
    fn set_number(&mut self, bytes: &mut [u8], at: usize) {
        let width = *self.pick(&[1, 2, 4, 8]).unwrap_or(&4);
        let Some(place) = bytes.get_mut(at..at + width) else { return };
        let mut value = [0; 8];
        value[..width].copy_from_slice(place);
        let value = u64::from_le_bytes(value);
        let value = match self.random.below(3) {
            0 => EDGES[self.below(EDGES.len())],
            1 => value.wrapping_add(self.random.below(9)).wrapping_sub(4),
            _ => value.wrapping_neg(),
        };
        place.copy_from_slice(&value.to_le_bytes()[..width]);
    }
}
