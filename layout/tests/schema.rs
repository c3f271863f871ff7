//! What `--json` prints is what the schemas say, by a validator of the words that they use.

use crate::common::{compile, layout, write};
use serde_json::Value;

fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(path) => root.pointer(path.strip_prefix('#').expect("local")).expect("the reference exists"),
        None => schema,
    }
}

fn is_type(value: &Value, word: &str) -> bool {
    match word {
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("type {other}"),
    }
}

/// What is wrong with a value, if something is.
fn fault(root: &Value, schema: &Value, value: &Value, place: &str) -> Option<String> {
    let schema = resolve(root, schema);
    let wrong = |what: &str| Some(format!("{place}: {what}: {value}"));
    let types: Vec<&str> = match &schema["type"] {
        Value::String(word) => vec![word],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|word| is_type(value, word)) {
        return wrong("type");
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return wrong("enum");
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_i64(), value.as_i64())
        && number < least
    {
        return wrong("minimum");
    }
    if let Some(any) = schema["anyOf"].as_array()
        && any.iter().all(|schema| fault(root, schema, value, place).is_some())
    {
        return wrong("anyOf");
    }
    if let (Some(_), Some(values)) = (schema.get("items"), value.as_array()) {
        let fault = |(index, value)| fault(root, &schema["items"], value, &format!("{place}[{index}]"));
        return values.iter().enumerate().find_map(fault);
    }
    let fields = value.as_object()?;
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(missing) = required.iter().find(|key| !fields.contains_key(key.as_str().unwrap_or(""))) {
        return wrong(&format!("no {missing}"));
    }
    fields.iter().find_map(|(key, value)| {
        let place = format!("{place}.{key}");
        if let Some(names) = schema.get("propertyNames")
            && let Some(fault) = fault(root, names, &Value::from(key.as_str()), &place)
        {
            return Some(fault);
        }
        match (schema["properties"].get(key), &schema["additionalProperties"]) {
            (Some(schema), _) => fault(root, schema, value, &place),
            (None, Value::Bool(false)) => Some(format!("{place}: not in the schema")),
            (None, Value::Object(_)) => fault(root, &schema["additionalProperties"], value, &place),
            (None, _) => None,
        }
    })
}

fn agrees(schema: &str, arguments: &[&str]) {
    let schema: Value = serde_json::from_str(schema).expect("a schema is JSON");
    let output = layout(arguments);
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(fault(&schema, &schema, &value, "$"), None, "{arguments:?}");
    // The validator is no rubber stamp.
    assert!(fault(&schema, &schema, &serde_json::json!({ "other": 1 }), "$").is_some());
}

#[test]
fn outputs_agree_with_their_schemas() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let old = compile(directory.path(), include_str!("samples/sample.c"), &["-g"]);
    let kept = directory.path().join("old");
    std::fs::rename(&old, &kept).expect("moved");
    let changed = include_str!("samples/sample.c").replace("int x, y;", "int y; long x;").replace("GREEN = 7", "GREEN = 8");
    let new = compile(directory.path(), &changed, &["-g"]);
    let source = "#include <stdint.h>
        typedef struct { void *pcore; uint64_t offset; uint64_t size; } tdrv_scratchpad_info_t;
        tdrv_scratchpad_info_t info; int main(void) { return 0; }";
    write(directory.path(), "other.c", source.as_bytes());
    let folder = directory.path().join("other");
    std::fs::create_dir_all(&folder).expect("a folder");
    let checked = compile(&folder, source, &["-g"]);
    let path = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let (old, new, checked) = (path(&kept), path(&new), path(&checked));
    let program = path(&std::env::current_exe().expect("this test has a path"));
    let (show, diff, check) = (
        include_str!("../schema/show.schema.json"),
        include_str!("../schema/diff.schema.json"),
        include_str!("../schema/check.schema.json"),
    );
    agrees(show, &["show", "--json", &old]);
    agrees(show, &["show", "--json", "-E", &program, "Cow|Option|Result"]);
    agrees(diff, &["diff", "--json", &old, &new]);
    agrees(check, &["check", "--json"]);
    agrees(check, &["check", "--json", &checked]);
}
