# Reading inside the workspace.
package gatehouse.permission

decisions contains {"effect": "allow", "rule": "reads.inside"} if {
	input.tool.name in readers
	paths_plain
}
