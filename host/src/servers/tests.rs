//! Entries as people write them, and what they grant.

use super::{Entry, Host, Place, Refusal, Scheme, Servers, Side, is_metadata, is_public};

fn check_entry(text: &str, expected: Result<&str, &str>) {
    match (Entry::parse(text), expected) {
        (Ok(entry), Ok(shown)) => assert_eq!(entry.to_string(), shown, "{text}"),
        (Err(message), Err(part)) => assert!(message.contains(part), "{text}: {message}"),
        (got, _) => panic!("{text}: expected {expected:?}, got {got:?}"),
    }
}

#[test]
fn entries() {
    check_entry("api.example.org", Ok("api.example.org"));
    check_entry("API.Example.org:8443", Ok("api.example.org:8443"));
    check_entry("*.example.org", Ok("*.example.org"));
    check_entry("localhost", Ok("localhost"));
    check_entry("a_b.example", Ok("a_b.example"));
    check_entry("1.2.3.4:80", Ok("1.2.3.4:80"));
    check_entry("::1", Ok("[::1]"));
    check_entry("[::1]", Ok("[::1]"));
    check_entry("[::1]:8080", Ok("[::1]:8080"));
    check_entry("https://a.example", Err("the scheme is not part of it"));
    check_entry("a.example/path", Err("a whole host is granted"));
    check_entry("u@a.example", Err("a user is not part"));
    check_entry("a.example:0", Err("the port is no number"));
    check_entry("a.example:http", Err("the port is no number"));
    check_entry("a.example:", Err("the port is no number"));
    check_entry("a.example:65536", Err("the port is no number"));
    check_entry("", Err("the host is missing"));
    check_entry("*.", Err("the host is missing"));
    check_entry("*", Err("`*` stands for a beginning"));
    check_entry("a.*.example", Err("`*` stands for a beginning"));
    check_entry("a..example", Err("a dot too many"));
    check_entry("a.example.", Err("a dot too many"));
    check_entry("-a.example", Err("`-a` is no part of a name"));
    check_entry("a b.example", Err("`a b` is no part of a name"));
    check_entry("bücher.example", Err("`xn--`"));
    check_entry("127.1", Err("no IPv4 address in full"));
    check_entry("0x7f.1", Err("no IPv4 address in full"));
    check_entry("2130706433", Err("no IPv4 address in full"));
    check_entry("a.0x", Err("no IPv4 address in full"));
    check_entry("*.1.2.3.4", Err("no IPv4 address in full"));
    check_entry("[::1", Err("no IPv6 address"));
    check_entry(&"a.".repeat(130), Err("over the limit of 253"));
    check_entry(&format!("{}.example", "a".repeat(64)), Err("is no part of a name"));
}

/// A place as `SCHEME HOST PORT`.
fn place(text: &str) -> Place {
    let words: Vec<&str> = text.split(' ').collect();
    let scheme = if words[0] == "https" { Scheme::Https } else { Scheme::Http };
    let port = words.get(2).map_or(scheme.port(), |port| port.parse().unwrap());
    Place { scheme, host: Host::read(words[1]), port }
}

fn check_side(hosts: &[&str], private_hosts: &[&str], at: &str, expected: Result<Side, Refusal>) {
    let entries = |texts: &[&str]| texts.iter().map(|text| Entry::parse(text).unwrap()).collect();
    let (hosts, private_hosts) = (entries(hosts), entries(private_hosts));
    let servers = Servers { hosts, private_hosts, ..Servers::default() };
    assert_eq!(servers.side(&place(at)), expected, "{at}");
}

#[test]
fn what_an_entry_grants() {
    let (public, private) = (Ok(Side::Public), Ok(Side::Private));
    let (missing, plain) = (Err(Refusal::NotGranted), Err(Refusal::Plain));
    check_side(&["a.example"], &[], "https a.example", public);
    check_side(&["a.example"], &[], "https a.example.", public);
    check_side(&["a.example"], &[], "https a.example 8443", missing);
    check_side(&["a.example"], &[], "https b.a.example", missing);
    check_side(&["a.example"], &[], "https xa.example", missing);
    check_side(&["a.example"], &[], "http a.example", plain);
    check_side(&["a.example:443"], &[], "http a.example", plain);
    check_side(&["a.example:80"], &[], "http a.example", public);
    check_side(&["a.example:80"], &[], "https a.example 80", public);
    check_side(&["a.example:80"], &[], "https a.example", missing);
    check_side(&["a.example:8080"], &[], "http a.example 8080", plain);
    check_side(&["*.example"], &[], "https a.b.example", public);
    check_side(&["*.example"], &[], "https example", missing);
    check_side(&["*.example"], &[], "https xexample", missing);
    check_side(&["*.example"], &[], "https .example", missing);
    check_side(&["9.9.9.9"], &[], "https 9.9.9.9", public);
    check_side(&["9.9.9.9"], &[], "https [::ffff:9.9.9.9]", missing);
    check_side(&["10.0.0.1"], &[], "https 10.0.0.1", Err(Refusal::NotPublic));
    check_side(&[], &["10.0.0.1"], "http 10.0.0.1", private);
    check_side(&[], &["10.0.0.1"], "http [::ffff:10.0.0.1]", Err(Refusal::NotPublic));
    check_side(&[], &["[::1]:81"], "http [::1] 81", private);
    check_side(&["a.example"], &["a.example:81"], "http a.example 81", private);
    check_side(&["a.example"], &["a.example:81"], "https a.example", public);
}

#[test]
fn addresses() {
    let public = ["9.9.9.9", "192.0.1.1", "2606:4700::1", "64:ff9b::909:909", "2002:909:909::1"];
    let other = [
        "0.0.0.0",
        "10.9.9.9",
        "100.64.0.1",
        "100.127.9.9",
        "127.0.0.1",
        "127.9.9.9",
        "169.254.1.1",
        "172.16.0.1",
        "172.31.9.9",
        "192.0.0.8",
        "192.0.2.1",
        "192.168.1.1",
        "198.19.0.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::909:909",
        "2002:7f00:1::1",
        "2002:a00:1::",
        "2001::1",
        "2001:db8::1",
        "3fff::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "5f00::1",
    ];
    for (texts, expected) in [(public.as_slice(), true), (&other, false)] {
        for text in texts {
            assert_eq!(is_public(text.parse().unwrap()), expected, "{text}");
        }
    }
    for text in ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254"]
    {
        assert!(is_metadata(text.parse().unwrap()), "{text}");
    }
    for host in ["169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]"] {
        let at = format!("http {host}");
        check_side(&[], &["localhost", "10.0.0.1"], &at, Err(Refusal::NotPublic));
        check_side(&["169.254.169.254"], &[], &at, Err(Refusal::NotPublic));
    }
    check_side(&[], &["169.254.169.254"], "http 169.254.169.254", Ok(Side::Private));
    assert!(!is_metadata("169.254.169.253".parse().unwrap()));
}
