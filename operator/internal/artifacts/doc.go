// Package artifacts writes the artifacts of a run for inspection: the engine's events, all durations, the effective inventory, and
// the machine configurations. They contain no secrets.
package artifacts
