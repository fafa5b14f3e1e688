// Write a plugin for Gatehouse in AssemblyScript:
//
//	import { contains, deny, pass, text } from "./gatehouse";
//
//	export function pre_permission(): i32 {
//	  if (text("/tool_name") == "Bash" && text("/tool_input/command").includes("rm -rf")) {
//	    return deny("rm -rf is not allowed here");
//	  }
//	  return pass();
//	}
//
//	asc assembly/index.ts --outFile x.wasm -Oz --runtime stub --use abort=
//
// A hook takes nothing and returns 0; any other code, an abort and a deadline that
// passed are failures, and the plugin's on_error holds. Paths are JSON pointers into
// the document of the call. Variables last for one call: what has to last for a
// session goes into kv.

@external("gatehouse.hook.v1", "get")
declare function hostGet(path: usize, len: i32, dst: usize, cap: i32): i32;
@external("gatehouse.hook.v1", "verdict")
declare function hostVerdict(kind: i32, reason: usize, len: i32): i32;
@external("gatehouse.hook.v1", "annotate")
declare function hostAnnotate(key: usize, klen: i32, json: usize, jlen: i32): i32;
@external("gatehouse.hook.v1", "output")
declare function hostOutput(json: usize, len: i32): i32;
@external("gatehouse.hook.v1", "log")
declare function hostLog(level: i32, text: usize, len: i32): i32;
@external("gatehouse.hook.v1", "kv")
declare function hostKV(op: i32, key: usize, klen: i32, value: usize, len: i32): i32;

/** Codes of the host's functions. */
export const MISSING = -1;
export const LIMIT = -4;
export const NOT_ALLOWED = -5;

function bytes(s: string): ArrayBuffer {
  return String.UTF8.encode(s);
}

function at(b: ArrayBuffer): usize {
  return changetype<usize>(b);
}

/** has says whether the document has such a part; null is one. */
export function has(path: string): bool {
  const p = bytes(path);
  return hostGet(at(p), p.byteLength, 0, 0) >= 0;
}

/** raw returns a part of the document, null where there is none: a string as it is, everything else as JSON. */
export function raw(path: string): string | null {
  const p = bytes(path);
  const size = hostGet(at(p), p.byteLength, 0, 0);
  if (size < 0) return null;
  const b = new ArrayBuffer(size);
  if (hostGet(at(p), p.byteLength, at(b), size) != size) return null;
  return String.UTF8.decode(b);
}

/** text is raw with "" for what is not there. */
export function text(path: string): string {
  const s = raw(path);
  return s === null ? "" : s;
}

/**
 * integer returns a whole number, 0 for what is none. A fraction is cut off, and what is too
 * large becomes the largest: a rule about a bound must not take 1e21 for 1.
 */
export function integer(path: string): i64 {
  const n = number(path);
  if (n >= 9007199254740992.0 || n <= -9007199254740992.0) {
    const s = text(path);
    if (s.length <= 19 && !s.includes("e") && !s.includes("E") && !s.includes(".")) return I64.parseInt(s, 10);
  }
  if (n >= 9223372036854775808.0) return i64.MAX_VALUE;
  if (n <= -9223372036854775808.0) return i64.MIN_VALUE;
  return <i64>n;
}

/** number returns a number, 0 for what is none. */
export function number(path: string): f64 {
  const n = F64.parseFloat(text(path));
  return isNaN(n) ? 0 : n;
}

/** flag says whether a part is true. */
export function flag(path: string): bool {
  return text(path) == "true";
}

/** items returns the texts of a list. */
export function items(path: string): string[] {
  const list: string[] = [];
  let s = raw(path + "/0");
  while (s !== null) {
    list.push(s);
    s = raw(path + "/" + list.length.toString());
  }
  return list;
}

function say(kind: i32, reason: string): i32 {
  const b = bytes(reason);
  hostVerdict(kind, at(b), b.byteLength); // on an error the host fails the call itself
  return 0;
}

/** pass says nothing: policies decide alone. */
export function pass(): i32 {
  return 0;
}

/** allow tells policies that the plugin approves; it loosens nothing by itself. */
export function allow(reason: string): i32 {
  return say(1, reason);
}

/** deny forbids; the strictest verdict of a call holds. */
export function deny(reason: string): i32 {
  return say(2, reason);
}

/** ask wants a person to decide. */
export function ask(reason: string): i32 {
  return say(3, reason);
}

/** annotate shows policies a JSON value at input.plugins.<plugin>.annotations.<key>. */
export function annotate(key: string, json: string): void {
  const k = bytes(key);
  const v = bytes(json);
  hostAnnotate(at(k), k.byteLength, at(v), v.byteLength);
}

/** output gives the result of redact, post_tool, tools_list and tools_call, and ends the hook. */
export function output(json: string): i32 {
  const b = bytes(json);
  hostOutput(at(b), b.byteLength);
  return 0;
}

function log(level: i32, message: string): void {
  const b = bytes(message);
  hostLog(level, at(b), b.byteLength);
}

export function debug(message: string): void {
  log(0, message);
}
export function info(message: string): void {
  log(1, message);
}
export function warn(message: string): void {
  log(2, message);
}
export function error(message: string): void {
  log(3, message);
}

/** fail ends the hook as a failure: on_error holds. */
export function fail(why: string): i32 {
  error(why);
  return 1;
}

// A rule that counts must not take a kv that is not enabled for zero: the call fails.
function allowed(code: i32): i32 {
  if (code == NOT_ALLOWED) {
    error("kv is not enabled for this plugin, or the call is of no session");
    unreachable();
  }
  return code;
}

/** kvGet returns what was kept for this session, null where there is nothing. */
export function kvGet(key: string): string | null {
  const k = bytes(key);
  const size = allowed(hostKV(0, at(k), k.byteLength, 0, 0));
  if (size < 0) return null;
  const b = new ArrayBuffer(size);
  hostKV(0, at(k), k.byteLength, at(b), size);
  return String.UTF8.decode(b);
}

/** kvSet keeps a value; false: it would be over the limits, and nothing has changed. */
export function kvSet(key: string, value: string): bool {
  const k = bytes(key);
  const v = bytes(value);
  return allowed(hostKV(1, at(k), k.byteLength, at(v), v.byteLength)) >= 0;
}

/** kvDelete forgets a key. */
export function kvDelete(key: string): void {
  const k = bytes(key);
  allowed(hostKV(2, at(k), k.byteLength, 0, 0));
}

/** quote returns a text as a JSON string. */
export function quote(s: string): string {
  let out = '"';
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c == 0x22 || c == 0x5c) out += "\\" + s.charAt(i);
    else if (c < 0x20) out += "\\u00" + (c < 16 ? "0" : "1") + (c & 15).toString(16);
    else out += s.charAt(i);
  }
  return out + '"';
}

function edit(path: string, op: string, rule: string): string {
  return '{"path":' + quote(path) + ',"op":"' + op + '"' + (rule.length ? ',"rule":' + quote(rule) : "");
}

/**
 * Edits are what redact and post_tool answer: what to hide of /payload. Pointers are into
 * the payload; start and end count bytes of UTF-8: see byteLength.
 */
export class Edits {
  private list: string[] = [];

  mask(path: string, start: i32, end: i32, rule: string): void {
    this.list.push(edit(path, "mask", rule) + ',"start":' + start.toString() + ',"end":' + end.toString() + "}");
  }

  replace(path: string, rule: string): void {
    this.list.push(edit(path, "replace", rule) + "}");
  }

  remove(path: string, rule: string): void {
    this.list.push(edit(path, "remove", rule) + "}");
  }

  /** done answers with the edits and ends the hook. */
  done(): i32 {
    return this.list.length ? output('{"edits":[' + this.list.join(",") + "]}") : 0;
  }
}

/** byteLength counts the bytes of a text in UTF-8, as mask wants them. */
export function byteLength(s: string): i32 {
  return String.UTF8.byteLength(s);
}

/** tool describes one tool for tools. schema is a JSON schema of type object. */
export function tool(name: string, description: string, schema: string): string {
  return '{"name":' + quote(name) + ',"description":' + quote(description) + ',"inputSchema":' + schema + "}";
}

/** tools answers tools_list. */
export function tools(list: string[]): i32 {
  return output('{"tools":[' + list.join(",") + "]}");
}

/** result answers tools_call with a text; isError tells the model that the call failed. */
export function result(message: string, isError: bool = false): i32 {
  return output('{"content":[{"type":"text","text":' + quote(message) + "}]" + (isError ? ',"isError":true' : "") + "}");
}
