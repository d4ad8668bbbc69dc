package recorder

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Plan returns one line for each resource, sorted: the parts that a review of a preview checks.
func (r *Recorder) Plan() string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(r.Resources)) {
		lines = append(lines, planLine(r.Resources[key]))
	}
	return strings.Join(lines, "\n") + "\n"
}

func planLine(args pulumi.MockResourceArgs) string {
	rpc := args.RegisterRPC
	fields := []string{args.TypeToken, args.Name}
	add := func(label string, values ...string) {
		values = slices.DeleteFunc(slices.Clone(values), func(value string) bool { return value == "" })
		if len(values) > 0 {
			slices.Sort(values)
			fields = append(fields, label+"="+strings.Join(values, ","))
		}
	}
	add("parent", ShortURN(rpc.GetParent()))
	add("provider", ShortURN(providerURN(rpc.GetProvider())))
	add("dependsOn", explicitDependencies(args)...)
	add("ignoreChanges", rpc.GetIgnoreChanges()...)
	add("replaceOnChanges", rpc.GetReplaceOnChanges()...)
	add("deletedWith", ShortURN(rpc.GetDeletedWith()))
	add("replaceWith", ShortURNs(rpc.GetReplaceWith())...)
	add("beforeUpdate", rpc.GetHooks().GetBeforeUpdate()...)
	add("afterUpdate", rpc.GetHooks().GetAfterUpdate()...)
	flag := func(label string, set bool) {
		if set {
			fields = append(fields, label)
		}
	}
	flag("protect", rpc.GetProtect())
	flag("retainOnDelete", rpc.GetRetainOnDelete())
	flag("deleteBeforeReplace", rpc.GetDeleteBeforeReplace())
	slices.Sort(fields[2:])
	return strings.Join(fields, " ")
}

// explicitDependencies returns the dependencies that no property explains.
func explicitDependencies(args pulumi.MockResourceArgs) []string {
	explained := map[string]bool{}
	for _, dependencies := range args.RegisterRPC.GetPropertyDependencies() {
		for _, urn := range dependencies.GetUrns() {
			explained[urn] = true
		}
	}
	return ShortURNs(slices.DeleteFunc(slices.Clone(args.RegisterRPC.GetDependencies()), func(urn string) bool { return explained[urn] }))
}

func providerURN(reference string) string {
	if i := strings.LastIndex(reference, "::"); i > 0 {
		return reference[:i]
	}
	return reference
}

// ShortURN returns the name in a URN; empty for the program itself.
func ShortURN(urn string) string {
	if strings.Contains(urn, "pulumi:pulumi:Stack::") {
		return ""
	}
	if i := strings.LastIndex(urn, "::"); i >= 0 {
		return urn[i+len("::"):]
	}
	return urn
}

// ShortURNs returns the names in URNs.
func ShortURNs(urns []string) []string {
	short := make([]string, len(urns))
	for i, urn := range urns {
		short[i] = ShortURN(urn)
	}
	return short
}

// Inputs returns the inputs of a resource as indented JSON. Secrets and unknown values are named, not shown.
func Inputs(args pulumi.MockResourceArgs) (string, error) {
	text, err := json.MarshalIndent(shown(resource.NewObjectProperty(args.Inputs)), "", "  ")
	return string(text) + "\n", err
}

// shown returns a value in the form that package json accepts.
func shown(value resource.PropertyValue) any {
	switch {
	case value.IsSecret():
		return "[secret]"
	case value.IsOutput() && value.OutputValue().Secret:
		return "[secret]"
	case value.IsComputed(), value.IsOutput() && !value.OutputValue().Known:
		return "[unknown]"
	case value.IsOutput():
		return shown(value.OutputValue().Element)
	case value.IsArray():
		array := make([]any, len(value.ArrayValue()))
		for i, element := range value.ArrayValue() {
			array[i] = shown(element)
		}
		return array
	case value.IsObject():
		object := map[string]any{}
		for key, element := range value.ObjectValue() {
			object[string(key)] = shown(element)
		}
		return object
	default:
		return value.V
	}
}
