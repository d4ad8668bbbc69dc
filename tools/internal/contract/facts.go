// Package contract states, for tests, what a Pulumi Go SDK asks of its provider plugin and what a plugin's package
// schema offers, both in the same form, so that the one can be held against the other.
package contract

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Facts map a place to what stands there. Places are
//
//	TOKEN                           resource | function
//	TOKEN inputs.disks[].size       the type of a property: string, boolean, integer, number, any, archive,
//	                                assetOrArchive, object, list, map; [] and {} step into lists and maps
//	TOKEN outputs.disks[].size      likewise
//	TOKEN required.nodeName         yes, for an input of a resource
//	TOKEN secret.kubeconfigRaw      yes, for an output of a resource
//
// The token of the provider itself is pulumi:providers:NAME; it has inputs and secrets, but no outputs, since SDKs
// leave out those of its outputs that are no strings.
type Facts map[string]string

// The types of property values. An enum counts as the type of its values.
const (
	typeString         = "string"
	typeBoolean        = "boolean"
	typeInteger        = "integer"
	typeNumber         = "number"
	typeAny            = "any"
	typeArchive        = "archive"
	typeAssetOrArchive = "assetOrArchive"
	typeObject         = "object"
	typeList           = "list"
	typeMap            = "map"
)

// Exceptions excuse every difference at a place and below it; the value is the reason. "TOKEN inputs.rngs" covers
// "TOKEN inputs.rngs[].source", "TOKEN" covers the whole resource or function.
type Exceptions map[string]string

// Compare reads both sides and returns their Differences. The SDK's package lies in the folder under of its module.
func Compare(sdk SDK, under string, schema []byte, exceptions Exceptions) ([]string, error) {
	asked, err := FromSDK(filepath.Join(sdk.Dir, under))
	if err != nil {
		return nil, err
	}
	offered, err := FromSchema(schema)
	if err != nil {
		return nil, err
	}
	return Differences(asked, offered, exceptions), nil
}

// Differences says in what a schema differs from an SDK, one line each, sorted. An exception that excuses nothing is
// reported too, so that the list stays as short as it can be.
func Differences(sdk, schema Facts, exceptions Exceptions) []string {
	places := maps.Clone(sdk)
	maps.Copy(places, schema)
	excuses := map[string]int{}
	var lines []string
	for place := range places {
		asked, offered := sdk[place], schema[place]
		if asked == offered {
			continue
		}
		if exception, ok := exceptions.find(place); ok {
			excuses[exception]++
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: SDK %s, schema %s", place, orNothing(asked), orNothing(offered)))
	}
	for place := range exceptions {
		if excuses[place] == 0 {
			lines = append(lines, place+": the exception excuses nothing: take it away")
		}
	}
	slices.Sort(lines)
	return lines
}

// find returns the exception that covers a place.
func (e Exceptions) find(place string) (string, bool) {
	for exception := range e {
		rest, found := strings.CutPrefix(place, exception)
		if found && (rest == "" || strings.ContainsAny(rest[:1], " .[{")) {
			return exception, true
		}
	}
	return "", false
}

func orNothing(what string) string {
	if what == "" {
		return "nothing"
	}
	return what
}
