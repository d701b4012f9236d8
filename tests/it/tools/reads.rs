//! `read`: lines without end, and what is no text.

use harness::event::Event;

use super::images::png;
use super::{Row, does, file, json, play, refused};
use crate::rig::Rig;

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
                does("read", path("a.jpg"))
                    .holds("[image/jpeg, 2012 bytes; not shown: no PNG, JPEG, GIF or WebP image")
                    .within(200),
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
            before: vec![
                file("wide.png", png(9_000, 100)),
                file("a.gif", b"GIF89a\x80\x02\xE0\x01\0\0\0"),
                file("a.webp", b"RIFF\x16\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\x7F\x02\0\xDF\x01\0"),
                file("vast.png", [png(3, 3), vec![7; 9 << 20]].concat()),
            ],
            steps: vec![
                does("read", path("wide.png"))
                    .holds("[PNG image, 9000×100 pixels, 83 bytes; not shown: this model takes no")
                    .within(200),
                does("read", path("a.gif"))
                    .holds("GIF image, 640×480 pixels, 13 bytes")
                    .within(200),
                does("read", path("a.webp"))
                    .holds("WebP image, 640×480 pixels, 30 bytes")
                    .within(200),
                does("read", path("vast.png"))
                    .holds("PNG image, 9437267 bytes; not shown: over the limit of 8388608 bytes")
                    .within(200),
            ],
            after: vec![],
        },
    ]
}

/// The whole way of a model that does what it is told: every hint is followed, and what was shown,
/// put together, is the file.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_two_megabytes_is_read_to_its_end_by_its_hints() {
    const PAGE: usize = 50 * 1024;
    let line: String = "a\u{e9}b\u{1F600}c\u{4E2D}".repeat(2_000_000 / 14);
    let first = line.char_indices().nth(2_000).unwrap().0;
    let mut bytes = vec![first];
    while bytes[bytes.len() - 1] + PAGE < line.len() {
        bytes.push(line.floor_char_boundary(bytes[bytes.len() - 1] + PAGE));
    }
    let inputs = bytes.iter().map(|byte| json!({"path": "long", "offset": 1, "byte": byte}));
    let inputs = [json!({"path": "long"})].into_iter().chain(inputs);
    let inputs = inputs.chain([json!({"path": "long", "offset": 2})]);
    let script: String = inputs
        .map(|input| {
            let input = json!(input.to_string());
            format!("[[turn]]\ncalls = [{{ tool = \"read\", arguments = {input} }}]\n")
        })
        .collect();
    let script = script + "[[turn]]\ntext = \"done\"\n";
    let rig = Rig::start(&script, "[agent]\nmax_turns = 100\n").await;
    rig.put("long", &format!("{line}\nlast\n"));
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.answer(), "done", "{:#}", reply.body);
    let events = rig.events(&reply.run).await;
    let texts = events.iter().filter_map(|recorded| match &recorded.event {
        Event::CallEnded { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    assert_eq!(texts.len(), bytes.len() + 2);
    let (head, rest) = texts[0].strip_prefix("1\t").unwrap().split_once(" [cut: ").unwrap();
    assert!(rest.contains(&format!("use offset 1, byte {first}]\n2\tlast\n")), "{rest}");
    let mut whole = head.to_owned();
    for (at, text) in texts[1..=bytes.len()].iter().enumerate() {
        let (piece, footer) = text.split_once('\n').unwrap();
        whole.push_str(piece);
        let next = match bytes.get(at + 1) {
            Some(next) => format!("go on with offset 1, byte {next}]\n"),
            None => "go on with offset 2]\n".to_owned(),
        };
        assert!(footer.ends_with(&next), "{footer}");
    }
    assert!(whole == line, "{} bytes of {}", whole.len(), line.len());
    assert_eq!(texts[texts.len() - 1], "2\tlast\n[end of file; 2 lines]\n");
    rig.assert_clean_requests();
}
