// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session of the language server, message by message.

mod support;

use std::thread;

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use margay_rules::rule::Example;
use margay_rules::{Settings, lsp};
use serde_json::{Value, json};

const TEXT: &str = "__constant__ int c;
__global__ void k(float *p) {
    __shared__ float s[32][32];
    s[threadIdx.y][threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x][threadIdx.y];
    c = 1;
}
__global__ void f(__shared__ int *q) { q[0] = 1; }
";

struct Client {
    connection: Connection,
    next: i32,
}

impl Client {
    fn notify(&self, method: &str, params: Value) {
        let note = Notification { method: method.into(), params };
        self.connection.sender.send(Message::Notification(note)).expect("the server listens");
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request { id: id.clone(), method: method.into(), params };
        self.connection.sender.send(Message::Request(request)).expect("the server listens");
        loop {
            match self.connection.receiver.recv().expect("an answer") {
                Message::Response(response) if response.id == id => {
                    return serde_json::to_value(response).expect("an answer is JSON");
                }
                Message::Response(_) | Message::Notification(_) | Message::Request(_) => {}
            }
        }
    }

    fn diagnostics(&self) -> Value {
        loop {
            if let Message::Notification(note) = self.connection.receiver.recv().expect("a message")
                && note.method == "textDocument/publishDiagnostics"
            {
                return note.params;
            }
        }
    }
}

fn codes(params: &Value) -> Vec<String> {
    let list = params["diagnostics"].as_array().expect("a list");
    list.iter().map(|d| d["code"].as_str().unwrap_or("-").to_string()).collect()
}

#[test]
fn a_session() {
    let (server, client) = Connection::memory();
    let serving = thread::spawn(move || {
        let prepare = |_: &std::path::Path| {
            Ok((support::environment(&Example::new("")), Settings::default()))
        };
        lsp::serve(&server, &prepare)
    });
    let mut client = Client { connection: client, next: 0 };
    let started = client.request("initialize", json!({ "capabilities": {} }));
    assert_eq!(started["result"]["capabilities"]["hoverProvider"], json!(true), "{started}");
    client.notify("initialized", json!({}));

    let uri = "file:///tmp/margay%20session.cu";
    client.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": uri, "languageId": "cuda", "version": 1, "text": TEXT } }),
    );
    let said = client.diagnostics();
    assert_eq!(said["uri"], uri);
    assert_eq!(codes(&said), ["MG603", "MG209", "MG202"], "{said}");
    assert_eq!(said["diagnostics"][1]["range"]["start"], json!({ "line": 6, "character": 4 }));

    let hover = |client: &mut Client, line: u32, character: u32| {
        let position = json!({ "line": line, "character": character });
        let answer = client.request(
            "textDocument/hover",
            json!({ "textDocument": { "uri": uri }, "position": position }),
        );
        answer["result"]["contents"]["value"].as_str().unwrap_or("").to_string()
    };
    assert!(hover(&mut client, 6, 5).contains("## MG209"));
    let column = hover(&mut client, 5, 24);
    assert!(column.contains("**32-way bank conflict**"), "{column}");
    let row = hover(&mut client, 3, 6);
    assert!(row.contains("no bank conflict"), "{row}");
    assert_eq!(hover(&mut client, 1, 0), "");

    let range =
        json!({ "start": { "line": 8, "character": 20 }, "end": { "line": 8, "character": 20 } });
    let actions = client.request(
        "textDocument/codeAction",
        json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] } }),
    );
    assert_eq!(actions["result"][0]["title"], "remove `__shared__`", "{actions}");

    // Two changes at once: the answer is about the last.
    for (version, text) in [(2, "int broken("), (3, "__global__ void k(int *p) { p[0] = 1; }\n")] {
        client.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "text": text }],
            }),
        );
    }
    loop {
        let said = client.diagnostics();
        if said["version"] == 3 {
            assert_eq!(codes(&said), Vec::<String>::new());
            break;
        }
    }
    let unknown = client.request("textDocument/definition", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    client.request("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(serving.join().expect("no panic"), Ok(()));
}
