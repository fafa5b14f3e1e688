// Package toolhost holds the scripts about tools that live in this process: the
// scripted CLI calls go-sdk tools of an embedding program, toolhost, through the
// engine, with deciders written in Go. The scripts are in testdata/inproc; what
// the program can be told is in options, in program_test.go.
package toolhost
