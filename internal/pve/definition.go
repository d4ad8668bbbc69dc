package pve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// Outcome is what an Apply or a Release of a definition, such as that of a storage, has done.
type Outcome string

// The outcomes. The first two are kept in the state, so that a destroy knows whether the stack has made the definition.
const (
	// OutcomeMade means that this stack has made the definition.
	OutcomeMade Outcome = "made by this stack"
	// OutcomeAdopted means that it was there before the stack.
	OutcomeAdopted Outcome = "there before this stack"
	// OutcomeRemoved means that the definition was removed; what it is about, such as data or backups, is where it was.
	OutcomeRemoved Outcome = "its definition was removed, and its data stay"
	// OutcomeGone means that there was none.
	OutcomeGone Outcome = "gone before"
	// OutcomeKept means that it was there before the stack, so it stays.
	OutcomeKept Outcome = "kept: it was there before this stack"
)

// definition is a section of a configuration file of the cluster as the API shows it. Numbers are texts here, and a value that Proxmox VE has parsed
// is a sorted list of NAME=VALUE.
type definition map[string]string

// UnmarshalJSON implements [json.Unmarshaler].
func (d *definition) UnmarshalJSON(text []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*d = definition{}
	for name, value := range values {
		(*d)[name] = settingText(value)
	}
	return nil
}

// settingText returns a value of the API as a text: an object as NAME=VALUE,…, a list with ; between its items.
func settingText(value json.RawMessage) string {
	var word string
	if json.Unmarshal(value, &word) == nil {
		return word
	}
	var list []string
	if json.Unmarshal(value, &list) == nil {
		return strings.Join(list, ";")
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(value, &parts) != nil {
		return string(value) // a number
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		pairs = append(pairs, name+"="+settingText(parts[name]))
	}
	return strings.Join(pairs, ",")
}

// defaults are those of flags, which Proxmox VE leaves out of a definition (pve-manager, PVE/Status and PVE/VZDump/Common.pm).
var defaults = map[string]string{"disable": "0", "enabled": "1", "verify-certificate": "1", "otel-verify-ssl": "1"}

// differences returns the settings that have another value in the definition, by their names in the API.
func (d definition) differences(settings []hostspec.Setting) []string {
	var differences []string
	for _, want := range settings {
		have, wanted := sortedList(d[want.Name]), sortedList(want.Value)
		if isDefault := have == "" && wanted != "" && wanted == defaults[want.Name]; have != wanted && !isDefault {
			differences = append(differences, fmt.Sprintf("%s: %s instead of %s", want.Name, orNone(have), orNone(wanted)))
		}
	}
	return differences
}

// sortedList returns a comma-separated list, sorted: its order has no meaning in Proxmox VE.
func sortedList(text string) string {
	items := strings.Split(text, ",")
	slices.Sort(items)
	return strings.Join(items, ",")
}

// paramsOf returns settings as parameters of a call: a setting without a value is deleted.
func paramsOf(settings []hostspec.Setting) map[string]string {
	params := map[string]string{}
	var absent []string
	for _, one := range settings {
		if one.Value == "" {
			absent = append(absent, one.Name)
			continue
		}
		params[one.Name] = one.Value
	}
	if len(absent) > 0 {
		params["delete"] = strings.Join(absent, ",")
	}
	return params
}

// WasMade reports whether the last line that an Apply has printed says that the stack has made the definition.
func WasMade(printed string) bool {
	return strings.HasSuffix(strings.TrimSpace(printed), ": "+string(OutcomeMade))
}
