//! Images: what the model is shown, what it is told instead, and a provider that refuses them.

use harness::event::{Event, Recorded};
use harness::image::{Image, MediaType};

use crate::rig::Rig;

/// The head of a PNG file, and bytes behind it.
pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice();
    let tail = b"\x08\x02\0\0\0\0\0\0\0".as_slice();
    [head, &width.to_be_bytes(), &height.to_be_bytes(), tail, &[0; 50]].concat()
}

/// The profile whose models take images.
const TAKES_IMAGES: &str = "profile = \"openai\"\n";

const DATA: &str = "data:image/png;base64";

fn reads(expect: &[&str], paths: &[&str]) -> String {
    let call = |path: &&str| format!("{{ tool = \"read\", input = {{ path = \"{path}\" }} }}");
    let calls: Vec<String> = paths.iter().map(call).collect();
    format!("[[turn]]\nexpect = {expect:?}\ncalls = [{}]\n", calls.join(", "))
}

fn says(expect: &[&str], text: &str) -> String {
    format!("[[turn]]\nexpect = {expect:?}\ntext = {text:?}\n")
}

fn refuses(expect: &[&str], status: u16, body: &str) -> String {
    format!("[[turn]]\nexpect = {expect:?}\nstatus = {status}\nbody = '{body}'\n")
}

/// The images on record, call by call.
fn kept(events: &[Recorded]) -> Vec<&[Image]> {
    let images = events.iter().filter_map(|recorded| match &recorded.event {
        Event::CallEnded { images, .. } => Some(images.as_slice()),
        _ => None,
    });
    images.collect()
}

fn retries(events: &[Recorded]) -> usize {
    events.iter().filter(|recorded| matches!(recorded.event, Event::Retried { .. })).count()
}

/// B20: what is over a limit is never sent; what the provider refuses all the same becomes words, what
/// it accepted before stays, byte by byte, and the run goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_image_costs_one_attempt_and_no_session() {
    let wide =
        "PNG image, 9000×100 pixels, 83 bytes; not shown: over the limit of 8000 pixels a side";
    let refusal = r#"{"error":{"message":"messages.7.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size"}}"#;
    let script = reads(&[], &["wide.png"])
        + &reads(&[wide], &["a.png", "b.png"])
        + &reads(&["[image 1: PNG image", "[image 2: PNG image", DATA], &["c.png"])
        + &refuses(&["[image 3: PNG image", DATA], 400, refusal)
        + &reads(
            &["shown below]\n[not shown after all: the model's provider refused it]"],
            &["a.png"],
        )
        + &reads(&["the same as image 1 above"], &["d.png"])
        + &says(&[DATA], "done");
    let rig = Rig::start(&script, TAKES_IMAGES).await;
    for (name, side) in [("a.png", 1), ("b.png", 2), ("c.png", 3), ("d.png", 4)] {
        std::fs::write(rig.workspace().join(name), png(side, side)).unwrap();
    }
    std::fs::write(rig.workspace().join("wide.png"), png(9_000, 100)).unwrap();
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.answer()), (200, "done"), "{:#}", reply.body);
    let notes = reply.body["harness"]["notes"].to_string();
    assert!(notes.contains("the upstream refused an image"), "{notes}");
    let events = rig.events(&reply.run).await;
    assert_eq!(retries(&events), 1);
    let sides =
        kept(&events).into_iter().map(|images| images.iter().map(|one| one.width).collect());
    let sides: Vec<Vec<u32>> = sides.collect();
    assert_eq!(sides, [vec![9_000], vec![1], vec![2], vec![3], vec![], vec![4]]);
    let again = rig.chat(&rig.body("and now without a picture")).await;
    assert_eq!((again.status, &again.session), (200, &reply.session), "{:#}", again.body);
    rig.assert_clean_requests();
}

/// The words of providers; each run goes on after one attempt more.
#[tokio::test(flavor = "multi_thread")]
async fn each_providers_refusal_of_images_is_known() {
    for (status, body) in [
        (
            400,
            r#"{"error":{"message":"messages[3]: unknown variant `image_url`, expected `text`"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes"}}"#,
        ),
        (400, r#"{"error":{"message":"image exceeds the limit of 20 MB"}}"#),
        (400, r#"{"error":{"message":"52 images, exceeding the maximum of 50"}}"#),
        (
            400,
            r#"{"error":{"message":"You have uploaded an unsupported image","code":"invalid_image"}}"#,
        ),
        (404, r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#),
        (413, "Request exceeds the maximum size"),
        (
            422,
            r#"{"detail":[{"loc":["body","messages",3,"content"],"msg":"Input should be a valid string"}]}"#,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"image input is not supported - hint: provide the mmproj"}}"#,
        ),
    ] {
        let script = reads(&[], &["a.png"])
            + &refuses(&[DATA], status, body)
            + &says(&["[not shown after all"], "done");
        let rig = Rig::start(&script, TAKES_IMAGES).await;
        std::fs::write(rig.workspace().join("a.png"), png(1, 1)).unwrap();
        let reply = rig.chat(&rig.body("go")).await;
        assert_eq!((reply.status, reply.answer()), (200, "done"), "{body}: {:#}", reply.body);
        assert_eq!(retries(&rig.events(&reply.run).await), 1, "{body}");
        rig.assert_clean_requests();
    }
}

/// A refusal in a request without images is what it always was.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_without_images_ends_the_run() {
    let script = refuses(&[], 400, r#"{"error":{"message":"image models are not served here"}}"#);
    let rig = Rig::start(&script, TAKES_IMAGES).await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.reason(), "upstream-refused", "{:#}", reply.body);
    assert_eq!(rig.mock.requests().len(), 1);
}

/// B21: a model that takes none is told what there is; the image is on record, and no request grows by
/// its bytes.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_of_text_alone_gets_words() {
    let words = "PNG image, 2×2 pixels, 40083 bytes; not shown: this model takes no images";
    let script = reads(&[], &["a.png"])
        + &reads(&[words], &["b.txt"])
        + &reads(&["1\tplain"], &["a.png"])
        + &says(&[words], "done");
    let rig = Rig::start(&script, "").await;
    std::fs::write(rig.workspace().join("a.png"), [png(2, 2), vec![0xA7; 40_000]].concat())
        .unwrap();
    rig.put("b.txt", "plain\n");
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.answer()), (200, "done"), "{:#}", reply.body);
    let sizes: Vec<usize> = rig.mock.requests().iter().map(|seen| seen.body_bytes).collect();
    assert!(sizes.windows(2).all(|pair| pair[1] - pair[0] < 1_000), "{sizes:?}");
    let events = rig.events(&reply.run).await;
    let images = kept(&events);
    let [first, [], []] = images.as_slice() else { panic!("{images:?}") };
    assert_eq!((first[0].media_type, first[0].data.len()), (MediaType::Png, 53_444));
    rig.assert_clean_requests();
}
