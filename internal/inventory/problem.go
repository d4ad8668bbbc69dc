package inventory

import "github.com/em-infra/em-infra/internal/inventory/manifest"

// Problem is one error in an inventory.
type Problem = manifest.Problem

// Problems are all errors in an inventory, sorted by file and line. They are the error of [Load].
type Problems = manifest.Problems

func counted(number int, noun string) string { return manifest.Counted(number, noun) }
