//! When a parser may take one key for another. Knows the simple case folding that Go's `encoding/json` does for ASCII
//! names: ASCII case, `ſ` (U+017F) as s and the Kelvin sign (U+212A) as k. Keys are unescaped before they come here.

/// How many bytes can fold to one: the Kelvin sign has three.
pub(super) const LONGEST_FOLD: usize = 3;

/// Whether `key` is `name` but for simple case folding (equal spelling included).
pub(super) fn folds_to(key: &[u8], name: &[u8]) -> bool {
    if key.len() == name.len() {
        // No character folds to a shorter one of more than one byte, so with equal lengths every pair is of like length.
        return key.eq_ignore_ascii_case(name) || folded(key).eq(folded(name));
    }
    key.len() <= name.len().saturating_mul(LONGEST_FOLD)
        && name.len() <= key.len().saturating_mul(LONGEST_FOLD)
        && folded(key).eq(folded(name))
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

#[cfg(test)]
mod tests {
    use super::folds_to;

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
            assert_eq!(folds_to(key.as_bytes(), name.as_bytes()), same, "{key} {name}");
        }
    }
}
