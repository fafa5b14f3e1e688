// Package gatehouse holds the tests that concern the repository as a whole.
//
// The command is cmd/gatehouse; package engine is the API for embedding.
package gatehouse
