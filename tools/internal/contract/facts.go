// Package contract describes, for tests, what a Pulumi Go SDK needs from its provider plugin, and what the package schema of a
// plugin offers. Both descriptions have the same form, so that they can be compared.
package contract

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Facts map places to values. The places and their values are
//
//	TOKEN                           resource | function
//	TOKEN inputs.disks[].size       the type of a property: string, boolean, integer, number, any, archive,
//	                                assetOrArchive, object, list, map; [] and {} step into lists and maps
//	TOKEN outputs.disks[].size      likewise
//	TOKEN required.nodeName         yes, for an input of a resource
//	TOKEN secret.kubeconfigRaw      yes, for an output of a resource
//
// The token of the provider itself is pulumi:providers:NAME. It has inputs and secrets, but no outputs, since SDKs omit those of
// its outputs that are not strings.
type Facts map[string]string

// The types of property values. An enum has the type of its values.
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

// Exceptions excuse every difference at a place and below it. The value is the reason. "TOKEN inputs.rngs" covers "TOKEN
// inputs.rngs[].source"; "TOKEN" covers the whole resource or function.
type Exceptions map[string]string

// Compare reads both sides and returns their Differences. The SDK's package is in the folder under of its module.
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

// Differences returns the differences between a schema and an SDK, one line each, sorted. It also reports an exception that excuses
// nothing, so that the list of exceptions stays short.
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

// find returns the exception that covers a place, if there is one.
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
