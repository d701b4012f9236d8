//! `read`: lines without end, and what is no text.

use super::{Row, does, file, json, play, refused};

#[tokio::test(flavor = "multi_thread")]
async fn reads_advance_and_name_what_is_no_text() {
    play(
        [a_line_without_end_is_paged_to_its_end(), what_is_no_text_is_named()]
            .into_iter()
            .flatten()
            .collect(),
    )
    .await;
}

fn a_line_without_end_is_paged_to_its_end() -> Vec<Row> {
    const SIZE: usize = 2_000_000;
    let long = "ab".repeat(SIZE / 2);
    let piece =
        |byte: usize| does("read", json!({"path": "app.min.js", "offset": 1, "byte": byte}));
    let last = SIZE - 10;
    vec![Row {
        id: "B17",
        before: vec![file("app.min.js", &long), file("wide.txt", "é".repeat(SIZE / 2))],
        steps: vec![
            does("read", json!({"path": "app.min.js"}))
                .holds("offset 1, byte 2000")
                .lacks("go on with offset 2")
                .within(3_000),
            piece(2_000).holds("bytes 2000-53200 of 2000000; go on with offset 1, byte 53200"),
            piece(53_200).holds("go on with offset 1, byte 104400"),
            piece(last).holds("end of line 1, the last one").lacks("go on").within(200),
            refused("read", json!({"path": "app.min.js", "offset": 1, "byte": SIZE}))
                .holds("ends at byte 2000000")
                .lacks("offset 2"),
            refused("read", json!({"path": "app.min.js", "offset": 2})).holds("has 1 line"),
            does("read", json!({"path": "wide.txt"})).holds("offset 1, byte 4000"),
            does("read", json!({"path": "wide.txt", "byte": 4_000}))
                .holds("bytes 4000-55200")
                .lacks("\u{FFFD}"),
        ],
        after: vec![file("app.min.js", &long)],
    }]
}

fn what_is_no_text_is_named() -> Vec<Row> {
    let mut noise = vec![0u8; 2_000];
    let mut state = 1u32;
    for byte in &mut noise {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = state.to_be_bytes()[0];
    }
    let jpeg = [b"\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01".as_slice(), &noise].concat();
    let wide = |text: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    };
    let png = |width: u32, height: u32| {
        let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice();
        [head, &width.to_be_bytes(), &height.to_be_bytes(), b"\x08\x02\0\0\0\0\0\0\0", &[0; 50]]
            .concat()
    };
    let path = |path| json!({"path": path});
    vec![
        Row {
            id: "B18",
            before: vec![
                file("a.jpg", &jpeg),
                file("noise", &noise),
                file("little.txt", wide("\u{FEFF}héllo\r\nworld\r\n", u16::to_le_bytes)),
                file("big.txt", wide("\u{FEFF}héllo\nworld\n", u16::to_be_bytes)),
                file("bare.txt", wide("hello\n", u16::to_le_bytes)),
                file("latin.txt", b"caf\xE9\n"),
                file("zero", b""),
            ],
            steps: vec![
                refused("read", path("a.jpg")).holds("JPEG image, 2012 bytes").within(200),
                refused("read", path("noise")).holds("binary data, 2000 bytes").within(200),
                does("read", path("little.txt"))
                    .holds("1\théllo\n2\tworld\n")
                    .holds("UTF-16")
                    .lacks("\u{FEFF}"),
                does("read", path("big.txt")).holds("1\théllo\n2\tworld\n"),
                refused("read", path("bare.txt")).holds("binary data, 12 bytes").within(300),
                does("read", path("latin.txt")).holds("Latin-1"),
                does("read", path("zero")).holds("is empty"),
                refused("read", path("nought")).holds("does not exist"),
                refused("edit", json!({"path": "little.txt", "old": "world", "new": "x"}))
                    .holds("UTF-16"),
                does("write", json!({"path": "little.txt", "content": "bye\r\n"})).holds("UTF-16"),
            ],
            after: vec![file("little.txt", wide("\u{FEFF}bye\r\n", u16::to_le_bytes))],
        },
        Row {
            id: "B20-B21",
            before: vec![file("wide.png", png(9_000, 100)), file("a.png", png(2, 2))],
            steps: vec![
                refused("read", path("wide.png")).holds("PNG image, 83 bytes").within(200),
                refused("read", path("a.png")).holds("PNG image").within(200),
            ],
            after: vec![],
        },
    ]
}
