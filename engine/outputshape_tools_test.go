package engine

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// toolOutputs are outputs with every member that the schemas of CLI 2.1.197 know;
// "free" stands where they take any text, all else is a word of the schema.
var toolOutputs = map[string][]string{
	"Bash": {`{"stdout":"free","stderr":"free","rawOutputPath":"free","interrupted":false,"isImage":false,"backgroundTaskId":"free","backgroundedByUser":true,"dangerouslyDisableSandbox":false,"returnCodeInterpretation":"free","noOutputExpected":false,"structuredContent":[{"type":"text","text":"free"}],"persistedOutputPath":"free","persistedOutputSize":7,"staleReadFileStateHint":"free","ghRateLimitHint":"free","gitOperation":{"commit":{"sha":"free","kind":"cherry-picked"},"push":{"branch":"free"},"branch":{"ref":"free","action":"rebased"},"pr":{"number":7,"url":"free","action":"auto-merge-disabled"}}}`},
	"Read": {
		`{"type":"text","file":{"filePath":"free","content":"free","numLines":1,"startLine":1,"totalLines":1,"truncatedByTokenCap":true}}`,
		`{"type":"parts","file":{"filePath":"free","originalSize":7,"count":1,"outputDir":"free"}}`,
		`{"type":"file_unchanged","file":{"filePath":"free"}}`,
	},
	"Grep":             {`{"mode":"files_with_matches","numFiles":1,"filenames":["free"],"content":"free","numLines":1,"numMatches":1,"appliedLimit":1,"appliedOffset":1}`},
	"Glob":             {`{"durationMs":1,"numFiles":1,"filenames":["free"],"truncated":false,"totalMatches":1,"countIsComplete":true}`},
	"Edit":             {`{"filePath":"free","oldString":"free","newString":"free","originalFile":"free","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["free"]}],"userModified":false,"replaceAll":false,"gitDiff":{"filename":"free","status":"modified","additions":1,"deletions":1,"changes":2,"patch":"free","repository":null}}`},
	"Write":            {`{"type":"create","filePath":"free","content":"free","structuredPatch":[],"originalFile":null,"userModified":false}`},
	"NotebookEdit":     {`{"new_source":"free","old_source":"free","cell_id":"free","cell_type":"markdown","language":"free","edit_mode":"free","error":"free","notebook_path":"free","original_file":"free","updated_file":"free"}`},
	"TodoWrite":        {`{"oldTodos":[{"content":"free","status":"in_progress","activeForm":"free"}],"newTodos":[]}`},
	"WebFetch":         {`{"bytes":1,"code":200,"codeText":"free","result":"free","durationMs":1,"url":"free","artifactRead":{"slug":"free","ver":"free"}}`},
	"WebSearch":        {`{"query":"free","results":[{"tool_use_id":"free","content":[{"title":"free","url":"free"}]},"free"],"durationSeconds":1,"searchCount":1}`},
	"ToolSearch":       {`{"matches":["free"],"query":"free","total_deferred_tools":1,"pending_mcp_servers":["free"]}`},
	"ExitPlanMode":     {`{"plan":"free","isAgent":false,"filePath":"free","hasTaskTool":true,"planWasEdited":false,"awaitingLeaderApproval":false,"requestId":"free"}`},
	"Skill":            {`{"success":true,"commandName":"free","allowedTools":["free"],"model":"free","status":"inline"}`, `{"success":true,"commandName":"free","status":"forked","agentId":"free","result":"free"}`},
	"ListMcpResources": {`[{"uri":"free","name":"free","mimeType":"free","description":"free","server":"free"}]`},
	"ReadMcpResource":  {`{"contents":[{"uri":"free","mimeType":"free","text":"free","blobSavedTo":"free"}],"error":"free"}`},
	"Agent": {
		`{"agentId":"free","agentType":"free","content":[{"type":"text","text":"free"}],"resolvedModel":"free","totalToolUseCount":1,"totalDurationMs":1,"totalTokens":1,"usage":{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":null,"cache_read_input_tokens":1,"server_tool_use":{"web_search_requests":1,"web_fetch_requests":1},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":1,"ephemeral_5m_input_tokens":1}},"toolStats":{"readCount":1},"status":"completed","prompt":"free"}`,
		`{"status":"async_launched","agentId":"free","description":"free","resolvedModel":"free","prompt":"free","outputFile":"free","canReadOutputFile":true}`,
	},
	"Workflow":         {`{"status":"async_launched","taskId":"free","taskType":"local_workflow","workflowName":"free","runId":"free","summary":"free","transcriptDir":"free","scriptPath":"free","warning":"free","error":"free"}`},
	"TaskStop":         {`{"message":"free","task_id":"free","task_type":"free","command":"free"}`},
	"TaskUpdate":       {`{"success":true,"taskId":"free","updatedFields":["free"],"error":"free","statusChange":{"from":"free","to":"free"}}`},
	"CronList":         {`{"jobs":[{"id":"free","cron":"free","humanSchedule":"free","prompt":"free","recurring":true,"durable":false}]}`},
	"LSP":              {`{"operation":"prepareCallHierarchy","result":"free","filePath":"free","resultCount":1,"fileCount":1}`},
	"ExitWorktree":     {`{"action":"remove","originalCwd":"free","worktreePath":"free","worktreeBranch":"free","tmuxSessionName":"free","discardedFiles":1,"message":"free"}`},
	"ReportFindings":   {`{"count":1,"level":"xhigh","findings":[{"file":"free","line":1,"summary":"free","failure_scenario":"free","verdict":"CONFIRMED","outcome":"no_change_needed"}]}`},
	"PushNotification": {`{"message":"free","pushSent":true,"localSent":false,"disabledReason":"user_present","idleSec":1,"hasFocus":true,"sentAt":"free"}`},
	"REPL":             {`{"code":"free","result":{"free text":"free"},"stdout":"free","stderr":"free","error":"free","registeredTools":["free"]}`},
}

// Whatever is covered in an output, all of it or one text, the words and the
// members that its schema asks for stay, and nothing else does.
func TestOutputsOfAllToolsKeepTheirShape(t *testing.T) {
	const secret = "quiet 123"
	free := regexp.MustCompile(`"free"`)
	for _, tool := range slices.Sorted(maps.Keys(toolOutputs)) {
		for _, form := range toolOutputs[tool] {
			with := func(text string) string {
				return free.ReplaceAllString(strings.ReplaceAll(form, "free text", secret), `"`+text+`"`)
			}
			withheld := string(withheldOutput(tool, json.RawMessage(with(secret))))
			if got := normal(t, strings.ReplaceAll(with(withheldWord), secret, withheldWord)); normal(t, withheld) != got {
				t.Errorf("%s withheld: %s\nwant %s", tool, withheld, got)
			}
			for _, place := range free.FindAllStringIndex(form, -1) {
				before := form[:place[0]] + `"` + secret + `"` + form[place[1]:]
				for _, cover := range []string{`"[REDACTED:x]"`, `""`, `null`, `{"a":1}`} {
					after := form[:place[0]] + cover + form[place[1]:]
					fitted, ok := keepShape(tool, json.RawMessage(before), json.RawMessage(after))
					if !ok || strings.Contains(string(fitted), secret) || texts(t, string(fitted)) != texts(t, before) {
						t.Errorf("%s: %s, %v became %s", tool, after, ok, fitted)
					}
				}
			}
			after, _ := keepShape(tool, json.RawMessage(with(secret)), json.RawMessage(`"[REDACTED:x]"`))
			if normal(t, string(after)) != normal(t, withheld) {
				t.Errorf("%s covered as a whole: %s", tool, after)
			}
		}
	}
}

func normal(t *testing.T, doc string) string {
	t.Helper()
	v, ok := decodeOutput(json.RawMessage(doc))
	if !ok {
		t.Fatalf("no JSON: %s", doc)
	}
	raw, _ := encodeOutput(v)
	return string(raw)
}

// texts is a document whose longer texts are all alike.
func texts(t *testing.T, doc string) string {
	t.Helper()
	return regexp.MustCompile(`"(free|quiet 123|\[[^]"]*\]|)"`).ReplaceAllString(normal(t, doc), `"…"`)
}
