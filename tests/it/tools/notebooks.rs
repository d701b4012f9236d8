//! Notebooks: shown as cells, changed as the text they are.

use super::{Row, does, file, json, play, refused};

const NOTEBOOK: &str = r##"{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "words"]},
  {
   "cell_type": "code", "execution_count": 3, "metadata": {},
   "source": ["total = 1\n", "print(total)"],
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
    {"output_type": "display_data", "data": {"image/png": "aGVsbG8=", "text/plain": "<Figure>"}}
   ]
  }
 ],
 "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5
}
"##;

#[tokio::test(flavor = "multi_thread")]
async fn notebooks_are_cells_to_read_and_text_to_edit() {
    let flat = NOTEBOOK.replace('\n', " ");
    let path = |path| json!({"path": path});
    let changed = NOTEBOOK.replace("total = 1", "total = 2");
    play(vec![
        Row {
            id: "cells",
            before: vec![file("a.ipynb", NOTEBOOK)],
            steps: vec![
                does("read", path("a.ipynb"))
                    .holds("notebook `a.ipynb`, python, 2 cells\n--- cell 1, markdown\n# Title\nwords\n")
                    .holds("--- cell 2, code, run as 3\ntotal = 1\nprint(total)\n")
                    .holds("--- output of cell 2, stdout\n1\n")
                    .holds("<Figure>\n[image/png, 8 bytes as text; not shown]\n")
                    .holds("`edit` works on the file's own lines")
                    .lacks("aGVsbG8="),
                does("read", json!({"path": "a.ipynb", "limit": 1}))
                    .holds("[cells 1-1 of 2; go on with offset 2]")
                    .lacks("total"),
                refused("read", json!({"path": "a.ipynb", "offset": 3})).holds("has 2 cells"),
                does("read", json!({"path": "a.ipynb", "offset": 6, "byte": 0}))
                    .holds("   \"source\": [\"total = 1\\n\", \"print(total)\"],\n"),
                // The cells leave things out, so they do not stand for the whole file.
                refused("write", json!({"path": "a.ipynb", "content": "{}"})).holds("lines"),
                does("edit", json!({"path": "a.ipynb", "old": "total = 1", "new": "total = 2"})),
                does("read", path("a.ipynb")).holds("\ntotal = 2\n"),
            ],
            after: vec![file("a.ipynb", &changed)],
        },
        Row {
            id: "read alone allows an edit",
            before: vec![file("b.ipynb", NOTEBOOK)],
            steps: vec![
                does("read", path("b.ipynb")),
                does("edit", json!({"path": "b.ipynb", "old": "total = 1", "new": "total = 2"})),
            ],
            after: vec![file("b.ipynb", &changed)],
        },
        Row {
            id: "one line",
            before: vec![file("flat.ipynb", &flat)],
            steps: vec![
                does("read", path("flat.ipynb")).holds("cell 2, code"),
                does("edit", json!({"path": "flat.ipynb", "old": "total = 1", "new": "total = 2"})),
            ],
            after: vec![file("flat.ipynb", flat.replace("total = 1", "total = 2"))],
        },
        Row {
            id: "broken",
            before: vec![
                file("cut.ipynb", &NOTEBOOK[..200]),
                file("old.ipynb", "{\"worksheets\": []}\n"),
                file("empty.ipynb", ""),
            ],
            steps: vec![
                does("read", path("cut.ipynb"))
                    .holds("1\t{\n2\t \"cells\": [\n")
                    .holds("[shown as text, not as the cells of a notebook: no JSON, "),
                does("read", path("old.ipynb"))
                    .holds("1\t{\"worksheets\": []}\n")
                    .holds("notebook: it has no list of `cells`]"),
                does("read", path("empty.ipynb")).holds("is empty"),
            ],
            after: vec![],
        },
    ])
    .await;
}
