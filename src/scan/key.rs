//! When a parser may take one key for another. Knows the simple case folding that Go's `encoding/json` does for ASCII
//! names: ASCII case, `ſ` (U+017F) as s and the Kelvin sign (U+212A) as k. Keys are compared as they read unescaped.

use super::string::Sink;

/// How many bytes can fold to one: the Kelvin sign has three.
pub(super) const LONGEST_FOLD: usize = 3;

/// The one spelling that all foldable spellings of a name have in common.
pub(super) fn fold(name: &str) -> Box<[u8]> {
    folded(name.as_bytes()).collect()
}

/// Whether `key` folds to this, which must itself be folded.
pub(super) fn folds_to(key: &[u8], name: &[u8]) -> bool {
    // What folds other than by ASCII case gets shorter.
    key.eq_ignore_ascii_case(name)
        || (key.len() > name.len()
            && key.len() <= name.len().saturating_mul(LONGEST_FOLD)
            && folded(key).eq(name.iter().copied()))
}

fn folded(key: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = key;
    std::iter::from_fn(move || {
        let (byte, after) = match rest {
            [0xc5, 0xbf, after @ ..] => (b's', after),
            [0xe2, 0x84, 0xaa, after @ ..] => (b'k', after),
            [byte, after @ ..] => (byte.to_ascii_lowercase(), after),
            [] => return None,
        };
        rest = after;
        Some(byte)
    })
}

/// A key that escapes or a chunk's end keep from being compared where it stands. Keeps one byte more than could match,
/// so that a key too long is none, whatever it begins with.
#[derive(Debug)]
pub(super) struct Key {
    text: Vec<u8>,
    longest: usize,
    start: u64,
}

impl Key {
    pub(super) fn new(longest: usize) -> Self {
        Self { text: Vec::new(), longest, start: 0 }
    }

    /// Forgets the last key; the next has its opening quote there.
    pub(super) fn begin(&mut self, start: u64) {
        self.text.clear();
        self.start = start;
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }
}

impl Sink for Key {
    fn plain(&mut self, text: &[u8]) {
        let room = (self.longest + 1).saturating_sub(self.text.len());
        self.text.extend_from_slice(text.get(..text.len().min(room)).unwrap_or_default());
    }

    fn escaped(&mut self, character: char) {
        self.plain(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{fold, folds_to};

    #[test]
    fn folds_what_go_folds_and_nothing_else() {
        let cases = [
            ("name", "name", true),
            ("NAME", "name", true),
            ("nAmE", "Name", true),
            ("taſkId", "taskId", true),
            ("tas\u{212a}Id", "taskid", true),
            ("ta\u{17f}\u{212a}ID", "taskId", true),
            ("task", "ta\u{17f}\u{212a}", true),
            ("name ", "name", false),
            ("nam", "name", false),
            ("ñame", "name", false),
            ("ßame", "ssame", false),
            ("ıd", "id", false),
            ("İd", "id", false),
            ("_meta", "-meta", false),
            ("@meta", "`meta", false),
            ("", "", true),
            ("", "a", false),
        ];
        for (key, name, same) in cases {
            assert_eq!(folds_to(key.as_bytes(), &fold(name)), same, "{key} {name}");
        }
    }
}
