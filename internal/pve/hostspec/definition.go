package hostspec

import (
	"encoding/json"
	"slices"
)

// Kind is a kind of definition.
type Kind string

// The kinds of definitions, in the words of messages.
const (
	// MetricServer gets the statistics of all hosts (status.cfg).
	MetricServer Kind = "metric server"
	// BackupJob makes backups of machines at times (jobs.cfg).
	BackupJob Kind = "backup job"
)

// Definition is a section of a configuration file of the cluster that a stack wants. Settings that are not in it stay as they are. Its secret is
// passed apart from it.
type Definition struct {
	Kind Kind `json:"kind"`
	// ID of the section.
	ID string `json:"id"`
	// Fixed are the settings that Proxmox VE never changes.
	Fixed []Setting `json:"fixed,omitempty"`
	// Settings are the other settings. A setting without a value is to be absent.
	Settings []Setting `json:"settings"`
}

// ParseDefinition reads from the form of [Definition.Text].
func ParseDefinition(text string) (d Definition, err error) {
	return d, json.Unmarshal([]byte(text), &d)
}

// Text returns the definition as JSON.
func (d Definition) Text() string { return text(d) }

// String returns the definition in a message, such as "backup job nightly".
func (d Definition) String() string { return string(d.Kind) + " " + d.ID }

// Value returns the value of a setting; empty without it.
func (d Definition) Value(name string) string {
	if at := slices.IndexFunc(d.Settings, func(one Setting) bool { return one.Name == name }); at >= 0 {
		return d.Settings[at].Value
	}
	return ""
}

// Words are the settings as NAME: VALUE.
func (d Definition) Words() []string { return wordsOf(slices.Concat(d.Fixed, d.Settings)) }
