// One guest in each language does the same, for the same test.
import { Edits, allow, annotate, ask, byteLength, deny, fail, info, integer, items, kvGet, kvSet, pass, quote, raw, result, text, tool, tools } from "../../pdk/as/gatehouse";

export function session_admit(): i32 {
  if (integer("/config/level") > 2) return ask("level is over 2");
  allow("fine");
  return pass(); // the strictest verdict holds
}

export function pre_permission(): i32 {
  if (text("/tool_name") == "Count") {
    const events = kvGet("events");
    if (events !== null) annotate("events", events);
    return pass();
  }
  if (text("/tool_name") != "Bash") return pass();
  const command = text("/tool_input/command");
  if (byteLength(command) > 4095) return deny("too large");
  annotate("command", quote(command));
  const forbidden = items("/config/forbidden");
  for (let i = 0; i < forbidden.length; i++) {
    if (command.includes(forbidden[i])) return deny(forbidden[i]);
  }
  return pass();
}

// counts events in kv
export function session_event(): i32 {
  const events = kvGet("events");
  info("counted");
  return kvSet("events", ((events === null ? 0 : I32.parseInt(events)) + 1).toString()) ? 0 : 1;
}

export function redact(): i32 {
  const secret = raw("/payload/secret");
  if (secret === null) return 0;
  const edits = new Edits();
  edits.mask("/secret", 0, byteLength(secret), "all");
  return edits.done();
}

export function tools_list(): i32 {
  return tools([tool("echo", "Repeats a text.", '{"type":"object","properties":{"text":{"type":"string"}}}')]);
}

export function tools_call(): i32 {
  const given = raw("/arguments/text");
  return given === null ? fail("text is missing") : result(given);
}
