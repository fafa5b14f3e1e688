# Reading inside the workspace.
package gatehouse.permission

decisions contains {"effect": "allow", "rule": "reads.inside"} if {
	input.tool.name in {"Glob", "Grep", "LS", "NotebookRead", "Read"}
	input.paths_plain == true
}
