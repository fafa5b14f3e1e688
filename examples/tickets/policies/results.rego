# What comes back of a list is bounded, so that it does not fill the model's context.
package gatehouse.inproc

most := 2000 # bytes

decisions contains {
	"effect": "deny", "rule": "tickets.size", "reason": sprintf("a list of %d bytes; at most %d go to the model", [input.result.bytes, most]),
	"agent_message": "That were too many tickets to read. List fewer, with limit.",
} if {
	input.phase == "result"
	input.tool.name == "mcp__tickets__list"
	input.result.bytes > most
}
