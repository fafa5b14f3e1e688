// Package pdk is what the author of a plugin in Go imports.
package pdk
