//! A notebook as its cells: number, kind, source, and what came of it as text.
//!
//! Reads the format of Jupyter from version 4 on, strictly enough to fall back: what is no such
//! notebook is shown as the text it is. Never shows pictures or pages that are in an output; says
//! what they are.

use harness_sdk::{Fault, fault};
use serde_json::Value;

use crate::page::MAX_PAGE_BYTES;
use crate::text::{counted, prefix};

/// Characters of one output: logs and tables repeat themselves.
const MAX_OUTPUT_CHARS: usize = 2_000;
/// Outputs of one cell.
const MAX_OUTPUTS: usize = 20;

/// A notebook, ready to be shown.
#[derive(Debug)]
pub(crate) struct Notebook {
    language: String,
    /// Each as text.
    cells: Vec<String>,
}

/// Some of its cells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) text: String,
    pub(crate) count: usize,
}

/// Reads a file's bytes.
///
/// # Errors
///
/// Why they are no notebook.
pub(crate) fn parse(bytes: &[u8]) -> Result<Notebook, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|err| format!("no JSON, {err}"))?;
    let cells = value["cells"].as_array().ok_or("it has no list of `cells`")?;
    let cells = cells.iter().enumerate().map(|(at, cell)| shown(at + 1, cell));
    let language = &value["metadata"]["kernelspec"]["language"];
    let language = language.as_str().or(value["metadata"]["language_info"]["name"].as_str());
    Ok(Notebook {
        language: language.unwrap_or("unknown language").to_owned(),
        cells: cells.collect::<Result<_, _>>()?,
    })
}

impl Notebook {
    /// The cells from the `first` on, with the way to go on.
    pub(crate) fn page(&self, path: &str, first: u64, limit: u64) -> Result<Cells, Fault> {
        let total = self.cells.len();
        let have = counted(total, "cell");
        let start = usize::try_from(first - 1).unwrap_or(usize::MAX);
        if start >= total && start > 0 {
            return Err(fault::invalid(format!(
                "notebook `{path}` has {have}; offset {first} is past its end"
            ))
            .hint(format!("use an offset from 1 to {}", total.max(1))));
        }
        let mut text = format!("notebook `{path}`, {}, {have}\n", self.language);
        let mut end = start;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        for cell in self.cells.iter().skip(start).take(limit) {
            if end > start && text.len() + cell.len() > MAX_PAGE_BYTES {
                break;
            }
            let (cut, taken) = prefix(cell.as_bytes(), usize::MAX, MAX_PAGE_BYTES);
            text.push_str(&cut);
            if taken < cell.len() {
                text.push_str(&format!("\n[cut after {taken} of {} bytes]\n", cell.len()));
            }
            end += 1;
        }
        if end < total {
            text.push_str(&format!(
                "[cells {first}-{end} of {total}; go on with offset {}]\n",
                end + 1
            ));
        }
        Ok(Cells { text, count: end - start })
    }
}

fn shown(number: usize, cell: &Value) -> Result<String, String> {
    let kind = cell["cell_type"].as_str().ok_or(format!("cell {number} has no `cell_type`"))?;
    let source = text(&cell["source"]).ok_or(format!("cell {number} has no `source`"))?;
    let mut shown = format!("--- cell {number}, {kind}");
    if let Some(count) = cell["execution_count"].as_u64() {
        shown.push_str(&format!(", run as {count}"));
    }
    shown.push('\n');
    push(&mut shown, &source);
    let outputs = cell["outputs"].as_array().map(Vec::as_slice).unwrap_or_default();
    for output in outputs.iter().take(MAX_OUTPUTS) {
        shown.push_str(&format!("--- output of cell {number}, {}\n", label(output)));
        push(&mut shown, &capped(&plain(&content(output))));
    }
    if outputs.len() > MAX_OUTPUTS {
        shown.push_str(&format!("[{} more]\n", counted(outputs.len() - MAX_OUTPUTS, "output")));
    }
    Ok(shown)
}

/// Adds text as whole lines.
fn push(shown: &mut String, text: &str) {
    shown.push_str(text);
    if !text.is_empty() && !text.ends_with('\n') {
        shown.push('\n');
    }
}

fn label(output: &Value) -> &str {
    output["name"].as_str().or(output["output_type"].as_str()).unwrap_or("unknown")
}

fn content(output: &Value) -> String {
    if output["output_type"] == "error" {
        let word = |key: &str| output[key].as_str().unwrap_or_default().to_owned();
        let trace = output["traceback"].as_array().into_iter().flatten();
        let trace: Vec<&str> = trace.filter_map(Value::as_str).collect();
        return format!("{}: {}\n{}", word("ename"), word("evalue"), trace.join("\n"));
    }
    if let Some(text) = text(&output["text"]) {
        return text;
    }
    let mut lines = String::new();
    let data = output["data"].as_object();
    if let Some(text) = data.and_then(|data| text(data.get("text/plain")?)) {
        push(&mut lines, &text);
    }
    for (kind, value) in data.into_iter().flatten().filter(|(kind, _)| *kind != "text/plain") {
        let size = text(value).map_or(0, |text| text.len());
        lines.push_str(&format!("[{kind}, {size} bytes as text; not shown]\n"));
    }
    lines
}

/// A text, or a list of its lines.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => lines.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn capped(text: &str) -> String {
    let (start, taken) = prefix(text.as_bytes(), MAX_OUTPUT_CHARS, usize::MAX);
    if taken == text.len() {
        return start;
    }
    format!("{start}\n[cut after {taken} of {} bytes]", text.len())
}

/// Without the colours that kernels put into a traceback.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_of_code = |letter: char| letter.is_ascii_digit() || letter == ';';
        let rest = part.trim_start_matches(is_of_code);
        plain.push_str(
            rest.strip_prefix(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(rest),
        );
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTEBOOK: &str = r##"{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]},
  {"cell_type": "code", "execution_count": 7, "metadata": {}, "source": "print(1)\n1/0",
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
    {"output_type": "display_data", "data": {"text/plain": ["<Figure>"], "image/png": "aGVsbG8="}},
    {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero",
     "traceback": ["\u001b[0;31mTraceback\u001b[0m", "line 2"]}
   ]},
  {"cell_type": "raw", "source": []}
 ],
 "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4
}"##;

    fn page(first: u64, limit: u64) -> String {
        parse(NOTEBOOK.as_bytes()).unwrap().page("n.ipynb", first, limit).unwrap().text
    }

    #[test]
    fn cells_with_their_outputs() {
        assert_eq!(
            page(1, 99),
            "notebook `n.ipynb`, python, 3 cells\n\
             --- cell 1, markdown\n# Title\ntext\n\
             --- cell 2, code, run as 7\nprint(1)\n1/0\n\
             --- output of cell 2, stdout\n1\n\
             --- output of cell 2, display_data\n<Figure>\n[image/png, 8 bytes as text; not shown]\n\
             --- output of cell 2, error\nZeroDivisionError: division by zero\nTraceback\nline 2\n\
             --- cell 3, raw\n"
        );
        assert!(page(1, 1).ends_with("text\n[cells 1-1 of 3; go on with offset 2]\n"));
        assert!(page(3, 1).ends_with("3 cells\n--- cell 3, raw\n"));
        let past = parse(NOTEBOOK.as_bytes()).unwrap().page("n", 4, 1).unwrap_err();
        assert_eq!(past.message, "notebook `n` has 3 cells; offset 4 is past its end");
    }

    #[test]
    fn pages_are_bounded_and_go_on() {
        let cell =
            format!(r#"{{"cell_type":"code","source":"{}","outputs":[]}}"#, "x".repeat(30_000));
        let huge = format!(r#"{{"cell_type":"code","source":"{}"}}"#, "y".repeat(99_000));
        let file = format!(r#"{{"cells":[{cell},{cell},{huge},{cell}]}}"#);
        let notebook = parse(file.as_bytes()).unwrap();
        for first in 1..=4 {
            let cells = notebook.page("n", first, 99).unwrap();
            assert_eq!(cells.count, 1, "{first}");
            assert!(cells.text.len() < MAX_PAGE_BYTES + 200);
            let goes_on = cells.text.contains(&format!("go on with offset {}]", first + 1));
            assert_eq!(goes_on, first < 4);
        }
        let output =
            format!(r#"{{"output_type":"stream","name":"stdout","text":"{}"}}"#, "z".repeat(9_000));
        let outputs = vec![output; 30].join(",");
        let file =
            format!(r#"{{"cells":[{{"cell_type":"code","source":"","outputs":[{outputs}]}}]}}"#);
        let text = parse(file.as_bytes()).unwrap().page("n", 1, 9).unwrap().text;
        assert!(text.contains("[cut after 2000 of 9000 bytes]"), "{text}");
        assert!(text.ends_with("[10 outputs more]\n"), "{}", &text[text.len() - 100..]);
    }

    #[test]
    fn what_is_no_notebook_is_told() {
        for (file, why) in [
            ("{\"cells\": [", "no JSON, "),
            ("{\"worksheets\": []}", "it has no list of `cells`"),
            ("{\"cells\": [{\"source\": \"\"}]}", "cell 1 has no `cell_type`"),
            ("{\"cells\": [{\"cell_type\": \"code\", \"source\": [1]}]}", "cell 1 has no `source`"),
        ] {
            let told = parse(file.as_bytes()).unwrap_err();
            assert!(told.starts_with(why), "{told}");
        }
    }
}
