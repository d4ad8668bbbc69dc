// Package reference describes the two inventory files to people and to editors: docs/inventory.md and the JSON schemas, all
// made from the Go types, their tags and their comments.
package reference

//go:generate go run ./generate
