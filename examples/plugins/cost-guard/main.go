// Cost-guard is an example of session_event and kv: it adds up what the turns of a
// session cost, and over a limit denies calls and replies. What is kept goes with
// the process: for a session that is resumed the server's own sum counts, which the
// document has where a session is judged.
package main

import (
	"strconv"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

const (
	spent     = "spent" // key of kv: millionths of a dollar
	millionth = 1e6
)

//go:wasmexport session_event
func sessionEvent() int32 {
	if kind := pdk.Str("/event/type"); kind != "result" && kind != "error" {
		return 0
	}
	if !pdk.Has("/event/data/totalCostUsd") {
		return pdk.Fail("the end of a turn does not tell what it cost")
	}
	if cost := pdk.Num("/event/data/totalCostUsd"); cost > 0 {
		pdk.KVAdd(spent, int64(min(cost, 1e9)*millionth+0.5))
	}
	return 0
}

//go:wasmexport pre_permission
func prePermission() int32 { return judge() }

//go:wasmexport session_admit
func sessionAdmit() int32 {
	if action := pdk.Str("/action"); action == "start" || action == "fork" {
		return pdk.Pass() // a new session has spent nothing
	}
	return judge()
}

func judge() int32 {
	limit := pdk.Num("/config/limit_usd")
	if !(limit > 0) {
		return pdk.Fail("config: limit_usd is missing")
	}
	used := max(float64(pdk.KVInt(spent))/millionth, pdk.Num("/session/cost_usd"))
	pdk.Annotate("spent_usd", dollars(used))
	if used >= limit {
		return pdk.Deny("the session has cost $" + dollars(used) + ", its limit is $" + dollars(limit))
	}
	return pdk.Pass()
}

func dollars(usd float64) string { return strconv.FormatFloat(usd, 'f', 2, 64) }

func main() {}
