package hostspec

import (
	"encoding/json"
	"net/netip"
	"strings"
)

// HostSettings is what a stack wants of the settings that a host always has. What is empty stays as it is.
type HostSettings struct {
	// Node of Proxmox VE.
	Node string `json:"node"`
	// TimeZone such as Europe/Berlin.
	TimeZone string `json:"timeZone,omitempty"`
	// Names are lines of /etc/hosts.
	Names []HostNames `json:"names,omitempty"`
	// Repositories are standard repositories of packages.
	Repositories []Repository `json:"repositories,omitempty"`
}

// HostNames is a line of /etc/hosts.
type HostNames struct {
	Address netip.Addr `json:"address"`
	Names   []string   `json:"names"`
}

// Repository is a standard repository of packages.
type Repository struct {
	// Handle by which Proxmox VE knows it, such as no-subscription.
	Handle  string `json:"handle"`
	Enabled bool   `json:"enabled"`
}

// ParseHostSettings reads from the form of [HostSettings.Text].
func ParseHostSettings(text string) (s HostSettings, err error) {
	return s, json.Unmarshal([]byte(text), &s)
}

// Text returns the settings as JSON.
func (s HostSettings) Text() string { return text(s) }

// IsEmpty reports whether everything stays as it is.
func (s HostSettings) IsEmpty() bool {
	return s.TimeZone == "" && len(s.Names) == 0 && len(s.Repositories) == 0
}

// Words name what is set, e.g. "time zone Europe/Berlin".
func (s HostSettings) Words() []string {
	var words []string
	if s.TimeZone != "" {
		words = append(words, "time zone "+s.TimeZone)
	}
	for _, line := range s.Names {
		words = append(words, line.Address.String()+" is "+strings.Join(line.Names, ", "))
	}
	for _, repository := range s.Repositories {
		words = append(words, "repository "+repository.Handle+" "+OnOrOff(repository.Enabled))
	}
	return words
}

// OnOrOff returns the state of a repository in words.
func OnOrOff(enabled bool) string {
	if enabled {
		return "on"
	}
	return "off"
}

// Options are settings of the whole cluster (datacenter.cfg). Others stay as they are.
type Options []Setting

// ParseOptions reads from the form of [Options.Text].
func ParseOptions(text string) (o Options, err error) {
	return o, json.Unmarshal([]byte(text), &o)
}

// Text returns the options as JSON.
func (o Options) Text() string { return text(o) }

// Words are the options as NAME: VALUE.
func (o Options) Words() []string { return wordsOf(o) }
