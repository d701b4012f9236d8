//! Character references of HTML: the ones that stand in pages of documentation.

/// Names without `&` and `;`. The others are left as they are written.
const NAMED: [(&str, &str); 34] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("shy", ""),
    ("zwnj", ""),
    ("zwj", ""),
    ("para", "¶"),
    ("sect", "§"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("deg", "°"),
    ("plusmn", "±"),
    ("times", "×"),
    ("divide", "÷"),
    ("middot", "·"),
    ("bull", "•"),
    ("hellip", "…"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("larr", "←"),
    ("rarr", "→"),
];

/// The longest reference that is looked at, `&` and `;` included.
const LONGEST_BYTES: usize = 12;

/// `text` with its references replaced.
pub(crate) fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let window = &rest[..rest.floor_char_boundary(LONGEST_BYTES)];
        let found = window.find(';').and_then(|end| Some((end, meaning(&rest[1..end])?)));
        match found {
            Some((end, meaning)) => {
                decoded.push_str(&meaning);
                rest = &rest[end + 1..];
            }
            None => {
                decoded.push('&');
                rest = &rest[1..];
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

fn meaning(reference: &str) -> Option<String> {
    if let Some(number) = reference.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        let letter = char::from_u32(code).filter(|letter| !letter.is_control() || *letter == '\n');
        return Some(letter.unwrap_or('\u{FFFD}').to_string());
    }
    let found = NAMED.iter().find(|(name, _)| *name == reference)?;
    Some(found.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        let check = |text: &str, expected: &str| assert_eq!(decode(text), expected, "{text}");
        check("a &lt;b&gt; &amp;&amp; c", "a <b> && c");
        check("&amp;lt;", "&lt;");
        check("&#65;&#x42;&#X43;&#0;&#xD800;", "ABC\u{FFFD}\u{FFFD}");
        check("AT&T; &unknown; &; & &", "AT&T; &unknown; &; & &");
        check("a&nbsp;b&hellip;&rarr;", "a b…→");
        check("&ääääää;", "&ääääää;");
    }
}
