//! The forms in which a secret travels: as it is, and as common encodings leave it.
//!
//! Each form is a literal to look for. Compression, encryption, hexadecimal and a secret cut in
//! two are not covered: redaction is a net under honest mistakes, not a wall against intent.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// A line of a secret of several lines is a secret too from this length on: keys are shown with
/// line numbers in between. Shorter ones are words, as are PEM's `-----` lines.
const MIN_LINE_BYTES: usize = 16;

/// Every form of `secret`, some of them possibly the same.
pub(super) fn of(secret: &str) -> Vec<String> {
    let mut forms = vec![
        secret.to_owned(),
        json_escaped(secret),
        percent_encoded(secret, b"0123456789ABCDEF"),
        percent_encoded(secret, b"0123456789abcdef"),
    ];
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        for offset in 0..3 {
            forms.push(base64_inside(secret.as_bytes(), offset, &engine));
            // With padding and without: a web token has none.
            let whole = base64(secret.as_bytes(), offset, &engine);
            forms.push(padded(whole.clone()).split_off(first_decided(offset)));
            forms.push(whole[first_decided(offset)..].to_owned());
        }
    }
    if secret.contains('\n') {
        let lines = secret.lines().map(str::trim);
        let lines = lines.filter(|line| line.len() >= MIN_LINE_BYTES && !line.starts_with("-----"));
        forms.extend(lines.map(str::to_owned));
    }
    forms
}

/// As it stands between the quotes of a JSON string; a string always has both.
fn json_escaped(secret: &str) -> String {
    let quoted = serde_json::Value::from(secret).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// As in the query of a URL, with every byte encoded that may be.
fn percent_encoded(secret: &str, digits: &[u8; 16]) -> String {
    let mut encoded = String::new();
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(digits[usize::from(byte >> 4)]));
            encoded.push(char::from(digits[usize::from(byte & 15)]));
        }
    }
    encoded
}

/// The letters of base64 that `secret` alone decides when `offset` bytes (modulo 3) stand before
/// it and others may follow.
fn base64_inside(secret: &[u8], offset: usize, engine: &GeneralPurpose) -> String {
    let whole = base64(secret, offset, engine);
    let decided = (offset + secret.len()) * 8 / 6;
    whole[first_decided(offset)..decided].to_owned()
}

/// The first letter that holds no bit of the bytes before.
fn first_decided(offset: usize) -> usize {
    (offset * 8).div_ceil(6)
}

fn padded(mut encoded: String) -> String {
    while !encoded.len().is_multiple_of(4) {
        encoded.push('=');
    }
    encoded
}

/// Base64 of `offset` zero bytes and then `bytes`, without padding.
fn base64(bytes: &[u8], offset: usize, engine: &GeneralPurpose) -> String {
    let all: Vec<u8> = std::iter::repeat_n(0, offset).chain(bytes.iter().copied()).collect();
    engine.encode(all)
}
