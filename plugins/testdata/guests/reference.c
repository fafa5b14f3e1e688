/* One guest in each language does the same, for the same test. */
#include "gatehouse_hook.h"

static char text[4096], out[8192], number[32];

GH_HOOK(session_admit) {
	if (gh_int("/config/level") > 2)
		return gh_ask("level is over 2");
	gh_allow("fine");
	return gh_pass(); /* the strictest verdict holds */
}

GH_HOOK(pre_permission) {
	gh_builder b = {out, 0, sizeof out, 0};
	char path[64];
	int i;
	if (gh_is("/tool_name", "Count")) {
		if (gh_kv_text("events", number, sizeof number) > 0)
			gh_annotate("events", number);
		return gh_pass();
	}
	if (!gh_is("/tool_name", "Bash"))
		return gh_pass();
	if (gh_text("/tool_input/command", text, sizeof text) == GH_TOO_LARGE)
		return gh_deny("too large");
	gh_quoted(&b, text);
	gh_annotate("command", out);
	for (i = 0; gh_has(gh_item(path, "/config/forbidden", i)); i++)
		if (gh_text(path, number, sizeof number) > 0 && gh_contains(text, number))
			return gh_deny(number);
	return gh_pass();
}

/* counts events in kv */
GH_HOOK(session_event) {
	gh_builder b = {out, 0, sizeof out, 0};
	if (gh_kv_text("events", number, sizeof number) == GH_NOT_ALLOWED)
		return 1; /* kv = true is missing */
	gh_int_text(&b, gh_number(number) + 1);
	gh_log(GH_INFO, "counted");
	return gh_kv_set("events", out) == 0 ? 0 : 1;
}

GH_HOOK(redact) {
	gh_builder b = {out, 0, sizeof out, 0};
	int n = gh_text("/payload/secret", text, sizeof text);
	if (n == GH_MISSING)
		return 0;
	if (n < 0)
		return 1;
	gh_raw(&b, "{\"edits\":[{\"path\":\"/secret\",\"op\":\"mask\",\"start\":0,\"end\":");
	gh_int_text(&b, n);
	gh_raw(&b, ",\"rule\":\"all\"}]}");
	return gh_done(&b);
}

GH_HOOK(tools_list) {
	return gh_output("{\"tools\":[{\"name\":\"echo\",\"description\":\"Repeats a text.\","
			 "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}]}");
}

GH_HOOK(tools_call) {
	gh_builder b = {out, 0, sizeof out, 0};
	if (gh_text("/arguments/text", text, sizeof text) < 0)
		return 1;
	gh_raw(&b, "{\"content\":[{\"type\":\"text\",\"text\":");
	gh_quoted(&b, text);
	gh_raw(&b, "}]}");
	return gh_done(&b);
}
