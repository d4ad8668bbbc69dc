// Package reference generates docs/inventory.md and the JSON schemas of the two inventory files from the Go types, their tags
// and their comments.
package reference

//go:generate go run ./generate
