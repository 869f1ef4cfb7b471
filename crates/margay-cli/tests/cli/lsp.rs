// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay lsp`: a session over its standard input and output, and one of Neovim's where it is installed.
//!
//! The protocol message by message is tested in margay-rules, without a process.

use std::io::{BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lsp_server::{Message, Notification, Request};
use serde_json::{Value, json};

use super::{Place, clang};

/// A warning that has a fix, and a column access of a shared tile.
const TEXT: &str = "\
__global__ void k(__shared__ float *q, float *p) {
    __shared__ float s[32][32];
    s[threadIdx.y][threadIdx.x] = q[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x][threadIdx.y];
}
";

struct Client {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: i32,
}

impl Client {
    fn start(place: &Place, arguments: &[&str]) -> Client {
        let mut line = vec!["lsp"];
        line.extend(arguments);
        let mut command = place.command(&line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the server starts");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        Client { child, to, from, next: 0 }
    }

    fn read(&mut self) -> Message {
        Message::read(&mut self.from).expect("a message").expect("the server is there")
    }

    fn notify(&mut self, method: &str, params: Value) {
        let note = Notification { method: method.into(), params };
        Message::Notification(note).write(&mut self.to).expect("the server listens");
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next.into();
        let request = Request { id, method: method.into(), params };
        Message::Request(request).write(&mut self.to).expect("the server listens");
        loop {
            if let Message::Response(response) = self.read() {
                return serde_json::to_value(response).expect("JSON")["result"].take();
            }
        }
    }

    fn diagnostics(&mut self) -> Vec<Value> {
        loop {
            if let Message::Notification(note) = self.read()
                && note.method == "textDocument/publishDiagnostics"
            {
                return note.params["diagnostics"].as_array().expect("a list").clone();
            }
        }
    }
}

fn codes(list: &[Value]) -> Vec<&str> {
    list.iter().map(|d| d["code"].as_str().unwrap_or("-")).collect()
}

#[test]
fn a_session() {
    if !clang("lsp::a_session") {
        return;
    }
    let place = Place::empty();
    place
        .write("x.cu", TEXT)
        .write("margay.toml", "[check]\ngpu = \"sm_90\"\nseverity = { MG603 = \"warning\" }\n");
    let mut client = Client::start(&place, &["--stdio"]);
    let capabilities = client.request("initialize", json!({ "capabilities": {} }));
    assert_eq!(capabilities["capabilities"]["hoverProvider"], true, "{capabilities}");
    client.notify("initialized", json!({}));
    let uri = format!("file://{}", place.path("x.cu").display());
    let document = json!({ "uri": uri, "languageId": "cuda", "version": 1, "text": TEXT });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let said = client.diagnostics();
    assert_eq!(codes(&said), ["MG202", "MG603"], "{said:?}");
    // margay.toml made the hint a warning: 2 in the protocol.
    assert_eq!(said[1]["severity"], 2, "{said:?}");
    let hover = client.request(
        "textDocument/hover",
        json!({ "textDocument": { "uri": uri }, "position": { "line": 4, "character": 24 } }),
    );
    let text = hover["contents"]["value"].as_str().expect("a text");
    assert!(text.contains("**32-way bank conflict**") && text.contains("## MG603"), "{text}");
    // margay.toml changes: with the next save everything that is open is checked anew.
    place.write("margay.toml", "[check]\ngpu = \"sm_90\"\nseverity = { MG603 = \"off\" }\n");
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(codes(&client.diagnostics()), ["MG202"]);
    // A broken margay.toml is told on the file, and does not end the session.
    place.write("margay.toml", "[check\n");
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    let broken = client.diagnostics();
    assert!(broken[0]["message"].as_str().expect("a text").contains("margay.toml"), "{broken:?}");
    client.request("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.child.wait().expect("an end").code(), Some(0));
}

#[test]
fn a_client_that_says_nonsense_or_goes_away() {
    let place = Place::empty();
    let mut client = Client::start(&place, &[]);
    client.to.write_all(b"Content-Length: 9\r\n\r\nnonsense!").expect("the server listens");
    drop(client.to);
    assert_eq!(client.child.wait().expect("an end").code(), Some(1));
    let mut gone = Client::start(&place, &[]);
    drop(gone.to);
    assert_eq!(gone.child.wait().expect("an end").code(), Some(1));
    let got = place.margay(&["lsp", "--gpu", "sm_91"]);
    assert!(got.code == 2 && got.stderr.contains("no GPU is called `sm_91`"), "{}", got.stderr);
}

/// What Neovim does in the session below; it runs in the editor.
const SCRIPT: &str = r#"
local out = {}
local ok, problem = pcall(function()
  local client = vim.lsp.start_client({ name = 'margay', cmd = { vim.env.MARGAY, 'lsp' }, root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(0, client)
  local some = function() return #vim.diagnostic.get(0) > 0 end
  out.came = vim.wait(60000, some, 50)
  out.diagnostics = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    table.insert(out.diagnostics, { code = d.code, line = d.lnum + 1, column = d.col + 1, source = d.source })
  end
  vim.api.nvim_win_set_cursor(0, { 5, 24 })
  local position = vim.lsp.util.make_position_params(0, 'utf-16')
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/hover', position, 60000)
  for _, answer in pairs(answers) do out.hover = answer.result.contents.value end
  vim.api.nvim_win_set_cursor(0, { 1, 20 })
  local range = vim.lsp.util.make_range_params(0, 'utf-16')
  range.context = { diagnostics = {} }
  for _, answer in pairs(vim.lsp.buf_request_sync(0, 'textDocument/codeAction', range, 60000)) do
    out.action = answer.result[1].title
    vim.lsp.util.apply_workspace_edit(answer.result[1].edit, 'utf-16')
  end
  out.line = vim.api.nvim_buf_get_lines(0, 0, 1, true)[1]
  out.gone = vim.wait(60000, function()
    for _, d in ipairs(vim.diagnostic.get(0)) do if d.code == 'MG202' then return false end end
    return true
  end, 50)
end)
out.problem = (not ok) and tostring(problem) or nil
vim.fn.writefile({ vim.fn.json_encode(out) }, 'session.json')
vim.cmd('qall!')
"#;

#[test]
fn neovim() {
    let there = Command::new("nvim")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    if !there {
        eprintln!("skipped: lsp::neovim: Neovim (nvim) is not installed");
        return;
    }
    if !clang("lsp::neovim") {
        return;
    }
    let place = Place::empty();
    place
        .write("x.cu", TEXT)
        .write("session.lua", SCRIPT)
        .write("margay.toml", "[check]\ngpu = \"sm_90\"\n");
    // The command carries the folder and the environment of the tests.
    let like = place.command(&[]);
    let mut nvim = Command::new("nvim");
    nvim.args(["--headless", "--clean", "-c", "luafile session.lua", "x.cu"]);
    nvim.current_dir(like.get_current_dir().expect("a folder")).stdin(Stdio::null());
    nvim.env("MARGAY", env!("CARGO_BIN_EXE_margay"));
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => nvim.env(name, value),
            None => nvim.env_remove(name),
        };
    }
    nvim.env("HOME", place.path("home"));
    let output = nvim.output().expect("Neovim starts");
    let text = std::fs::read_to_string(place.path("session.json"))
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let session: Value = serde_json::from_str(&text).expect("JSON");
    assert!(session["problem"].is_null() && session["came"] == true, "{session:#}");
    let expected = json!([
        { "code": "MG202", "line": 1, "column": 19, "source": "margay" },
        { "code": "MG603", "line": 5, "column": 22, "source": "margay" },
    ]);
    assert_eq!(session["diagnostics"], expected, "{session:#}");
    let hover = session["hover"].as_str().unwrap_or_default();
    assert!(hover.contains("**32-way bank conflict**"), "{hover}");
    assert_eq!(session["action"], "remove `__shared__`");
    assert_eq!(session["line"], "__global__ void k(float *q, float *p) {");
    assert_eq!(session["gone"], true);
}
