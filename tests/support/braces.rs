//! When a reader that acts on the first complete JSON value would act.

/// Counts braces outside strings. It takes anything for granted that lies before the first brace: the laxest parser.
#[derive(Debug, Default)]
pub struct Braces {
    depth: usize,
    in_string: bool,
    escaped: bool,
    whole: bool,
}

impl Braces {
    /// Whether a complete root value was seen so far.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            if self.whole {
                break;
            }
            self.take(*byte);
        }
        self.whole
    }

    fn take(&mut self, byte: u8) {
        match (self.in_string, byte) {
            (true, _) if self.escaped => self.escaped = false,
            (true, b'\\') => self.escaped = true,
            (true, b'"') => self.in_string = false,
            (false, b'"') => self.in_string = self.depth > 0,
            (false, b'{' | b'[') => self.depth += 1,
            (false, b'}' | b']') if self.depth > 0 => {
                self.depth -= 1;
                self.whole = self.depth == 0;
            }
            (true | false, _) => {}
        }
    }
}
