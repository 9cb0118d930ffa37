//! Tables of what is rewritten and what is not; properties against the oracle.

mod oracle;
mod properties;

use super::{Form, GaveUp, Rewriter};
use crate::protocol::Method;
use oracle::{PREFIX, grown, holds, run};

fn text(method: Method, form: Form, answer: &str) -> String {
    String::from_utf8(run(method, form, answer.as_bytes(), &[1]).0).unwrap()
}

/// The answer as it must come out: without the marks `<…>`, in which its insertions stand.
fn marked(marked: &str) -> (String, String) {
    let mut came = String::new();
    let mut rest = marked;
    while let Some((before, after)) = rest.split_once('<') {
        came.push_str(before);
        rest = after.split_once('>').unwrap().1;
    }
    came.push_str(rest);
    (came, marked.replace(['<', '>'], ""))
}

#[test]
fn a_table_of_answers() {
    let cases = [
        (
            Method::ResourcesRead,
            r#"{"result":{"contents":[{"uri":"<k9+>file:///x","text":"file:///x"},{"uri" : "ui://<k9/>x"}]}}"#,
        ),
        (Method::ResourcesRead, r#"{"result":{"contents":{"uri":"x:a"},"uri":"x:a","content":[{"uri":"x:a"}]}}"#),
        (
            Method::ResourcesRead,
            r#"{"result":{"contents":[[{"uri":"x:a"}],"x:a",{"resource":{"uri":"x:a"},"_meta":{"uri":"x:a"}}]}}"#,
        ),
        (
            Method::ToolsCall,
            r#"{"id":1.50,"result":{"content":[{"type":"resource_link","uri":"<k9+>x:a","icons":[{"src":"https://i"}]}]}}"#,
        ),
        (
            Method::ToolsCall,
            r#"{"result":{"content":[{"resource":{"blob":"","uri":"<k9+>x:a","uri":"<k9+>x:b"}}]},"id":0}"#,
        ),
        (
            Method::ToolsCall,
            r#"{"result":{"contents":[{"uri":"x:a"}],"_meta":{"ui":{"resourceUri":"ui://a"}},"result":{"content":[{"uri":"x:a"}]}}}"#,
        ),
        (Method::ToolsCall, r#"{"result":{"structuredContent":{"content":[{"uri":"x:a"}]},"content":[]}}"#),
        (
            Method::ToolsCall,
            r#"{"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"uri":"x:a","content":[{"uri":"x:a"}]}}}}}"#,
        ),
        (Method::ToolsCall, r#"{"id":1,"error":{"code":-32602,"data":{"uri":"x:a","content":[{"uri":"x:a"}]}}}"#),
        (
            Method::PromptsGet,
            r#"{"result":{"messages":[{"content":{"uri":"<k9+>x:a","resource":{"uri":"<k9+>x:a"}},"uri":"x:a"}]}}"#,
        ),
        (
            Method::PromptsGet,
            r#"{"result":{"messages":[{"content":[{"uri":"<k9+>x:a"},{"resource":{"uri":"ui://<k9/>a"}}]}],"content":[{"uri":"x:a"}]}}"#,
        ),
        (
            Method::TasksGet,
            r#"{"result":{"status":"completed","result":{"content":[{"uri":"<k9+>x:a"}]},"content":[{"uri":"x:a"}]}}"#,
        ),
        (
            Method::TasksGet,
            r#"{"result":{"result":{"contents":[{"uri":"<k9+>x:a"}],"messages":[{"content":{"uri":"<k9+>x:a"}}],"result":{"content":[{"uri":"x"}]}}}}"#,
        ),
        (
            Method::TasksGet,
            r#"{"result":{"status":"failed","error":{"content":[{"uri":"x:a"}]},"inputRequests":{"content":[{"uri":"x:a"}]}}}"#,
        ),
        (Method::ToolsList, r#"{"result":{"tools":[],"content":[{"uri":"x:a"}],"contents":[{"uri":"x:a"}]}}"#),
        // Not of this form, not at this place, no string.
        (Method::ToolsCall, r#"{"method":"notifications/resources/updated","params":{"uri":"x:a"}}"#),
        (Method::ToolsCall, r#"[{"result":{"content":[{"uri":"x:a"}]}}]"#),
        (Method::ToolsCall, r#"{"result":[{"content":[{"uri":"x:a"}]}],"Result":{"content":[{"uri":"x:a"}]}}"#),
        (
            Method::ToolsCall,
            r#"{"result":{"content":[{"uri":null},{"uri":7},{"uri":["x:a"]},{"uri":{"uri":"x:a"}},{"URI":"x:a","uri ":"x"}]}}"#,
        ),
        // Keys as others may write them.
        (
            Method::ToolsCall,
            r#"{"\u0072esult":{"conten\u0074":[{"u\u0072\u0069":"<k9+>x:a","uri\u00e9":"x:a","\ud83d\ude00uri":"x:a"}]}}"#,
        ),
        // What reads otherwise is left as it was all the same.
        (Method::ToolsCall, r#"{"result":{"content":[{"n":NaN,"uri":"<k9+>x:a","i":-Infinity,"t":"	"}]}}"#),
        (Method::ToolsCall, ""),
        (Method::ToolsCall, " \r\n"),
        (Method::ToolsCall, "true"),
        (Method::ToolsCall, "17"),
    ];
    for (method, case) in cases {
        let (came, went) = marked(case);
        assert_eq!(text(method, Form::Json, &came), went);
        assert_eq!(run(method, Form::Json, came.as_bytes(), &[]).1, None, "{came}");
    }
}

#[test]
fn a_uri_grows_where_its_text_says() {
    for (came, went) in [
        ("", "k9+"),
        ("u", "k9+u"),
        ("ui:/", "k9+ui:/"),
        ("ui://", "ui://k9/"),
        ("ui:///x", "ui://k9//x"),
        ("UI://x", "k9+UI://x"),
        (" ui://x", "k9+ ui://x"),
        ("file:///é", "k9+file:///é"),
        ("éui://", "k9+éui://"),
        (r"\u0075\u0069\u003A\u002f\u002Fx", r"\u0075\u0069\u003A\u002f\u002Fk9/x"),
        (r"ui:\/\/x", r"ui:\/\/k9/x"),
        (r"ui:\/\u0020", r"k9+ui:\/\u0020"),
        (r"u\ud83d\ude00", r"k9+u\ud83d\ude00"),
        (r"\u0175i://", r"k9+\u0175i://"),
        (r#"ui:\"//"#, r#"k9+ui:\"//"#),
        (r"ui://\n", r"ui://k9/\n"),
    ] {
        let answer = |uri: &str| format!(r#"{{"result":{{"content":[{{"uri":"{uri}","a":"b"}},{{"uri":"x:"}}]}}}}"#);
        let went = answer(went).replace(r#""x:""#, r#""k9+x:""#);
        for size in 1..20 {
            let (out, gave_up) = run(Method::ToolsCall, Form::Json, answer(came).as_bytes(), &[size]);
            assert_eq!((String::from_utf8(out).unwrap(), gave_up), (went.clone(), None));
        }
        let plain: String = serde_json::from_str(&format!("\"{came}\"")).unwrap();
        assert_eq!(grown(&plain), crate::routing::prefixed_uri(PREFIX, &plain));
    }
}

#[test]
fn an_empty_prefix_changes_nothing() {
    let mut out = Vec::new();
    let mut rewriter = Rewriter::new("".into(), Method::ToolsCall, Form::Json);
    let answer = br#"{"result":{"content":[{"uri":"x:a"},{"uri":"ui://a"}]}}"#;
    rewriter.feed(answer, &mut out);
    rewriter.finish(&mut out);
    assert_eq!(out, answer);
}

#[test]
fn what_is_no_json_passes_from_there_on() {
    let deep = |levels: usize| format!(r#"{{"result":{{"a":{}"#, "[".repeat(levels - 2)) + &"]".repeat(levels - 2);
    let cases = [
        (r#"{"result":{"content":[{"uri":"<k9+>x:a"} {"uri":"x:b"}]}}"#.to_owned(), GaveUp::NotJson),
        (r#"{"result":{"content":[{"uri":"<k9+>x:a"},"\x",{"uri":"x:b"}]}}"#.to_owned(), GaveUp::NotJson),
        (r#"{"result":{"content":[{"uri":"<k9+>x:a"},"\u12g4",{"uri":"x:b"}]}}"#.to_owned(), GaveUp::NotJson),
        (r#"{"result":{"content":[{"uri":"ui\x"},{"uri":"x:b"}]}}"#.to_owned(), GaveUp::NotJson),
        ("{\"result\":{\"content\":[{\"uri\":\"ui\n\"},{\"uri\":\"x:b\"}]}}".to_owned(), GaveUp::NotJson),
        (r#"{"result":{"content":[{"uri":"<k9+>x:a"}}],"content":[{"uri":"x:b"}]}"#.to_owned(), GaveUp::NotJson),
        (r#"{"result":{"content":[{uri:"x:a"}]}}"#.to_owned(), GaveUp::NotJson),
        (r#"{} {"result":{"content":[{"uri":"x:a"}]}}"#.to_owned(), GaveUp::NotJson),
        ("\u{feff}{\"result\":{\"content\":[{\"uri\":\"x:a\"}]}}".to_owned(), GaveUp::NotJson),
        ("Bad Gateway".to_owned(), GaveUp::NotJson),
        (deep(129) + r#","content":[{"uri":"x:a"}]}}"#, GaveUp::TooDeep),
        (r#"{"result":{"content":[{"uri":"<k9+>x:a"},"#.to_owned(), GaveUp::Truncated),
        (r#"{"result":{"content":[{"uri":"ui:/"#.to_owned(), GaveUp::Truncated),
        (r#"{"result":{"content":[{"uri":""#.to_owned(), GaveUp::Truncated),
    ];
    for (case, gave_up) in cases {
        let (came, went) = marked(&case);
        for sizes in [&[][..], &[1], &[3]] {
            let (out, found) = run(Method::ToolsCall, Form::Json, came.as_bytes(), sizes);
            assert_eq!((String::from_utf8(out).unwrap(), found), (went.clone(), Some(gave_up)));
        }
    }
    let (came, went) = marked(&(deep(128) + r#","content":[{"uri":"<k9+>x:a"}]}}"#));
    assert_eq!(text(Method::ToolsCall, Form::Json, &came), went);
}

#[test]
fn a_table_of_messages_on_a_stream() {
    let cases = [
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"uri":"x:a"},"uri":"<k9+>x:a"}}"#,
        r#"{"params":{"uri":"ui://<k9/>a"},"method":"notifications/resources/updated"}"#,
        r#"{"method":"notifications\/resources\/\u0075pdated","params":{"uri":"<k9+>x:a","notifications":{"resourceSubscriptions":["x"]}}}"#,
        r#"{"method":"notifications/message","params":{"uri":"x:a","result":{"content":[{"uri":"x:a"}]},"data":{"uri":"x:a"}}}"#,
        r#"{"method":"notifications/resources/updated/","params":{"uri":"x:a"}}"#,
        r#"{"method":"notifications/resources/updatednotifications/subscriptions/acknowledged","params":{"uri":"x:a"}}"#,
        // Too late to tell: what no notification of the schema has besides.
        r#"{"params":{"uri":"<k9+>x:a","data":{"uri":"x:a"}},"method":"notifications/message"}"#,
        r#"{"method":"notifications/subscriptions/acknowledged","params":{"uri":"x:a","notifications":{"toolsListChanged":true,"resourceSubscriptions":["<k9+>x:a","ui://<k9/>a"]}}}"#,
        r#"{"method":"notifications/tasks","params":{"taskId":"x:a","uri":"x:a","status":"completed","result":{"content":[{"uri":"<k9+>x:a"}]}}}"#,
        r#"{"method":7,"params":{"uri":"<k9+>x:a"}}"#,
        r#"{"id":0,"result":{"content":[{"uri":"<k9+>x:a"}],"params":{"uri":"x:a"},"method":"notifications/message"},"id":1}"#,
        r#"{"id":0,"method":"sampling/createMessage","params":{"messages":[{"content":{"uri":"x:a"}}]}}"#,
        r#"{"id":0,"error":{"data":{"params":{"uri":"x:a"}}}}"#,
    ];
    for case in cases {
        let (came, went) = marked(case);
        let framed = |text: &str| format!("data: {text}\n\n");
        assert_eq!(text(Method::ToolsCall, Form::Events, &framed(&came)), framed(&went));
    }
}

#[test]
fn a_table_of_streams() {
    const ONE: &str = r#"{"result":{"content":[{"uri":"<k9+>x:a"}]}}"#;
    const LEFT: &str = r#"{"result":{"content":[{"uri":"x:a"}]}}"#;
    let cases = [
        (format!("data: {ONE}\n\ndata:{ONE}\r\n\r\ndata:  {ONE}\r\rdata: {ONE}"), None),
        (format!("\u{feff}data: {ONE}\n\n\u{feff}data: {LEFT}\n\ndata: {ONE}\n\n"), None),
        (format!("\u{feff}\n\ndata: {ONE}\n\n"), None),
        (
            format!(": {LEFT}\nid: {LEFT}\nevent: message\ndat: {LEFT}\ndatax: {LEFT}\n data: {LEFT}\ndata: {ONE}\n\n"),
            None,
        ),
        (format!("data:\nid: 0\n\n\r\n:\n\ndata\ndata: {ONE}\n\n"), None),
        (
            "data: {\"result\"\r: x\rdata\rdata::{\"content\":[\ndata:{\"uri\":\ndata:\"<k9+>x:a\"}]}}\n\n".to_owned(),
            None,
        ),
        // A line's end in a URI is none of JSON's.
        (
            "data: {\"result\":{\"content\":[{\"uri\":\"ui:\ndata: //\"}]}}\n\n".to_owned() + "data: 1\n\n",
            Some(GaveUp::NotJson),
        ),
        ("data: {\"result\":{\"content\":[{\"uri\":\"ui:\r\n\r\n//\"}]}}\n\n".to_owned(), Some(GaveUp::NotJson)),
        (format!("data: ping\n\ndata: {{]\n\ndata: {ONE}\n\n"), Some(GaveUp::NotJson)),
        (format!("data: {{\"result\":\n\ndata: {ONE}\n\n"), Some(GaveUp::Truncated)),
        (format!("data: {ONE}{LEFT}\n\ndata: {ONE}\n\n"), Some(GaveUp::NotJson)),
        (format!("data: {ONE}\ndata: {LEFT}\n\n"), Some(GaveUp::NotJson)),
        ("data: {\"result\":{\"content\":[{\"uri\":\"u".to_owned(), Some(GaveUp::Truncated)),
    ];
    for (case, gave_up) in cases {
        let (came, went) = marked(&case);
        for sizes in [&[][..], &[1], &[2], &[7, 1]] {
            let (out, found) = run(Method::ToolsCall, Form::Events, came.as_bytes(), sizes);
            assert_eq!((String::from_utf8(out).unwrap(), found), (went.clone(), gave_up), "{came}");
        }
        holds(Method::ToolsCall, Form::Events, came.as_bytes(), &[1, 2, 3]);
    }
}

/// What may leave does so at once.
#[test]
fn nothing_is_held_but_the_beginning_of_a_uri() {
    let mut rewriter = Rewriter::new(PREFIX.into(), Method::ResourcesRead, Form::Json);
    let mut out = Vec::new();
    let mut held = 0;
    let answer = br#"{"result":{"contents":[{"uri":"\u0075\u0069\u003a\u002f\u002f"},{"uri":"x:a"}]}}"#;
    let mut insertions = 0;
    for (fed, byte) in answer.iter().enumerate() {
        rewriter.feed(&[*byte], &mut out);
        insertions = out.windows(3).filter(|window| window.starts_with(b"k9")).count();
        held = held.max(fed + 1 + insertions * 3 - out.len());
    }
    assert_eq!((held, insertions), (29, 2));
}
