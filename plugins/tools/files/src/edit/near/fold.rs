//! The plain form of a character, for comparing by resemblance.
//!
//! Typographic, full-width, accented and composed forms come to what is mistaken for them. Nothing
//! of this is ever written, or taken for a match: it only says which places are worth showing.

/// The letters without their marks of U+00C0 to U+017F; a dot where there is none.
const LATIN: &[u8] = b"\
AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.y\
AaAaAaCcCcCcCcDd..EeEeEeEeEeGgGgGgGgHh..IiIiIiIiI...JjKk.LlLlLl.\
...NnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTt..UuUuUuUuUuUuWwYyYZzZzZz.";

/// The same of U+1E00 to U+1EFF.
const LATIN_ADDITIONAL: &[u8] = b"\
AaBbBbBbCcDdDdDdDdDdEeEeEeEeEeFfGgHhHhHhHhHhIiIiKkKkKkLlLlLlLlMm\
MmMmNnNnNnNnOoOoOoOoPpPpRrRrRrRrSsSsSsSsSsTtTtTtTtUuUuUuUuUuVvVv\
WwWwWwWwWwXxXxYyZzZzZzhtwy......AaAaAaAaAaAaAaAaAaAaAaAaEeEeEeEe\
EeEeEeEeIiIiOoOoOoOoOoOoOoOoOoOoOoOoUuUuUuUuUuUuUuYyYyYyYy......";

/// `None` for what shows nothing of its own: blanks, marks on a letter, invisible characters.
pub(crate) fn plain(c: char) -> Option<char> {
    if c.is_ascii() {
        return (!c.is_ascii_whitespace()).then_some(c);
    }
    if c.is_whitespace() || is_mark(c) || is_invisible(c) {
        return None;
    }
    let code = u32::from(c);
    let from = |table: &[u8], first: u32| {
        let letter = code.checked_sub(first).and_then(|at| table.get(at as usize));
        letter.filter(|letter| **letter != b'.').map(|letter| char::from(*letter))
    };
    let other = |code: u32| char::from_u32(code).unwrap_or(c);
    Some(match c {
        '\u{2018}'..='\u{201B}' | '\u{2032}' | '\u{B4}' => '\'',
        '\u{201C}'..='\u{201F}' | '\u{2033}' | '\u{AB}' | '\u{BB}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        // Full-width forms of ASCII.
        '\u{FF01}'..='\u{FF5E}' => other(code - 0xFEE0),
        '\u{1E00}'..='\u{1EFF}' => from(LATIN_ADDITIONAL, 0x1E00).unwrap_or(c),
        // A syllable of Hangul comes to its first consonant; see `is_mark`.
        '\u{AC00}'..='\u{D7A3}' => other(0x1100 + (code - 0xAC00) / 588),
        '\u{3041}'..='\u{30FE}' => other(unvoiced(code)),
        c => from(LATIN, 0xC0).unwrap_or(c),
    })
}

/// A kana without its voicing mark.
fn unvoiced(code: u32) -> u32 {
    // Katakana stand in the order of hiragana.
    let shift = if code >= 0x30A1 { 0x60 } else { 0 };
    let hiragana = code - shift;
    shift
        + match hiragana {
            0x304B..=0x3062 => hiragana - (hiragana - 0x304B) % 2,
            0x3064..=0x3069 => hiragana - (hiragana - 0x3064) % 2,
            0x306F..=0x307D => hiragana - (hiragana - 0x306F) % 3,
            0x3094 => 0x3046,
            other => other,
        }
}

/// Stands on the letter before it, or goes on with its syllable.
pub(crate) fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}' | '\u{3099}' | '\u{309A}' | '\u{FE20}'..='\u{FE2F}'
        // Vowels and last consonants of Hangul.
        | '\u{1160}'..='\u{11FF}')
}

/// Takes no place on a screen, or changes the order of what does.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mistaken_for_one_another_comes_to_the_same() {
        let plain = |text: &str| text.chars().filter_map(plain).collect::<String>();
        for (one, other) in [
            ("caf\u{E9} \u{1EC7}", "cafe\u{301} e\u{323}\u{302}"),
            ("\u{17D}i\u{17E}ka", "Z\u{30C}iz\u{30C}ka"),
            (
                "\u{304C}\u{3070}\u{3074}\u{3065}",
                "\u{304B}\u{3099}\u{306F}\u{3099}\u{3072}\u{309A}\u{3064}\u{3099}",
            ),
            ("\u{30D1}\u{30B8}", "\u{30CF}\u{309A}\u{30B7}\u{3099}"),
            ("\u{D55C}\u{AE00}", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}"),
            ("\u{FF08}\u{FF41}\u{FF09}\u{3000}", "(a)"),
            ("\u{2018}a\u{2019} \u{201C}b\u{201D} \u{2013}", "'a' \"b\" -"),
            ("a\u{200B}b\u{A0}c", "abc"),
            ("\u{C6}\u{D0}\u{DF}\u{D7}", "\u{C6}\u{D0}\u{DF}\u{D7}"),
        ] {
            assert_eq!(plain(one), plain(other), "{one}");
        }
    }
}
