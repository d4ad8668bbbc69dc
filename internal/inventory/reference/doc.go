// Package reference generates the pages docs/inventory*.md and the JSON schemas of all inventory files from the Go types, their tags and
// their comments.
package reference

//go:generate go run ./generate
