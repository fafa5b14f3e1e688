// Calc is an example of tools_list and tools_call: tools that a model can count with.
package main

import (
	"strconv"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

const (
	numbers  = `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false}`
	harmless = `{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}`
)

//go:wasmexport tools_list
func toolsList() int32 {
	return pdk.Tools(
		pdk.Tool{Name: "add", Description: "Adds two numbers.", Schema: numbers, Annotations: harmless},
		pdk.Tool{Name: "subtract", Description: "Subtracts b from a.", Schema: numbers, Annotations: harmless},
		pdk.Tool{Name: "multiply", Description: "Multiplies two numbers.", Schema: numbers, Annotations: harmless},
		pdk.Tool{Name: "divide", Description: "Divides a by b.", Schema: numbers, Annotations: harmless},
	)
}

//go:wasmexport tools_call
func toolsCall() int32 {
	a, okA := number("/arguments/a")
	b, okB := number("/arguments/b")
	if !okA || !okB {
		return pdk.TextError("a and b have to be numbers")
	}
	switch pdk.Str("/tool") {
	case "add":
		return answer(a + b)
	case "subtract":
		return answer(a - b)
	case "multiply":
		return answer(a * b)
	case "divide":
		if b == 0 {
			return pdk.TextError("division by zero")
		}
		return answer(a / b)
	}
	return pdk.Fail("no such tool: " + pdk.Str("/tool"))
}

func number(pointer string) (float64, bool) {
	n, err := strconv.ParseFloat(pdk.Raw(pointer), 64)
	return n, err == nil
}

func answer(n float64) int32 { return pdk.Text(strconv.FormatFloat(n, 'g', -1, 64)) }

func main() {}
