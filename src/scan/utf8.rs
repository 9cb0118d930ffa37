//! Cuts chunks at character borders, so that the rest of the scanner sees whole characters only.
//! Knows nothing of JSON. Keeps at most the three bytes of one unfinished character.

/// The bytes of a character that the last chunk began and did not finish.
#[derive(Default, Debug)]
pub(super) struct Seam {
    bytes: [u8; 4],
    len: usize,
}

/// What the first bytes of a chunk did to the seam.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Joined {
    /// The chunk was all taken and the character is still unfinished.
    Unfinished,
    /// One whole character, and how many bytes of the chunk went into it.
    Character {
        bytes: [u8; 4],
        len: usize,
        taken: usize,
    },
    Malformed,
}

impl Seam {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Goes on with the unfinished character.
    pub(super) fn join(&mut self, chunk: &[u8]) -> Joined {
        for (index, &byte) in chunk.iter().enumerate() {
            let Some(free) = self.bytes.get_mut(self.len) else {
                return Joined::Malformed;
            };
            *free = byte;
            self.len += 1;
            let begun = self.bytes.get(..self.len).unwrap_or_default();
            match std::str::from_utf8(begun) {
                Ok(_) => {
                    let len = std::mem::take(&mut self.len);
                    return Joined::Character { bytes: self.bytes, len, taken: index + 1 };
                }
                Err(error) if error.error_len().is_some() => return Joined::Malformed,
                Err(_) => {}
            }
        }
        Joined::Unfinished
    }

    /// The whole characters at the front of `chunk`, and whether something malformed follows them.
    /// A character that is cut off by the chunk's end waits in the seam.
    pub(super) fn cut<'c>(&mut self, chunk: &'c [u8]) -> (&'c [u8], bool) {
        // Nine times as fast as the standard library where text is not ASCII.
        let Err(error) = simdutf8::compat::from_utf8(chunk) else {
            return (chunk, false);
        };
        let (whole, rest) = chunk.split_at_checked(error.valid_up_to()).unwrap_or((chunk, &[]));
        if error.error_len().is_some() {
            return (whole, true);
        }
        for (to, &from) in self.bytes.iter_mut().zip(rest) {
            *to = from;
        }
        self.len = rest.len().min(self.bytes.len());
        (whole, false)
    }
}
